#include "cli/bench/runner.h"

#include "base/guarded.h"
#include "cli/bench/workers.h"
#include "cli/device_values.h"
#include "cli/interrupt.h"

#include <tandem/stream.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

namespace tandem::cli::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Results that are kept until they can be checked. A method recycles the memory of this many.
constexpr std::uint64_t kKept = 16;

/// What every mode with a method has.
class MethodRunner : public Runner {
 public:
  MethodRunner(std::string name, std::shared_ptr<Method> method, const Workload& workload, ResultCheck& check)
      : name_{std::move(name)}, method_{std::move(method)}, workload_{workload}, check_{check} {}

  [[nodiscard]] std::vector<GraphInfo> graphs() const final { return method_->graphs(); }

 protected:
  [[nodiscard]] std::uint64_t allocations() const noexcept {
    return workload_.allocations == nullptr ? 0 : workload_.allocations();
  }
  [[nodiscard]] bool on_host() const noexcept { return workload_.device == DeviceId{}; }
  [[nodiscard]] std::span<const Value> inputs() const noexcept { return workload_.inputs; }
  [[nodiscard]] Method& method() const noexcept { return *method_; }
  /// Whether the result of the next run, in the order of the calls, is right. Thread-safety: any thread.
  [[nodiscard]] Result<bool> check(std::vector<Value> outputs) {
    TANDEM_TRY(const std::vector<Value> here, to_host(std::move(outputs)));
    return check_.add(name_, next_run_.fetch_add(1, std::memory_order_relaxed), here);
  }

  /// One run, timed. Waits for outputs on the device too, which execute_into() leaves to the caller.
  struct Timed {
    Clock::time_point begin{};
    nanoseconds time{};
    std::uint64_t allocations = 0;
  };
  [[nodiscard]] Result<Timed> execute(std::vector<Value>& outputs, const std::optional<Stream>& stream) const {
    ExecuteOptions options;
    if (stream) options.stream = *stream;
    const std::uint64_t before = allocations();
    const auto begin = Clock::now();
    TANDEM_CHECK_OK(method_->execute_into(inputs(), outputs, options));
    if (stream && has_outputs_elsewhere(outputs)) TANDEM_CHECK_OK(stream->synchronize());
    const auto end = Clock::now();
    return Timed{.begin = begin, .time = end - begin, .allocations = allocations() - before};
  }

 private:
  static bool has_outputs_elsewhere(std::span<const Value> outputs) noexcept {
    return std::ranges::any_of(
        outputs, [](const Value& value) { return value.is_tensor() && value.tensor().device() != DeviceId{}; });
  }

  std::string name_;
  std::shared_ptr<Method> method_;
  const Workload& workload_;
  ResultCheck& check_;
  std::atomic<std::uint64_t> next_run_{0};
};

/// One thread. On the host execute() runs on the thread's own stream, which is inline; asynchronous runs go to a queue.
class SingleRunner final : public MethodRunner {
 public:
  SingleRunner(std::string name, std::shared_ptr<Method> method, const Workload& workload, ResultCheck& check,
               Stream stream, std::unique_ptr<GpuTimer> timer)
      : MethodRunner{std::move(name), std::move(method), workload, check}, timer_{std::move(timer)} {
    (on_host() ? queue_ : stream_).emplace(std::move(stream));
    can_enqueue_ = this->method().meta().is_fully_async();
  }

  Result<Pass> run(std::uint64_t count, Purpose purpose) override {
    std::vector<Value> outputs(method().meta().outputs.size());
    Pass pass;
    while (pass.runs < count && !interrupted()) {
      TANDEM_TRY(const Timed timed, execute(outputs, stream_));
      ++pass.runs;
      pass.time += timed.time;
      if (purpose == Purpose::Measure) {
        samples_.results.push_back(timed.time);
        samples_.allocations += timed.allocations;
      }
      if (purpose != Purpose::Count) {
        TANDEM_TRY(const bool is_right, check(outputs));
        if (!is_right) break;
      }
      std::ranges::fill(outputs, Value{});  // the next run gets the same memory
    }
    return pass;
  }

  Status enqueue(std::uint64_t count, Purpose purpose) override {
    ExecuteOptions options;
    options.stream = on_host() ? *queue_ : *stream_;
    for (std::uint64_t i = 0; i < count && can_enqueue_ && !interrupted(); ++i) {
      if (timer_ != nullptr) TANDEM_CHECK_OK(timer_->begin(*options.stream));
      const auto begin = Clock::now();
      Result<Execution> execution = method().execute_async(inputs(), options);
      const nanoseconds time = Clock::now() - begin;
      if (!execution.ok() && execution.error().code() == ErrorCode::WouldBlock) {
        can_enqueue_ = false;  // an output's place needs the host; nothing has run
        break;
      }
      if (!execution.ok()) return std::move(execution).error();
      if (timer_ != nullptr) TANDEM_CHECK_OK(timer_->end(*options.stream));
      TANDEM_TRY(std::vector<Value> outputs, execution->get());
      if (purpose == Purpose::Measure) {
        samples_.enqueues.push_back(time);
        if (timer_ != nullptr) {
          TANDEM_TRY(const nanoseconds gpu, timer_->elapsed());
          samples_.gpu.push_back(gpu);
        }
      }
      TANDEM_TRY(const bool is_right, check(std::move(outputs)));
      if (!is_right) break;
    }
    return {};
  }

 private:
  std::optional<Stream> stream_{};  ///< Of all runs on a device.
  std::optional<Stream> queue_{};   ///< Of asynchronous runs on the host.
  std::unique_ptr<GpuTimer> timer_;
  bool can_enqueue_ = false;
};

/// Several threads. A thread checks its results by itself, between its runs.
class ThreadsRunner final : public MethodRunner {
 public:
  ThreadsRunner(std::string name, std::shared_ptr<Method> method, const Workload& workload, ResultCheck& check,
                std::vector<std::optional<Stream>> streams)
      : MethodRunner{std::move(name), std::move(method), workload, check},
        streams_{std::move(streams)},
        shares_(streams_.size()),
        workers_{static_cast<unsigned>(streams_.size())} {}

  Result<Pass> run(std::uint64_t count, Purpose purpose) override {
    const std::uint64_t threads = shares_.size();
    const std::uint64_t each = purpose == Purpose::WarmUp ? count : (count + threads - 1) / threads;
    ready_ = 0;
    stops_ = false;
    workers_.run([&](unsigned thread) {
      shares_[thread].status = base::guarded(ErrorCode::Internal, [&] { return work(thread, each, purpose); });
    });
    Pass pass;
    Clock::time_point begin = Clock::time_point::max();
    Clock::time_point end = Clock::time_point::min();
    nanoseconds checks{};
    for (Share& share : shares_) {
      if (!share.status.ok()) return std::move(share.status).error();
      if (share.times.empty()) continue;
      pass.runs += share.times.size();
      begin = std::min(begin, share.begin);
      end = std::max(end, share.end);
      checks += share.checks;
      if (purpose != Purpose::Measure) continue;
      samples_.results.insert(samples_.results.end(), share.times.begin(), share.times.end());
      samples_.allocations += share.allocations;
    }
    // A thread that checks does not run: the threads' mean is what the whole would have been shorter by.
    if (pass.runs != 0) pass.time = std::max(nanoseconds{}, end - begin - checks / static_cast<std::int64_t>(threads));
    return pass;
  }

 private:
  struct alignas(64) Share {
    Status status{};
    Times times{};
    std::uint64_t allocations = 0;
    Clock::time_point begin{};
    Clock::time_point end{};
    nanoseconds checks{};  ///< Between begin and end.
  };

  Status work(unsigned thread, std::uint64_t count, Purpose purpose) {
    // Threads wake up one after the other, which takes longer than a short run.
    ++ready_;
    while (ready_ != shares_.size()) std::this_thread::yield();
    Share& share = shares_[thread];
    share.times.clear();
    share.allocations = 0;
    share.checks = {};
    std::vector<Value> outputs(method().meta().outputs.size());
    Status ran;
    while (share.times.size() < count && ran.ok() && !stops_ && !interrupted())
      ran = run_once(share, thread, outputs, purpose);
    if (!ran.ok()) stops_ = true;
    return ran;
  }

  Status run_once(Share& share, unsigned thread, std::vector<Value>& outputs, Purpose purpose) {
    TANDEM_TRY(const Timed timed, execute(outputs, streams_[thread]));
    if (share.times.empty()) {
      share.begin = timed.begin;
    } else {
      share.checks += timed.begin - share.end;
    }
    share.end = timed.begin + timed.time;
    share.times.push_back(timed.time);
    share.allocations += timed.allocations;
    if (purpose == Purpose::Count) return {};
    TANDEM_TRY(const bool is_right, check(outputs));
    if (!is_right) stops_ = true;
    std::ranges::fill(outputs, Value{});
    return {};
  }

  std::vector<std::optional<Stream>> streams_;  ///< One per thread; without one it is the thread's own.
  std::vector<Share> shares_;
  std::atomic<std::size_t> ready_{0};
  std::atomic<bool> stops_{false};
  Workers workers_;  ///< Last: its threads use the others.
};

/// One thread that runs ahead. Results are checked when nothing is under way, since a check would not hold up the
/// device.
class DepthRunner final : public MethodRunner {
 public:
  DepthRunner(std::string name, std::shared_ptr<Method> method, const Workload& workload, ResultCheck& check,
              Stream stream, unsigned depth)
      : MethodRunner{std::move(name), std::move(method), workload, check}, stream_{std::move(stream)}, depth_{depth} {}

  Result<Pass> run(std::uint64_t count, Purpose purpose) override {
    Pass pass;
    bool is_right = true;
    while (pass.runs < count && is_right && !interrupted()) {
      std::vector<std::vector<Value>> kept;
      const auto begin = Clock::now();
      TANDEM_CHECK_OK(
          burst(std::min<std::uint64_t>(count - pass.runs, std::max<std::uint64_t>(kKept, depth_)), kept, purpose));
      pass.time += Clock::now() - begin;
      pass.runs += kept.size();
      for (std::vector<Value>& outputs : kept) {
        if (purpose == Purpose::Count || !is_right) break;
        TANDEM_TRY(is_right, check(std::move(outputs)));
      }
    }
    return pass;
  }

 private:
  struct UnderWay {
    Execution execution;
    Clock::time_point begin{};
  };

  Status burst(std::uint64_t count, std::vector<std::vector<Value>>& kept, Purpose purpose) {
    ExecuteOptions options;
    options.stream = stream_;
    std::deque<UnderWay> under_way;
    const auto take_oldest = [&]() -> Status {
      TANDEM_TRY(std::vector<Value> outputs, under_way.front().execution.get());
      if (purpose == Purpose::Measure) samples_.results.push_back(Clock::now() - under_way.front().begin);
      under_way.pop_front();
      kept.push_back(std::move(outputs));
      return {};
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      if (under_way.size() == depth_) TANDEM_CHECK_OK(take_oldest());
      const std::uint64_t before = allocations();
      const auto begin = Clock::now();
      TANDEM_TRY(Execution execution, method().execute_async(inputs(), options));
      const auto returned = Clock::now();
      if (purpose == Purpose::Measure) {
        samples_.enqueues.push_back(returned - begin);
        samples_.allocations += allocations() - before;
      }
      under_way.push_back({std::move(execution), begin});
    }
    while (!under_way.empty()) TANDEM_CHECK_OK(take_oldest());
    return {};
  }

  Stream stream_;
  unsigned depth_;
};

}  // namespace

Status Runner::enqueue(std::uint64_t /*count*/, Purpose /*purpose*/) { return {}; }

Result<std::unique_ptr<Runner>> make_runner(const Mode& mode, const Workload& workload, ResultCheck& check) {
  MethodOptions options;
  options.device = workload.device;
  options.backends = workload.backends;
  options.graphs = mode.kind->graphs;
  if (mode.kind->drive == Drive::Streams) options.instances = mode.number;
  if (mode.kind->drive == Drive::Depth) options.max_in_flight = mode.number;
  TANDEM_TRY(std::shared_ptr<Method> method, Method::load(workload.program, workload.method, options));
  const auto own_stream = [&workload] { return Stream::create(workload.device); };
  if (mode.kind->drive == Drive::Threads || mode.kind->drive == Drive::Streams) {
    std::vector<std::optional<Stream>> streams(mode.number);
    // On the host a thread's own stream runs at once; a queue would add a second thread to each.
    const bool has_streams = mode.kind->drive == Drive::Streams || workload.device != DeviceId{};
    for (std::optional<Stream>& stream : streams) {
      if (!has_streams) continue;
      TANDEM_TRY(Stream made, own_stream());
      stream.emplace(std::move(made));
    }
    return std::unique_ptr<Runner>{
        std::make_unique<ThreadsRunner>(mode.name(), std::move(method), workload, check, std::move(streams))};
  }
  TANDEM_TRY(Stream stream, own_stream());
  if (mode.kind->drive == Drive::Depth) {
    return std::unique_ptr<Runner>{
        std::make_unique<DepthRunner>(mode.name(), std::move(method), workload, check, std::move(stream), mode.number)};
  }
  TANDEM_TRY(std::unique_ptr<GpuTimer> timer, make_gpu_timer(workload.device));
  return std::unique_ptr<Runner>{std::make_unique<SingleRunner>(mode.name(), std::move(method), workload, check,
                                                                std::move(stream), std::move(timer))};
}

}  // namespace tandem::cli::bench
