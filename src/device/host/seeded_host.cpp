#include "device/host/seeded_host.h"

#include "device/host/host_device.h"
#include "device/host/host_stream.h"
#include "device/host/piece.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tandem::device {
namespace {

/// SplitMix64: the same numbers on every machine. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_{seed} {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace

class SeededHost::Queue final : public Timeline {
 public:
  explicit Queue(std::shared_ptr<World> world) noexcept : world_{std::move(world)} {}

  void push(Piece&& piece);
  [[nodiscard]] std::uint64_t pushed() const;
  Status wait_for(std::uint64_t point) override;
  void poll() override;

  /// Preconditions of all below: the world's mutex is held, but while the head runs.
  [[nodiscard]] const Piece* head() const noexcept { return pieces_.empty() ? nullptr : &pieces_.front(); }
  void pop() {
    pieces_.pop_front();
    done_.fetch_add(1, std::memory_order_seq_cst);
  }

 private:
  std::shared_ptr<World> world_;
  std::deque<Piece> pieces_{};
  std::uint64_t pushed_ = 0;
};

/// All streams of one SeededHost, and the dice.
class SeededHost::World {
 public:
  explicit World(std::uint64_t seed) noexcept : random{seed} {}

  /// Runs one piece that may run, or one step of it, without the lock: work may enqueue more. False if none may.
  /// Precondition: nothing runs.
  bool run_one(std::unique_lock<std::mutex>& lock) {
    choices.clear();
    for (const std::shared_ptr<Queue>& queue : queues) {
      if (const Piece* head = queue->head(); head != nullptr && head->may_run()) choices.push_back(queue.get());
    }
    if (choices.empty()) return false;
    const auto* const chosen = choices[random.below(choices.size())];
    const auto kept = *std::ranges::find(queues, chosen, &std::shared_ptr<Queue>::get);  // its stream may go meanwhile
    runs = true;
    lock.unlock();
    const bool over = kept->head()->run();
    lock.lock();
    runs = false;
    if (over) kept->pop();
    rests.notify_all();
    return true;
  }

  /// A point of somebody else's streams that some piece waits for; null if there is none.
  std::pair<std::shared_ptr<Timeline>, std::uint64_t> outside() const {
    for (const std::shared_ptr<Queue>& queue : queues) {
      const Piece* head = queue->head();
      if (head == nullptr || head->after == nullptr) continue;
      const bool inside = std::ranges::any_of(
          queues, [head](const std::shared_ptr<Queue>& other) { return other.get() == head->after.get(); });
      if (!inside) return {head->after, head->point};
    }
    return {};
  }

  std::mutex mutex;
  std::condition_variable rests;  // nothing runs any more
  bool runs = false;              // some thread runs a piece
  Random random;
  std::vector<std::shared_ptr<Queue>> queues;  // in the order in which they were made
  std::vector<Queue*> choices;                 // of run_one(); kept for its memory
  std::mutex threads_mutex;
  std::map<std::thread::id, std::unique_ptr<SeededStream>> of_threads;  // guarded by threads_mutex
};

void SeededHost::Queue::push(Piece&& piece) {
  const std::scoped_lock lock{world_->mutex};
  pieces_.push_back(std::move(piece));
  ++pushed_;
}

std::uint64_t SeededHost::Queue::pushed() const {
  const std::scoped_lock lock{world_->mutex};
  return pushed_;
}

Status SeededHost::Queue::wait_for(std::uint64_t point) {
  if (has_passed(point)) return {};
  TANDEM_CHECK_OK(WorkScope::may_wait());
  std::unique_lock lock{world_->mutex};
  while (!has_passed(point)) {
    if (world_->runs) {
      world_->rests.wait(lock);
      continue;
    }
    if (world_->run_one(lock)) continue;
    const auto [timeline, needed] = world_->outside();
    if (timeline == nullptr) {
      return Error{ErrorCode::InvalidState, "the streams wait for each other"}.with_device("host");
    }
    lock.unlock();
    TANDEM_CHECK_OK(timeline->wait_for(needed));
    lock.lock();
  }
  return {};
}

void SeededHost::Queue::poll() {
  if (!WorkScope::may_wait().ok()) return;
  std::unique_lock lock{world_->mutex};
  if (!world_->runs) world_->run_one(lock);
}

class SeededHost::SeededStream final : public HostStream {
 public:
  explicit SeededStream(std::shared_ptr<World> world)
      : world_{std::move(world)}, queue_{std::make_shared<Queue>(world_)} {
    const std::scoped_lock lock{world_->mutex};
    world_->queues.push_back(queue_);
  }
  ~SeededStream() override {
    ignore(drain(), "what cannot run any more is dropped");
    const std::scoped_lock lock{world_->mutex};
    std::erase(world_->queues, queue_);
  }

  [[nodiscard]] bool interleaves() const noexcept override { return true; }
  [[nodiscard]] Status submit(Work work, void* data, std::uint32_t index) override {
    queue_->push({.work = work, .data = data, .index = index});
    return {};
  }
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override {
    queue_->push({.data = to, .from = from, .bytes = bytes});
    return {};
  }
  [[nodiscard]] Status fill(void* to, std::byte value, std::size_t bytes) override {
    queue_->push({.data = to, .bytes = bytes, .value = value});
    return {};
  }

 private:
  Status drain() override { return queue_->wait_for(queue_->pushed()); }
  void mark(HostEvent& event) override { event.mark(queue_, queue_->pushed()); }
  Status wait_for(const HostEvent& event) override {
    if (event.timeline() != queue_) queue_->push({.after = event.timeline(), .point = event.point()});
    return {};
  }

  std::shared_ptr<World> world_;
  std::shared_ptr<Queue> queue_;
};

SeededHost::SeededHost(std::uint64_t seed) : world_{std::make_shared<World>(seed)} {}

SeededHost::~SeededHost() {
  // Streams of threads share the world and leave it when they go, so it must outlive the map that holds them.
  const auto of_threads = std::move(world_->of_threads);
}

void SeededHost::reseed(std::uint64_t seed) {
  const std::scoped_lock lock{world_->mutex};
  world_->random = Random{seed};
}

Result<Buffer> SeededHost::allocate(std::size_t bytes) { return HostDevice::instance().allocate(bytes); }

Stream& SeededHost::thread_stream() noexcept {
  const std::scoped_lock lock{world_->threads_mutex};
  std::unique_ptr<SeededStream>& stream = world_->of_threads[std::this_thread::get_id()];
  if (stream == nullptr) stream = std::make_unique<SeededStream>(world_);
  return *stream;
}

Result<std::unique_ptr<Stream>> SeededHost::make_stream() {
  return std::unique_ptr<Stream>{std::make_unique<SeededStream>(world_)};
}

}  // namespace tandem::device
