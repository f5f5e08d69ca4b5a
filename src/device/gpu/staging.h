#pragma once

#include "device/gpu/context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>

namespace tandem::device::gpu {

/// Page-locked host memory that copies between a GPU and pageable memory go through, so that the driver neither waits
/// for other work nor falls back to its own. A ring of pieces; each has an event, recorded behind the last copy that
/// used it and waited for before the next one.
///
/// Lifetime: made at the first copy; the context outlives it.
/// Thread-safety: any thread. Threads meet only where the ring comes round to a piece that another one fills.
template <GpuApi Api>
class Staging {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  static constexpr std::size_t kPieces = 4;

  explicit Staging(Context<Api>& context) noexcept : context_{context} {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    if (memory_ == nullptr) return;
    for (Piece& piece : pieces_) {
      context_.close("an event cannot be destroyed", [&piece] { return Api::event_destroy(piece.fence); });
    }
    context_.close("page-locked memory cannot be freed", [this] { return Api::free_pinned(memory_); });
  }

  /// Enqueues the copy. `from` has been read when it returns.
  /// Errors: OutOfMemory; as Context::usable().
  [[nodiscard]] Status upload(typename Api::Stream stream, void* to, const void* from, std::size_t bytes) {
    return in_pieces(bytes, [this, stream, to, from](Piece& piece, std::size_t offset, std::size_t count) -> Status {
      std::memcpy(piece.data, static_cast<const std::byte*>(from) + offset, count);
      return enqueue(piece, stream, static_cast<std::byte*>(to) + offset, piece.data, count);
    });
  }

  /// Copies once the stream has come so far. Blocks until then.
  /// Errors: as upload().
  [[nodiscard]] Status download(typename Api::Stream stream, void* to, const void* from, std::size_t bytes) {
    return in_pieces(bytes, [this, stream, to, from](Piece& piece, std::size_t offset, std::size_t count) -> Status {
      TANDEM_CHECK_OK(enqueue(piece, stream, piece.data, static_cast<const std::byte*>(from) + offset, count));
      TANDEM_CHECK_OK(wait(piece));
      std::memcpy(static_cast<std::byte*>(to) + offset, piece.data, count);
      return {};
    });
  }

 private:
  struct Piece {
    std::mutex mutex{};
    std::byte* data = nullptr;
    typename Api::Event fence{};
    bool is_fenced = false;
  };

  template <class Move>
  Status in_pieces(std::size_t bytes, Move&& move) {
    if (bytes != 0) TANDEM_CHECK_OK(make());
    for (std::size_t offset = 0; offset < bytes; offset += kPieceBytes) {
      Piece& piece = pieces_[next_.fetch_add(1, std::memory_order_relaxed) % kPieces];
      const std::scoped_lock lock{piece.mutex};
      TANDEM_CHECK_OK(wait(piece));
      TANDEM_CHECK_OK(move(piece, offset, std::min(kPieceBytes, bytes - offset)));
    }
    return {};
  }
  Status enqueue(Piece& piece, typename Api::Stream stream, void* to, const void* from, std::size_t bytes) {
    return context_.run("a copy through page-locked memory cannot be enqueued", [&] {
      auto code = Api::copy(to, from, bytes, stream);
      if (code == Api::kOk) code = Api::event_record(piece.fence, stream);
      // Without a fence nothing tells when the piece is free: the stream has to.
      piece.is_fenced = code == Api::kOk;
      if (code != Api::kOk) static_cast<void>(Api::stream_synchronize(stream));
      return code;
    });
  }
  Status wait(Piece& piece) {
    if (!piece.is_fenced) return {};
    TANDEM_CHECK_OK(context_.run_relaxed("a copy failed", [&piece] { return Api::event_synchronize(piece.fence); }));
    piece.is_fenced = false;
    return {};
  }
  Status make() {
    if (is_made_.load(std::memory_order_acquire)) return {};
    const std::scoped_lock lock{make_mutex_};
    if (is_made_.load(std::memory_order_relaxed)) return {};
    void* memory = nullptr;
    std::size_t events = 0;
    const Status made = context_.run_relaxed("no page-locked memory for copies", [this, &memory, &events] {
      auto code = Api::allocate_pinned(&memory, kPieces * kPieceBytes);
      while (code == Api::kOk && events < kPieces) {
        code = Api::event_create(&pieces_[events].fence);
        if (code == Api::kOk) ++events;
      }
      if (code != Api::kOk) {  // all or nothing
        while (events > 0) static_cast<void>(Api::event_destroy(pieces_[--events].fence));
        if (memory != nullptr) static_cast<void>(Api::free_pinned(memory));
      }
      return code;
    });
    TANDEM_CHECK_OK(made);
    memory_ = static_cast<std::byte*>(memory);
    for (std::size_t i = 0; i < kPieces; ++i) pieces_[i].data = memory_ + i * kPieceBytes;
    is_made_.store(true, std::memory_order_release);
    return {};
  }

  Context<Api>& context_;
  std::atomic<bool> is_made_{false};
  std::mutex make_mutex_;
  std::byte* memory_ = nullptr;
  std::array<Piece, kPieces> pieces_{};
  std::atomic<std::size_t> next_{0};
};

}  // namespace tandem::device::gpu
