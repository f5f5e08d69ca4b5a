#include "cli/bench/bench.h"

#include "cli/device_values.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <utility>

namespace tandem::cli::bench {
namespace {

constexpr std::uint64_t kBlocks = 20;
constexpr std::uint64_t kCountedRuns = 20;
/// Threads that start together are not awake together: what overlaps needs time to.
constexpr std::chrono::nanoseconds kLeastOverlap = std::chrono::milliseconds{5};

bool overlaps(Drive drive) noexcept {
  return drive == Drive::Threads || drive == Drive::Streams || drive == Drive::Depth;
}

class Session {
 public:
  explicit Session(const BenchRequest& request) : request_{request}, workload_{request.workload} {}

  Result<BenchResult> run() {
    TANDEM_CHECK_OK(learn());
    TANDEM_CHECK_OK(make_all());
    const std::uint64_t count = std::min(kBlocks, request_.runs);
    for (std::uint64_t block = 0; block < count && goes_on(); ++block) {
      const auto runs_before = [&](std::uint64_t b) { return request_.runs * b / count; };
      TANDEM_CHECK_OK(run_block(block, runs_before(block + 1) - runs_before(block)));
    }
    if (goes_on() && workload_.device.type == DeviceType::Cuda) TANDEM_CHECK_OK(count_calls());
    return finish();
  }

 private:
  struct Entry {
    Mode mode{};
    std::unique_ptr<Runner> runner{};
    Times blocks{};
    std::uint64_t least_runs = 0;  ///< Of a block.
    std::optional<DriverCalls> calls{};
    std::uint64_t counted_runs = 0;
  };

  [[nodiscard]] bool goes_on() const { return !interrupted() && !check_->difference(); }

  /// What the method is like shows when it is loaded.
  Status learn() {
    MethodOptions options;
    options.device = workload_.device;
    options.backends = workload_.backends;
    options.graphs = GraphPolicy::Off;
    TANDEM_TRY(const std::shared_ptr<Method> method, Method::load(workload_.program, workload_.method, options));
    TANDEM_TRY(workload_.inputs, to_device(workload_.inputs, method->meta(), workload_.device));
    facts_ = {.device = workload_.device, .is_fully_async = method->meta().is_fully_async()};
    if (method->state() != nullptr) {
      TANDEM_TRY(facts_.is_stateful, changes_its_results(*method));
    }
    result_.work = runtime::count_work(method->schedule());
    result_.is_stateful = facts_.is_stateful;
    result_.is_fully_async = facts_.is_fully_async;
    check_.emplace(facts_.is_stateful, request_.expected);
    return {};
  }

  /// Whether runs depend on those before them. Having a state does not tell: delegates have one for any buffer, also
  /// for those that they never write.
  Result<bool> changes_its_results(Method& method) {
    ResultCheck check{false};
    for (std::uint64_t run = 0; run < std::max<std::uint64_t>(request_.warmup, 2) && !interrupted(); ++run) {
      TANDEM_TRY(std::vector<Value> outputs, method.execute(workload_.inputs));
      TANDEM_TRY(outputs, to_host(std::move(outputs)));
      TANDEM_TRY(const bool is_same, check.add(kEager, run, outputs));
      if (!is_same) return true;
    }
    return false;
  }

  /// Loads and warms up. A mode that nobody asked for may fail in that.
  Status make_all() {
    for (const Mode& mode : request_.modes) TANDEM_CHECK_OK(check_mode(mode, facts_));
    const std::vector<Mode> modes = request_.modes.empty() ? default_modes(facts_, request_.numbers) : request_.modes;
    for (const Mode& mode : modes) {
      if (!goes_on()) break;
      Entry entry{.mode = mode};
      Status ready = make(entry);
      if (ready.ok()) {
        entries_.push_back(std::move(entry));
      } else if (mode.was_asked || entries_.empty()) {
        return ready;
      } else {
        result_.left_out.push_back({mode.name(), ready.error().to_string()});
      }
    }
    return {};
  }

  Status make(Entry& entry) {
    const Drive drive = entry.mode.kind->drive;
    const bool is_raw = drive == Drive::Raw || drive == Drive::RawGraph;
    TANDEM_TRY(entry.runner,
               is_raw ? make_raw_runner(entry.mode, workload_, *check_) : make_runner(entry.mode, workload_, *check_));
    TANDEM_TRY(const Pass pass, entry.runner->run(request_.warmup, Purpose::WarmUp));
    if (overlaps(drive) && pass.runs != 0 && pass.time.count() != 0) {
      entry.least_runs =
          pass.runs * static_cast<std::uint64_t>(kLeastOverlap.count()) / static_cast<std::uint64_t>(pass.time.count());
    }
    return entry.runner->enqueue(request_.warmup, Purpose::WarmUp);
  }

  Status run_block(std::uint64_t block, std::uint64_t runs) {
    std::vector<Entry*> order;
    for (Entry& entry : entries_) order.push_back(&entry);
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(block % order.size()), order.end());
    const auto singles_end = std::stable_partition(order.begin(), order.end(),
                                                   [](Entry* entry) { return !overlaps(entry->mode.kind->drive); });
    const std::span singles{order.begin(), singles_end};
    const std::span others{singles_end, order.end()};
    std::vector<std::size_t> begins;
    for (const Entry* entry : singles) begins.push_back(entry->runner->samples().results.size());
    std::vector<Entry*> turns{singles.begin(), singles.end()};
    for (std::uint64_t i = 0; i < runs && goes_on(); ++i) {
      std::ranges::shuffle(turns, random_);  // a run's time depends on whose was the one before
      for (Entry* entry : turns) {
        if (!goes_on()) break;
        TANDEM_TRY(const Pass pass, entry->runner->run(1, Purpose::Measure));
        note_runs(pass.runs);
      }
    }
    // After the timed runs, because a queue's thread on the host stays awake for a while.
    for (std::uint64_t i = 0; i < runs && goes_on(); ++i) {
      for (Entry* entry : singles) {
        if (goes_on()) TANDEM_CHECK_OK(entry->runner->enqueue(1, Purpose::Measure));
      }
    }
    std::vector<Pass> passes;
    for (Entry* entry : others) {
      if (!goes_on()) break;
      TANDEM_TRY(const Pass pass, entry->runner->run(std::max(runs, entry->least_runs), Purpose::Measure));
      note_runs(std::min(pass.runs, runs));
      passes.push_back(pass);
    }
    if (!goes_on()) return {};  // a block counts if all of it was run
    for (std::size_t i = 0; i < singles.size(); ++i) {
      const Times& results = singles[i]->runner->samples().results;
      singles[i]->blocks.push_back(
          median_of({results.begin() + static_cast<std::ptrdiff_t>(begins[i]), results.end()}));
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      others[i]->blocks.push_back(passes[i].time /
                                  static_cast<std::int64_t>(std::max<std::uint64_t>(passes[i].runs, 1)));
    }
    return {};
  }

  void note_runs(std::uint64_t runs) {
    done_ += runs;
    if (!progress_) progress_.emplace("runs", request_.runs * entries_.size());
    progress_->update(done_);
  }

  Status count_calls() {
    for (Entry& entry : entries_) {
      Result<Pass> pass = Pass{};
      entry.calls = count_driver_calls([&] { pass = entry.runner->run(kCountedRuns, Purpose::Count); });
      if (!pass.ok()) return std::move(pass).error();
      entry.counted_runs = pass->runs;
    }
    return {};
  }

  [[nodiscard]] const Entry* find(std::string_view kind) const {
    const auto found = std::ranges::find(entries_, kind, [](const Entry& entry) { return entry.mode.kind->name; });
    return found == entries_.end() ? nullptr : &*found;
  }

  BenchResult finish() {
    progress_.reset();
    result_.difference = check_->difference();
    result_.first_digest = check_->first_digest();
    result_.was_checked = request_.expected.has_value() && result_.first_digest.has_value();
    result_.interrupted = interrupted();
    const Entry* const eager = find(kEager);
    const Entry* const again = find(kAgain);
    if (eager != nullptr && again != nullptr) result_.resolution = resolution_of(eager->blocks, again->blocks);
    for (const Entry& entry : entries_) result_.modes.push_back(result_of(entry));
    return std::move(result_);
  }

  ModeResult result_of(const Entry& entry) const {
    ModeResult mode{.name = entry.mode.name(),
                    .drive = entry.mode.kind->drive,
                    .samples = entry.runner->samples(),
                    .blocks = entry.blocks,
                    .graphs = entry.runner->graphs(),
                    .note = entry.runner->note()};
    if (!result_.difference) mode.ratio = ratio_of(entry.blocks, entries_.front().blocks);
    const std::size_t runs = mode.samples.results.size();
    const bool is_raw = mode.drive == Drive::Raw || mode.drive == Drive::RawGraph;
    if (workload_.allocations != nullptr && !is_raw && runs != 0) {
      mode.allocations = static_cast<double>(mode.samples.allocations) / static_cast<double>(runs);
    }
    if (entry.calls && entry.counted_runs != 0) {
      mode.driver_calls.emplace();
      for (const auto& [name, calls] : *entry.calls) {
        (*mode.driver_calls)[name] = static_cast<double>(calls) / static_cast<double>(entry.counted_runs);
      }
    }
    return mode;
  }

  const BenchRequest& request_;
  Workload workload_;
  MethodFacts facts_{};
  std::optional<ResultCheck> check_{};
  std::minstd_rand random_{};  ///< The same turns every time.
  std::vector<Entry> entries_{};
  std::optional<Progress> progress_{};
  std::uint64_t done_ = 0;
  BenchResult result_{};
};

}  // namespace

Result<BenchResult> run_bench(const BenchRequest& request) { return Session{request}.run(); }

}  // namespace tandem::cli::bench
