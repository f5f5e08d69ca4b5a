#pragma once

#include "device/gpu/context.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

namespace tandem::device::gpu {

/// Page-locked host memory that copies between a GPU and pageable memory go through, so that the driver neither waits
/// for other work nor falls back to its own. In pieces; each has an event, recorded behind the last copy that used it.
/// Whoever needs a piece gets one whose event has passed, or a new one: it does not wait for the work of another stream
/// unless very many are in use.
///
/// Lifetime: pieces are made when they are first needed and kept; the context outlives it.
/// Thread-safety: any thread.
template <GpuApi Api>
class Staging {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 19;
  /// Of one copy, in turn.
  static constexpr std::size_t kAtOnce = 4;
  /// With so many, the next copy waits for the one that was used longest ago.
  static constexpr std::size_t kMany = 32;

  explicit Staging(Context<Api>& context) noexcept : context_{context} {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    for (const Piece& piece : idle_) {
      context_.close("an event cannot be destroyed", [&piece] { return Api::event_destroy(piece.fence); });
      context_.close("page-locked memory cannot be freed", [&piece] { return Api::free_pinned(piece.data); });
    }
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
    void* data = nullptr;
    typename Api::Event fence{};
    bool is_fenced = false;
  };

  template <class Move>
  Status in_pieces(std::size_t bytes, Move&& move) {
    std::array<Piece, kAtOnce> mine{};
    Status status;
    for (std::size_t offset = 0, i = 0; offset < bytes && status.ok(); offset += kPieceBytes, ++i) {
      Piece& piece = mine[i % kAtOnce];
      status = piece.data == nullptr ? take(piece) : wait(piece);
      if (status.ok()) status = move(piece, offset, std::min(kPieceBytes, bytes - offset));
    }
    const std::scoped_lock lock{mutex_};
    for (const Piece& piece : mine) {
      if (piece.data != nullptr) idle_.push_back(piece);
    }
    return status;
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
  Status take(Piece& piece) {
    {
      const std::scoped_lock lock{mutex_};
      auto free = idle_.end();
      TANDEM_CHECK_OK(context_.run_relaxed("a copy failed", [this, &free] {
        free = std::ranges::find_if(
            idle_, [](const Piece& one) { return !one.is_fenced || Api::event_query(one.fence) == Api::kOk; });
        Api::clear_last_error();  // "not ready" is an answer
        return Api::kOk;
      }));
      const bool has_passed = free != idle_.end();
      if (!has_passed && idle_.size() >= kMany) free = idle_.begin();
      if (free != idle_.end()) {
        piece = *free;
        piece.is_fenced = !has_passed;
        idle_.erase(free);
      }
    }
    return piece.data != nullptr ? wait(piece) : make(piece);
  }
  Status make(Piece& piece) {
    return context_.run_relaxed("no page-locked memory for copies", [&piece] {
      Piece made;
      auto code = Api::allocate_pinned(&made.data, kPieceBytes);
      if (code != Api::kOk) return code;
      code = Api::event_create(&made.fence);
      if (code == Api::kOk) {
        piece = made;
      } else {
        static_cast<void>(Api::free_pinned(made.data));
      }
      return code;
    });
  }

  Context<Api>& context_;
  std::mutex mutex_;
  std::vector<Piece> idle_{};  ///< In the order in which they were used.
};

}  // namespace tandem::device::gpu
