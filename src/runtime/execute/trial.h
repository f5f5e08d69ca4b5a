#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace tandem::runtime {

/// Which of several ways to do a thing is the fastest here, found out by real runs that take turns.
///
/// Thread-safety: any thread.
class Trial {
 public:
  enum class Way : std::uint8_t { Steps, Graph, Branches };
  enum class Verdict : std::uint8_t { Steps, Graph, Branches, Open };  ///< A Way, or none yet.
  /// What a run's time is. They do not compare.
  enum class Span : std::uint8_t {
    WholeRun,
    Asynchronous,  ///< The longer of the call and what the device does.
    Enqueueing,    ///< The call, where the device tells no times.
  };
  static constexpr std::size_t kSamples = 9;  ///< Of each way.
  static constexpr double kMargin = 0.03;

  /// Branches have to be faster by kMargin to win: what runs side by side may be slower at other moments. Where only
  /// the enqueueing is timed, which they do not change, they don't.
  explicit Trial(bool has_branches) noexcept : ways_{has_branches ? 3U : 2U} {}

  [[nodiscard]] Verdict verdict() const noexcept { return verdict_.load(std::memory_order_acquire); }
  /// The way of the next run.
  [[nodiscard]] Way next() noexcept {
    return static_cast<Way>((turns_.fetch_add(1, std::memory_order_relaxed) + 1) % ways_);
  }
  /// Starts again where the span is another one than before.
  void add(Way way, Span span, std::chrono::nanoseconds time);
  /// Units: of the medians that decided; 0 while open, and for a way that was not on trial.
  [[nodiscard]] std::chrono::nanoseconds median(Way way) const;

 private:
  struct Times {
    std::array<std::chrono::nanoseconds, kSamples> all{};
    std::size_t count = 0;
  };
  std::atomic<Verdict> verdict_{Verdict::Open};
  std::atomic<std::uint32_t> turns_{0};
  mutable std::mutex mutex_;
  Span span_ = Span::WholeRun;
  std::array<Times, 3> times_{};
  const std::uint32_t ways_;
};

/// A run's part in a trial: the way that it went.
struct TrialRun {
  std::shared_ptr<Trial> trial{};
  Trial::Way way = Trial::Way::Steps;
};

}  // namespace tandem::runtime
