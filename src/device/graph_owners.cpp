#include "device/graph_owners.h"

#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

namespace tandem::device {
namespace {

struct Kept {
  explicit Kept(std::shared_ptr<void> kept) noexcept : owner{std::move(kept)} {}
  std::shared_ptr<void> owner;
  std::atomic<bool> is_released{false};
};

struct All {
  std::mutex mutex;
  std::list<Kept> kept;
};

/// Never destroyed: graphs of callers may end after everything else.
All& all() {
  static auto* const made = new All;
  return *made;
}

}  // namespace

void* keep_for_graph(std::shared_ptr<void> owner) {
  const std::scoped_lock lock{all().mutex};
  return &all().kept.emplace_back(std::move(owner));
}

void release_kept(void* kept) noexcept {
  // Not the lock: whoever holds it may be in a call of the driver's that waits for this callback.
  static_cast<Kept*>(kept)->is_released.store(true, std::memory_order_release);
}

void sweep_kept() noexcept {
  std::list<Kept> ended;  // what they own goes without the lock
  const std::scoped_lock lock{all().mutex};
  for (auto at = all().kept.begin(); at != all().kept.end();) {
    const auto next = std::next(at);
    if (at->is_released.load(std::memory_order_acquire)) ended.splice(ended.end(), all().kept, at);
    at = next;
  }
}

}  // namespace tandem::device
