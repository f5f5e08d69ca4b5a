#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace tandem::cli::bench {

/// Threads that stay, so that each keeps its own stream of the device.
///
/// Thread-safety: none; run() from one thread at a time.
class Workers {
 public:
  /// Throws std::system_error where the system has no further thread.
  explicit Workers(unsigned count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(threads_.size()); }
  /// Blocks until `job(0)`, `job(1)`, ... have run, each on its own thread, begun together. `job` must not throw.
  void run(const std::function<void(unsigned)>& job);

 private:
  void work(unsigned index);

  std::barrier<> begin_;
  std::barrier<> end_;
  const std::function<void(unsigned)>* job_ = nullptr;  ///< Null: the threads end.
  std::vector<std::jthread> threads_{};
};

}  // namespace tandem::cli::bench
