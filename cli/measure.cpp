#include "cli/measure.h"

#include "cli/device_values.h"
#include "cli/digest.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

namespace tandem::cli {
namespace {

/// What the threads share.
class Session {
 public:
  Session(Method& method, std::span<const Value> inputs, std::span<const std::optional<Value>> expected,
          const MeasureOptions& options)
      : method_{method}, inputs_{inputs}, expected_{expected}, options_{options} {}

  /// One thread's share of the runs. Only the thread that is given it draws `progress`.
  void work(Progress* progress) {
    std::vector<std::chrono::nanoseconds> times;
    while (!interrupted() && !failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t run = next_.fetch_add(1, std::memory_order_relaxed);
      if (run >= options_.repeat) break;
      if (progress != nullptr) progress->update(run);
      if (options_.scheduler != nullptr) options_.scheduler->reseed(options_.seed + run);
      const auto start = std::chrono::steady_clock::now();
      Result<std::vector<Value>> outputs = method_.execute(inputs_);
      const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
      if (outputs.ok()) outputs = to_host(std::move(outputs).value());
      Status kept = outputs.ok() ? keep(run, time, std::move(outputs).value()) : Status{std::move(outputs).error()};
      if (!kept.ok()) {
        fail(std::move(kept).error());
        break;
      }
      times.push_back(time);
    }
    const std::scoped_lock lock{mutex_};
    result_.times.insert(result_.times.end(), times.begin(), times.end());
  }

  Result<Measurement> finish() {
    if (error_) return *std::move(error_);
    std::sort(result_.times.begin(), result_.times.end());
    result_.distinct_results = digests_.size();
    result_.interrupted = interrupted();
    return std::move(result_);
  }

 private:
  Status keep(std::uint64_t run, std::chrono::nanoseconds time, std::vector<Value> outputs) {
    TANDEM_TRY(const std::uint64_t digest, digest_of(outputs));
    const std::scoped_lock lock{mutex_};
    if (run == 0) result_.first = time;
    if (!digests_.insert(digest).second) return {};  // compared before
    if (!expected_.empty()) {
      if (outputs.size() != expected_.size()) {
        return Error{ErrorCode::InvalidArgument, "another count of expected values than of outputs"}.with_expected(
            std::to_string(outputs.size()), std::to_string(expected_.size()));
      }
      result_.comparisons.resize(outputs.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (expected_[i]) result_.comparisons[i].merge(compare(outputs[i], *expected_[i], options_.tolerance));
      }
    }
    if (result_.outputs.empty()) result_.outputs = std::move(outputs);
    return {};
  }

  void fail(Error error) {
    failed_.store(true, std::memory_order_relaxed);
    const std::scoped_lock lock{mutex_};
    if (!error_) error_ = std::move(error);
  }

  Method& method_;
  std::span<const Value> inputs_;
  std::span<const std::optional<Value>> expected_;
  const MeasureOptions& options_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below
  Measurement result_;
  std::unordered_set<std::uint64_t> digests_;
  std::optional<Error> error_;
};

}  // namespace

Result<Measurement> measure(Method& method, std::span<const Value> inputs,
                            std::span<const std::optional<Value>> expected, const MeasureOptions& options) {
  Session session{method, inputs, expected, options};
  {
    Progress progress{"runs", options.repeat};
    // A thread that cannot be made throws std::system_error: main() reports it, ~jthread joins the others.
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < options.threads; ++i) others.emplace_back([&session] { session.work(nullptr); });
    session.work(&progress);
  }
  return session.finish();
}

}  // namespace tandem::cli
