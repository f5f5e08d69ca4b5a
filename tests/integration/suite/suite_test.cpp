// The suite's scenarios on a simulated GPU: everything but the times.
#include "simulated_machine.h"

#include "bench/suite/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tandem::suite {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Report run(Machine& machine, const std::string& scenario) {
  Report report;
  run_scenarios({.machine = machine, .report = report, .rounds = 10, .most_threads = 2}, std::vector{scenario},
                [](const char* /*name*/) {});
  return report;
}

class ScenarioTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ScenarioTest, ResultsAndCountsAreRight) {
  SimulatedMachine machine{7};
  const Report report = run(machine, GetParam());
  EXPECT_TRUE(report.is_good(/*and_counts=*/true)) << text_of(report);
  EXPECT_THAT(report.measurements, Not(IsEmpty()));
}

std::vector<const char*> names() {
  std::vector<const char*> all;
  for (const Scenario& scenario : scenarios()) all.push_back(scenario.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Simulated, ScenarioTest, ::testing::ValuesIn(names()),
                         [](const auto& parameter) { return std::string{parameter.param}; });

TEST(SuiteTest, AGraphOfTheChainIsOneLaunch) {
  SimulatedMachine machine{1};
  const Report report = run(machine, "null_chain");
  ASSERT_EQ(report.facts.size(), 2U);
  EXPECT_THAT(report.facts[0].name, HasSubstr("graphs in use"));
  EXPECT_THAT(report.facts[1].name, HasSubstr("launches of an execution"));
  for (const Fact& fact : report.facts) {
    EXPECT_EQ(fact.exactly, 1);
    EXPECT_EQ(fact.found, 1);
  }
}

TEST(SuiteTest, WrongKernelsInGraphsVoidTheRowsOfGraphs) {
  SimulatedMachine machine{1};
  machine.spoil_recorded();
  const Report report = run(machine, "branches");
  ASSERT_EQ(report.measurements.size(), 1U);
  for (const Line& line : report.measurements[0].lines) {
    // Auto has settled for one of the two ways.
    if (line.way == "auto") continue;
    EXPECT_EQ(line.fault.empty(), line.way != "graph" && line.way != "branches") << line.way << ": " << line.fault;
    EXPECT_THAT(line.fault, line.way == "graph" ? HasSubstr("wrong result") : HasSubstr(""));
  }
  EXPECT_FALSE(report.is_good(/*and_counts=*/false));
}

TEST(SuiteTest, ForkedNodesWaitForWhatTheyUseAlone) {
  SimulatedMachine machine{1};
  Model model;
  const std::size_t x = model.add({.role = ModelValue::Role::Input, .sizes = {1, 8}});
  const std::size_t a = model.add({.sizes = {1, 8}});
  const std::size_t b = model.add({.sizes = {1, 8}});
  const std::size_t y = model.add({.role = ModelValue::Role::Output, .sizes = {1, 8}});
  model.call({exact_kernel(8, 1, 1)}, {x, a});
  model.call({exact_kernel(8, 1, 2)}, {x, b});
  KernelSpec join;
  join.call.op = Op::Sum4;
  join.call.columns = 8;
  for (std::uint32_t i = 0; i < 4; ++i) join.in[i] = argument(i % 2);
  join.out = argument(2);
  model.call({join}, {a, b, y});
  const auto raw = RawModel::create(machine, model);
  ASSERT_TRUE(raw.ok());
  const std::vector<RawNode> nodes = raw->nodes();
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_THAT(nodes[0].after, IsEmpty());
  EXPECT_THAT(nodes[1].after, IsEmpty());
  EXPECT_THAT(nodes[2].after, ::testing::ElementsAre(0U, 1U));
}

TEST(SuiteTest, AScenarioThatFailsIsNotedAndTheNextOneRuns) {
  class NoMemory final : public Machine {
   public:
    explicit NoMemory(Machine& inner) : inner_{inner} {}
    DeviceId device() const override { return inner_.device(); }
    std::string describe() const override { return inner_.describe(); }
    bool is_slow() const override { return inner_.is_slow(); }
    std::shared_ptr<Launcher> launcher() override { return inner_.launcher(); }
    Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override {
      return inner_.load(std::move(program), options);
    }
    Result<Stream> make_stream() override { return inner_.make_stream(); }
    Result<std::unique_ptr<RawStream>> make_raw_stream() override { return inner_.make_raw_stream(); }
    Result<std::shared_ptr<void>> allocate(std::size_t /*bytes*/) override {
      return Error{ErrorCode::OutOfMemory, "there is none"};
    }
    Result<std::shared_ptr<void>> allocate_staging(std::size_t bytes) override { return allocate(bytes); }
    Status copy_now(void* to, const void* from, std::size_t bytes) override { return inner_.copy_now(to, from, bytes); }
    Result<std::optional<std::size_t>> launches_in(const std::function<Status()>& work) override {
      return inner_.launches_in(work);
    }

   private:
    Machine& inner_;
  };
  SimulatedMachine inner{1};
  NoMemory machine{inner};
  Report report;
  const std::vector<std::string> wanted{"branches", "kernels"};
  run_scenarios({.machine = machine, .report = report, .rounds = 1}, wanted, [](const char* /*name*/) {});
  ASSERT_EQ(report.failures.size(), 2U);
  EXPECT_EQ(report.failures[0].scenario, "branches");
  EXPECT_THAT(report.failures[0].reason, HasSubstr("there is none"));
  EXPECT_EQ(report.failures[1].scenario, "kernels");
  EXPECT_FALSE(report.is_good(/*and_counts=*/false));
}

}  // namespace
}  // namespace tandem::suite
