#include "backends/aoti/thread_exit.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace tandem::aoti {
namespace {

struct Entry {
  void (*destructor)(void*);
  void* object;

  [[nodiscard]] bool within(std::uintptr_t first, std::uintptr_t end) const noexcept {
    const auto code = reinterpret_cast<std::uintptr_t>(destructor);
    return code >= first && code < end;
  }
};

struct ThreadList {
  std::vector<Entry> entries{};
  ThreadList* next = nullptr;
};

struct Registry {
  // Held while destructors run, so that no library goes away under a thread that is ending. Recursive: a destructor
  // may touch another thread-local object and register that one.
  std::recursive_mutex mutex{};
  ThreadList* lists = nullptr;
};

Registry& registry() {
  static Registry* instance = new Registry;  // never destroyed: threads may end after main()
  return *instance;
}

/// Takes the last entry that lies within the range, and runs it. False when there is none.
bool run_last(ThreadList& list, std::uintptr_t first, std::uintptr_t end) noexcept {
  const auto found = std::find_if(list.entries.rbegin(), list.entries.rend(),
                                  [&](const Entry& entry) { return entry.within(first, end); });
  if (found == list.entries.rend()) return false;
  const Entry entry = *found;
  list.entries.erase(std::next(found).base());
  entry.destructor(entry.object);
  return true;
}

/// Puts this thread's list into the registry for as long as the thread lives.
class Registration {
 public:
  Registration() {
    const std::scoped_lock lock{registry().mutex};
    list_.next = registry().lists;
    registry().lists = &list_;
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    const std::scoped_lock lock{registry().mutex};
    while (run_last(list_, 0, UINTPTR_MAX)) {
    }
    ThreadList** link = &registry().lists;
    while (*link != &list_) link = &(*link)->next;
    *link = list_.next;
    ended = true;
  }
  [[nodiscard]] ThreadList& list() noexcept { return list_; }

  static constinit thread_local bool ended;

 private:
  ThreadList list_;
};

constinit thread_local bool Registration::ended = false;

}  // namespace

int register_thread_exit(void (*destructor)(void*), void* object, void* /*dso*/) noexcept {
  // Static destructors may run library code on a thread whose own objects are gone. The process ends; let it be.
  if (Registration::ended) return 0;
  try {
    thread_local Registration registration;
    const std::scoped_lock lock{registry().mutex};
    registration.list().entries.push_back({destructor, object});
    return 0;
  } catch (...) {  // no memory
    return -1;
  }
}

void run_thread_exits(std::uintptr_t first, std::uintptr_t end) noexcept {
  const std::scoped_lock lock{registry().mutex};
  for (ThreadList* list = registry().lists; list != nullptr; list = list->next) {
    while (run_last(*list, first, end)) {
    }
  }
}

void drop_thread_exits(std::uintptr_t first, std::uintptr_t end) noexcept {
  const std::scoped_lock lock{registry().mutex};
  for (ThreadList* list = registry().lists; list != nullptr; list = list->next) {
    std::erase_if(list->entries, [&](const Entry& entry) { return entry.within(first, end); });
  }
}

}  // namespace tandem::aoti
