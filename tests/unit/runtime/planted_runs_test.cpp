// Faults in the order of real runs: each is found by the check, and each changes results under some schedule seed.
// planted_faults_test.cpp shows what the check says of those in a plan; here they run.
#include "runtime/order/lifetime.h"
#include "runtime/order/order_check.h"
#include "support/event_plan.h"
#include "support/function_backend.h"
#include "support/planted_faults.h"
#include "support/recording_device.h"
#include "support/test_method.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using device::SeededHost;
using runtime::Schedule;
using testing::floats;
using testing::FunctionBackend;
using testing::MethodBuilder;
using testing::RecordingDevice;
using testing::TestMethod;
using testing::to_floats;

constexpr std::uint64_t kSeeds = 100;
constexpr std::int64_t kSize = 4;

Value all(float number) { return floats({kSize}, std::vector<float>(kSize, number)); }

void add_backend(MethodBuilder& b) {
  EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
}

// ---- faults in a schedule ----

/// A diamond, then a chain, with a host step between: out = 2x + 15.
struct Diamond : MethodBuilder {
  Diamond() {
    add_backend(*this);
    EXPECT_TRUE(backends.register_backend("G", std::make_shared<FunctionBackend>(1, testing::add_number(10))).ok());
    x = tensor({kSize}, 0);
    a = tensor({kSize}, 64);
    left = tensor({kSize}, 128);
    right = tensor({kSize}, 192);
    const auto sum = tensor({kSize}, 256);
    const auto last = tensor({kSize}, 320);
    const auto out = tensor({kSize}, 384);
    inputs({x}).outputs({out}).delegate("F", {x, a}).delegate("F", {a, left}).delegate("G", {a, right});
    kernel("aten::add.out", {left, right, number(1), sum, sum}).delegate("F", {sum, last}).delegate("F", {last, out});
  }
  std::int32_t x, a, left, right;
};

/// How many of kSeeds runs, each with an input of its own, are wrong.
std::uint64_t wrong_runs(const std::function<void(Schedule&)>& edit) {
  Diamond b;
  SeededHost host{0};
  const TestMethod method{b, host, {}, edit};
  EXPECT_TRUE(method.loaded().ok());
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host.reseed(seed);
    const auto x = static_cast<float>(10 * seed + 1);
    const auto outputs = method.execute({all(x)});
    EXPECT_TRUE(outputs.ok());
    if (outputs.ok() && to_floats(outputs->front()) != std::vector<float>(kSize, 2 * x + 15)) ++wrong;
  }
  return wrong;
}

/// Runs with the right plan, changed by `fault`; the check must find it.
std::uint64_t wrong_runs_with(const std::function<runtime::StreamPlan(runtime::StreamPlan)>& fault) {
  return wrong_runs([&fault](Schedule& schedule) {
    schedule.streams = fault(testing::event_plan(schedule));
    EXPECT_FALSE(runtime::find_conflicts(schedule, schedule.streams).empty());
  });
}

runtime::StreamPlan right_plan() {
  Diamond b;
  return testing::event_plan(**b.lower());
}

TEST(PlantedRunsTest, EverySeedOfARightPlanGivesTheSame) {
  EXPECT_EQ(wrong_runs([](Schedule& schedule) { schedule.streams = testing::event_plan(schedule); }), 0U);
}

TEST(PlantedRunsTest, DroppedEvents) {
  const runtime::StreamPlan plan = right_plan();
  const auto end = static_cast<std::uint32_t>(plan.stream_of.size());
  std::size_t tried = 0;
  for (std::size_t n = 0; n < testing::wait_count(plan); ++n) {
    if (testing::wait_edge(plan, n).to == end) continue;  // the host waits there, whatever the plan says
    ++tried;
    EXPECT_GT(wrong_runs_with([n](runtime::StreamPlan right) { return testing::drop_wait(std::move(right), n); }), 0U)
        << "wait " << n;
  }
  EXPECT_GE(tried, 3U);
}

TEST(PlantedRunsTest, WrongEvents) {
  const runtime::StreamPlan plan = right_plan();
  const auto end = static_cast<std::uint32_t>(plan.stream_of.size());
  std::size_t tried = 0;
  for (std::size_t n = 0; n < testing::wait_count(plan); ++n) {
    const testing::WaitEdge edge = testing::wait_edge(plan, n);
    for (std::uint32_t event = 0; event < plan.events; ++event) {
      if (edge.to == end || testing::wait_edge(testing::retarget_wait(plan, n, event), n).from == edge.from) continue;
      ++tried;
      EXPECT_GT(wrong_runs_with([n, event](runtime::StreamPlan right) {
                  return testing::retarget_wait(std::move(right), n, event);
                }),
                0U)
          << "wait " << n << ", event " << event;
    }
  }
  EXPECT_GE(tried, 3U);
}

TEST(PlantedRunsTest, MissingJoins) {
  EXPECT_GT(wrong_runs_with([](runtime::StreamPlan right) { return testing::drop_join(std::move(right), 0); }), 0U);
}

TEST(PlantedRunsTest, OverlappingSlotsAndUndeclaredAliases) {
  const Diamond b;
  const auto over = [](std::int32_t value, std::int32_t other) {
    return wrong_runs([value, other](Schedule& schedule) {
      schedule.streams = testing::event_plan(schedule);
      testing::place_over(schedule, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(other));
      EXPECT_FALSE(runtime::check_lifetimes(schedule).ok());
    });
  };
  EXPECT_GT(over(b.left, b.a), 0U);  // right is computed from left's bytes where left comes first
  EXPECT_GT(over(b.right, b.left), 0U);
}

TEST(PlantedRunsTest, AStreamPerDelegate) {
  EXPECT_GT(wrong_runs([](Schedule& schedule) {
              schedule.streams = runtime::plan_streams(schedule, StreamPolicy::PerDelegate);
              EXPECT_FALSE(runtime::check_order(schedule).ok());
            }),
            0U);
}

// ---- faults between executions ----

/// Counts in a state, by way of an instance's memory: out = what was added so far.
struct Total : MethodBuilder {
  Total() {
    const auto add_to = [](EnqueueArgs& args) -> Status {
      for (std::int64_t i = 0; i < kSize; ++i) {
        float& sum = testing::floats_of(*args.arguments[1])[i];
        sum += testing::floats_of(*args.arguments[0])[i];
        testing::floats_of(*args.arguments[2])[i] = sum;
      }
      return {};
    };
    const std::vector modes{AccessMode::Read, AccessMode::Update, AccessMode::Write};
    EXPECT_TRUE(backends.register_backend("Total", std::make_shared<FunctionBackend>(1, add_to, modes)).ok());
    add_backend(*this);
    const auto x = tensor({kSize});
    const auto copy = tensor({kSize}, 0);
    const auto sum = state({kSize}, 64, std::vector<float>(kSize, 0));
    const auto y = tensor({kSize});
    inputs({x}).outputs({y}).delegate("F", {x, copy}).delegate("Total", {copy, sum, y});
  }
};

struct Outcome {
  std::uint64_t wrong = 0;     ///< Seeds under which some result was not that of the calls one after the other.
  std::uint64_t found = 0;     ///< Seeds under which the check found the fault.
  std::string first_conflict;  ///< "execution 0, execution 1".
};

/// Three executions on as many streams, enqueued one after the other, under kSeeds seeds.
Outcome run_three(RecordingDevice::Fault fault, std::uint32_t instances) {
  Outcome outcome;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Total b;
    RecordingDevice host{seed};
    MethodOptions options;
    options.instances = instances;
    options.max_in_flight = 4;
    const TestMethod method{b, host, options};
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.emplace_back(*host.make_stream());
    host.plant(fault);
    std::vector<Execution> executions;
    for (std::size_t i = 0; i < 3; ++i) {
      ExecuteOptions on;
      on.stream = streams[i];
      executions.push_back(*method.execute_async({all(static_cast<float>(i))}, on));
    }
    const auto conflicts = host.conflicts();
    if (!conflicts.empty()) {
      ++outcome.found;
      outcome.first_conflict = host.name_of(conflicts[0].first) + ", " + host.name_of(conflicts[0].second);
    }
    const std::vector<float> expected{1, 3, 6};
    bool right = true;
    for (std::size_t i = 0; i < 3; ++i) {
      right = to_floats(executions[i].get()->front()) == std::vector<float>(kSize, expected[i]) && right;
    }
    if (!right) ++outcome.wrong;
    for (const Stream& stream : streams) EXPECT_TRUE(stream.synchronize().ok());
  }
  return outcome;
}

TEST(PlantedRunsTest, ExecutionsWithTheirDependencyEventsAreOrdered) {
  for (const std::uint32_t instances : {1U, 2U}) {
    const Outcome outcome = run_three(RecordingDevice::Fault::None, instances);
    EXPECT_EQ(outcome.found, 0U);
    EXPECT_EQ(outcome.wrong, 0U);
  }
}

TEST(PlantedRunsTest, OneStateWithoutOrder) {
  // Instances of their own, so that the state is all that they share.
  const Outcome outcome = run_three(RecordingDevice::Fault::DropWait, 3);
  EXPECT_EQ(outcome.found, kSeeds);
  EXPECT_EQ(outcome.first_conflict, "execution 0, execution 1");
  EXPECT_GT(outcome.wrong, 0U);
}

TEST(PlantedRunsTest, StaleDependencyEvents) {
  const Outcome outcome = run_three(RecordingDevice::Fault::StaleWait, 1);
  EXPECT_EQ(outcome.found, kSeeds);
  EXPECT_GT(outcome.wrong, 0U);
}

/// An output is dropped while the caller's own work still reads it, and the next execution takes its memory.
Outcome drop_under_reader(bool announced) {
  Outcome outcome;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    MethodBuilder b;
    add_backend(b);
    const auto x = b.tensor({kSize});
    const auto y = b.tensor({kSize});
    b.inputs({x}).outputs({y}).delegate("F", {x, y});
    RecordingDevice host{seed};
    const TestMethod method{b, host};
    const Stream stream{*host.make_stream()};
    const Stream reader{*host.make_stream()};
    ExecuteOptions on;
    on.stream = stream;
    std::vector<float> seen(kSize);
    {
      const auto first = method.execute_async({all(1)}, on);
      EXPECT_TRUE(first->done().synchronize().ok());
      host.waited_for(first->done());
      const Tensor tensor = first->outputs()[0].tensor();
      host.announce(tensor.data(), tensor.nbytes(), AccessMode::Read);
      const float* const bytes = tensor.data_as<float>();
      EXPECT_TRUE(reader.submit([bytes, &seen] { std::copy_n(bytes, kSize, seen.begin()); }).ok());
      if (announced) {
        EXPECT_TRUE(tensor.record_use(reader).ok());
      }
    }
    const auto second = method.execute_async({all(100)}, on);
    if (!host.conflicts().empty()) ++outcome.found;
    EXPECT_EQ(to_floats(second->get()->front()), std::vector<float>(kSize, 101));
    EXPECT_TRUE(reader.synchronize().ok());
    if (seen != std::vector<float>(kSize, 2)) ++outcome.wrong;
  }
  return outcome;
}

TEST(PlantedRunsTest, OutputsRecycledUnderAReader) {
  const Outcome announced = drop_under_reader(true);
  EXPECT_EQ(announced.found, 0U);
  EXPECT_EQ(announced.wrong, 0U);
  const Outcome silent = drop_under_reader(false);
  EXPECT_EQ(silent.found, kSeeds);
  EXPECT_GT(silent.wrong, 0U);
}

}  // namespace
}  // namespace tandem
