// Whole benches of small methods whose delegates are functions.
#include "cli/bench/bench.h"

#include "support/built_programs.h"
#include "support/function_backend.h"

#include <tandem/program_builder.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cli::bench {
namespace {

using ::testing::ElementsAre;
using testing::FunctionBackend;
using ::testing::HasSubstr;

class RunBenchTest : public ::testing::Test {
 protected:
  RunBenchTest() { load(delegate_program()); }

  /// forward(x[4]) = what backend F makes of it.
  static ProgramBuilder delegate_program() {
    ProgramBuilder program;
    MethodBuilder& m = program.method("forward");
    const auto x = m.tensor({4});
    const auto y = m.tensor({4});
    m.call(m.delegate({.id = "F"}), {x, y}).inputs({x}).outputs({y});
    return program;
  }
  void load(const ProgramBuilder& builder, std::int64_t size = 4) {
    auto built = builder.build();
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    files_ = *std::move(built);
    auto program = Program::from_bytes(files_.pte);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    const std::array<std::int64_t, 1> sizes{size};
    Tensor x = *Tensor::empty(ScalarType::Float, sizes);
    for (std::int64_t i = 0; i < size; ++i) x.data_as<float>()[i] = static_cast<float>(i);
    request_.workload = {.program = *program, .method = "forward", .inputs = {x}, .backends = &backends_};
    request_.runs = 8;
    request_.warmup = 2;
  }
  void compute(FunctionBackend::Function function) {
    ASSERT_TRUE(backends_.register_backend("F", std::make_shared<FunctionBackend>(1, std::move(function))).ok());
  }
  void ask(const char* modes) { request_.modes = *parse_modes(modes, {.threads = 2, .depth = 2}); }
  BenchResult run() {
    auto result = run_bench(request_);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return result.ok() ? *std::move(result) : BenchResult{};
  }
  static std::vector<std::string> names(const BenchResult& result) {
    std::vector<std::string> all;
    for (const ModeResult& mode : result.modes) all.push_back(mode.name);
    return all;
  }

  BackendRegistry backends_;
  BuiltProgram files_;
  BenchRequest request_;
};

TEST_F(RunBenchTest, MeasuresEveryModeInEveryBlock) {
  compute(testing::add_number(1));
  request_.numbers = {.threads = 2, .depth = 2};
  const BenchResult result = run();
  EXPECT_THAT(names(result), ElementsAre("eager", "again", "threads:2", "streams:2", "depth:2"));
  for (const ModeResult& mode : result.modes) {
    EXPECT_GE(mode.samples.results.size(), 8U) << mode.name;
    EXPECT_EQ(mode.blocks.size(), 8U) << mode.name;
    EXPECT_TRUE(mode.ratio.has_value()) << mode.name;
    EXPECT_FALSE(mode.allocations.has_value()) << mode.name;
  }
  EXPECT_EQ(result.modes[0].samples.results.size(), 8U);
  EXPECT_EQ(result.modes[0].samples.enqueues.size(), 8U);
  EXPECT_DOUBLE_EQ(result.modes[0].ratio->highest, 1);
  EXPECT_TRUE(result.resolution.has_value());
  EXPECT_FALSE(result.difference.has_value());
  EXPECT_FALSE(result.is_stateful);
  EXPECT_TRUE(result.first_digest.has_value());
  EXPECT_EQ(result.work.delegates, 1U);
  EXPECT_FALSE(result.interrupted);
}

TEST_F(RunBenchTest, GraphModesAreMeasuredOnTheHostToo) {
  compute(testing::add_number(1));
  ask("graph,auto");
  const BenchResult result = run();
  EXPECT_THAT(names(result), ElementsAre("graph", "auto"));
  EXPECT_TRUE(result.modes[0].graphs.empty());
  EXPECT_FALSE(result.resolution.has_value());
}

TEST_F(RunBenchTest, RunsAreDividedAmongTheBlocks) {
  compute(testing::add_number(1));
  request_.runs = 47;
  ask("eager,threads:3");
  const BenchResult result = run();
  EXPECT_EQ(result.modes[0].samples.results.size(), 47U);
  EXPECT_EQ(result.modes[0].blocks.size(), 20U);
  EXPECT_EQ(result.modes[1].blocks.size(), 20U);
}

TEST_F(RunBenchTest, AllocationsAreCountedPerRun) {
  compute(testing::add_number(1));
  ask("eager");
  request_.workload.allocations = []() noexcept {
    static std::uint64_t asked = 0;
    return asked += 3;  // as if three came between two questions
  };
  EXPECT_DOUBLE_EQ(run().modes[0].allocations.value_or(0), 3);
}

/// Gives another result from its call `first` on; calls are counted over all methods.
FunctionBackend::Function wrong_from(int first,
                                     std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0)) {
  return [calls = std::move(calls), first](EnqueueArgs& args) {
    return testing::add_number((*calls)++ < first ? 1 : 2)(args);
  };
}

TEST_F(RunBenchTest, AWrongResultVoidsTheTable) {
  compute(wrong_from(25));
  ask("eager,again");
  request_.runs = 1000;
  const BenchResult result = run();
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_THAT(result.difference->reason, HasSubstr("of eager gave"));
  // Call 25 of two modes with four runs each before, which then take turns.
  EXPECT_GE(result.difference->run, 12U);
  EXPECT_LE(result.difference->run, 13U);
  for (const ModeResult& mode : result.modes) {
    EXPECT_FALSE(mode.ratio.has_value()) << "no ratios of a table that is void";
    EXPECT_LT(mode.samples.results.size(), 1000U) << "nothing is measured any more";
  }
}

TEST_F(RunBenchTest, AWrongResultOfAnyModeVoidsTheTable) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  compute(wrong_from(40, calls));
  for (const char* mode : {"threads:2", "streams:2", "depth:2"}) {
    *calls = 0;
    ask(mode);
    request_.runs = 1000;
    const BenchResult result = run();
    ASSERT_TRUE(result.difference.has_value()) << mode;
    EXPECT_EQ(result.difference->mode, mode);
  }
}

TEST_F(RunBenchTest, AWrongResultWhileWarmingUpCountsToo) {
  compute(wrong_from(1));
  EXPECT_EQ(run().difference->run, 1U);
}

TEST_F(RunBenchTest, TheFirstResultIsComparedWithWhatIsExpected) {
  compute(testing::add_number(1));
  ask("eager");
  const std::array<std::int64_t, 1> sizes{4};
  Tensor expected = *Tensor::empty(ScalarType::Float, sizes);
  for (int i = 0; i < 4; ++i) expected.data_as<float>()[i] = static_cast<float>(i + 1);
  request_.expected = Expected{.outputs = {expected}};
  EXPECT_TRUE(run().was_checked);
  EXPECT_FALSE(run().difference.has_value());
  expected.data_as<float>()[2] = 7;
  EXPECT_THAT(run().difference.value_or(Difference{}).reason, HasSubstr("not what is expected"));
}

TEST_F(RunBenchTest, RunsThatChangeAStateCompareWithThoseThatCameAsOften) {
  load(testing::state_program(), 1);
  request_.workload.inputs[0].tensor().data_as<float>()[0] = 2;
  const BenchResult result = run();
  EXPECT_TRUE(result.is_stateful);
  EXPECT_FALSE(result.difference.has_value());
  EXPECT_THAT(names(result), ElementsAre("eager", "again"));
}

TEST_F(RunBenchTest, ModesThatNeedAnOrderRefuseAMethodWithState) {
  load(testing::state_program(), 1);
  request_.workload.inputs[0].tensor().data_as<float>()[0] = 2;
  ask("eager,threads:2");
  const auto result = run_bench(request_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(result.error().message(), HasSubstr("threads:2"));
}

TEST_F(RunBenchTest, AStateThatChangesNothingIsNone) {
  load(testing::state_program(), 1);  // adds x
  request_.workload.inputs[0].tensor().data_as<float>()[0] = 0;
  EXPECT_FALSE(run().is_stateful);
}

/// Fails in the method that is loaded as number `failing`.
class FailingBackend final : public Backend {
 public:
  FailingBackend(int failing, std::shared_ptr<Backend> inner) : failing_{failing}, inner_{std::move(inner)} {}
  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                                          const LoadContext& context) const override {
    if (loaded_++ == failing_) return Error{ErrorCode::OutOfMemory, "too many"};
    return inner_->prepare(payload, context);
  }

 private:
  int failing_;
  std::shared_ptr<Backend> inner_;
  mutable std::atomic<int> loaded_{0};
};

TEST_F(RunBenchTest, AModeThatNobodyAskedForIsLeftOutWhereItFails) {
  const auto inner = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  ASSERT_TRUE(backends_.register_backend("F", std::make_shared<FailingBackend>(2, inner)).ok());
  const BenchResult result = run();  // 0 to learn about it, 1 eager
  EXPECT_THAT(names(result), ElementsAre("eager", "threads:4", "streams:4", "depth:4"));
  ASSERT_EQ(result.left_out.size(), 1U);
  EXPECT_EQ(result.left_out[0].name, "again");
  EXPECT_THAT(result.left_out[0].reason, HasSubstr("too many"));
}

TEST_F(RunBenchTest, AModeThatWasAskedForFails) {
  const auto inner = std::make_shared<FunctionBackend>(1, testing::add_number(1));
  ASSERT_TRUE(backends_.register_backend("F", std::make_shared<FailingBackend>(2, inner)).ok());
  ask("eager,again");
  const auto result = run_bench(request_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::OutOfMemory);
}

TEST_F(RunBenchTest, ARunThatFailsEndsIt) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  compute([calls](EnqueueArgs& args) -> Status {
    if ((*calls)++ == 30) return Error{ErrorCode::BackendFailed, "worn out"};
    return testing::add_number(1)(args);
  });
  ask("eager,again");
  request_.runs = 100;
  const auto result = run_bench(request_);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("worn out"));
}

TEST_F(RunBenchTest, RawNeedsCuda) {
  compute(testing::add_number(1));
  ask("raw");
  const auto result = run_bench(request_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::cli::bench
