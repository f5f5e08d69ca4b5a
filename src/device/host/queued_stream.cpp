#include "device/host/queued_stream.h"

#include "base/fork.h"
#include "base/wait_point.h"
#include "device/host/piece.h"

#include <array>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace tandem::device {

/// Producers push under a lock; the worker takes without one.
class QueuedStream::Queue final : public Timeline {
 public:
  Status push(Piece&& piece) {
    const std::scoped_lock lock{push_mutex_};
    const std::uint64_t index = pushed_.load(std::memory_order_relaxed);
    if (index >= kCapacity) TANDEM_CHECK_OK(wait_for(index - kCapacity + 1));
    ring_[index % kCapacity] = std::move(piece);
    pushed_.store(index + 1, std::memory_order_seq_cst);
    work_.notify();
    return {};
  }

  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_.load(std::memory_order_seq_cst); }

  Status wait_for(std::uint64_t point) override {
    if (has_passed(point)) return {};
    TANDEM_CHECK_OK(WorkScope::may_wait());
    progress_.wait([this, point] { return has_passed(point); });
    return {};
  }

  /// The worker's life: runs everything that was pushed, then ends if it was told to.
  void run() noexcept {
    for (std::uint64_t next = 0;; ++next) {
      work_.wait([this, next] { return pushed() > next || stopped_.load(std::memory_order_seq_cst); }, kIdleSpins);
      if (pushed() == next) return;
      Piece& piece = ring_[next % kCapacity];
      if (piece.after != nullptr) ignore(piece.after->wait_for(piece.point), "a worker may wait");
      while (!piece.run()) {
      }
      piece.after.reset();
      done_.store(next + 1, std::memory_order_seq_cst);
      progress_.notify();
    }
  }

  void stop() noexcept {
    stopped_.store(true, std::memory_order_seq_cst);
    work_.notify();
  }

 private:
  static constexpr std::uint64_t kCapacity = 1024;
  /// Some tens of microseconds: while a worker that sleeps must be woken, enqueueing costs a system call.
  static constexpr int kIdleSpins = 1000;

  std::mutex push_mutex_;
  std::array<Piece, kCapacity> ring_{};
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<bool> stopped_{false};
  base::WaitPoint work_;
  base::WaitPoint progress_;
};

QueuedStream::QueuedStream() : queue_{std::make_shared<Queue>()} {}

Result<std::unique_ptr<Stream>> QueuedStream::create() {
  std::unique_ptr<QueuedStream> stream{new QueuedStream};
  try {
    stream->worker_ = std::thread{[queue = stream->queue_] { queue->run(); }};
  } catch (const std::system_error& error) {
    return Error{ErrorCode::OutOfMemory, "a thread cannot be made"}
        .with_native(Origin::Errno, error.code().value(), error.what())
        .with_device("host");
  }
  return std::unique_ptr<Stream>{std::move(stream)};
}

QueuedStream::~QueuedStream() {
  if (!worker_.joinable()) return;
  queue_->stop();
  // A forked child has no such thread, and the last piece of work may be what destroys the stream.
  if (base::is_forked_child() || worker_.get_id() == std::this_thread::get_id()) {
    worker_.detach();
  } else {
    worker_.join();
  }
}

Status QueuedStream::submit(Work work, void* data, std::uint32_t index) {
  return queue_->push({.work = work, .data = data, .index = index});
}

Status QueuedStream::copy(void* to, const void* from, std::size_t bytes) {
  return queue_->push({.data = to, .from = from, .bytes = bytes});
}

Status QueuedStream::fill(void* to, std::byte value, std::size_t bytes) {
  return queue_->push({.data = to, .bytes = bytes, .value = value});
}

Status QueuedStream::drain() { return queue_->wait_for(queue_->pushed()); }

void QueuedStream::mark(HostEvent& event) { event.mark(queue_, queue_->pushed()); }

Status QueuedStream::wait_for(const HostEvent& event) {
  if (event.timeline() == queue_) return {};
  return queue_->push({.after = event.timeline(), .point = event.point()});
}

}  // namespace tandem::device
