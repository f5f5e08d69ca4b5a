// Views that no step makes: values at the place of another one that only readers name, as exporters write static views.
// The GPU is simulated.
#include "device/host/seeded_host.h"
#include "support/function_backend.h"
#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::KernelBackend;
using testing::MethodBuilder;
using testing::SimulatedGpu;
using testing::TestMethod;
using testing::to_floats;

constexpr std::int64_t kSize = 4;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

float* data_of(const TensorArg& tensor) { return static_cast<float*>(tensor.data); }

/// The last argument is the sum of the others, plus 1.
void sum(const std::vector<TensorArg>& args) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    float result = 1;
    for (std::size_t a = 0; a + 1 < args.size(); ++a) result += data_of(args[a])[i];
    data_of(args.back())[i] = result;
  }
}
/// Adds 10 to the first argument, in place; the second is what it was.
void bump(const std::vector<TensorArg>& args) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    data_of(args[1])[i] = data_of(args[0])[i];
    data_of(args[0])[i] += 10;
  }
}

enum class Where { Host, GpuSteps, GpuGraph, GpuBranches };

std::vector<float> all_of(float number) { return std::vector<float>(kSize, number); }
Value all(float number) { return floats({kSize}, all_of(number)); }

class Workshop {
 protected:
  explicit Workshop(Where where) : where_{where} {
    add("Sum", &sum, {});
    add("Bump", &bump, {AccessMode::Update, AccessMode::Write});
  }
  [[nodiscard]] bool on_gpu() const { return where_ != Where::Host; }

  void add(const std::string& name, KernelBackend::Kernel kernel, std::vector<AccessMode> accesses) {
    std::shared_ptr<Backend> backend;
    if (on_gpu()) {
      backend = std::make_shared<KernelBackend>(gpu, 1, std::move(kernel), std::move(accesses));
    } else {
      const auto call = [kernel](EnqueueArgs& args) -> Status {
        std::vector<TensorArg> tensors;
        for (const Argument* argument : args.arguments) tensors.push_back(argument->tensor);
        kernel(tensors);
        for (OutputResult& result : args.outputs) result = {};
        return {};
      };
      backend = std::make_shared<FunctionBackend>(1, call, std::move(accesses));
    }
    EXPECT_TRUE(b.backends.register_backend(name, std::move(backend)).ok());
  }
  std::int32_t vector_at(std::int64_t offset) { return b.tensor({kSize}, offset); }
  std::int32_t square_at(std::int64_t offset) { return b.tensor({2, 2}, offset); }

  [[nodiscard]] std::unique_ptr<TestMethod> make(StreamPolicy streams = StreamPolicy::PerThread) {
    MethodOptions options;
    options.device = on_gpu() ? kGpu : DeviceId{};
    options.streams = streams;
    options.graphs = where_ == Where::GpuBranches ? GraphPolicy::Branches
                     : where_ == Where::GpuGraph  ? GraphPolicy::On
                                                  : GraphPolicy::Off;
    return std::make_unique<TestMethod>(b, on_gpu() ? static_cast<device::Device&>(gpu) : seeded, options);
  }
  void load() {
    method = make();
    ASSERT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
  }
  [[nodiscard]] Error refused(StreamPolicy streams = StreamPolicy::PerThread) {
    const auto made = make(streams);
    EXPECT_FALSE(made->loaded().ok());
    return made->loaded().ok() ? Error{ErrorCode::Internal, "accepted"} : made->loaded().error();
  }
  [[nodiscard]] std::vector<float> run(const Value& x, std::size_t output = 0) const {
    const auto outputs = method->execute({x});
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? to_floats(outputs->at(output)) : std::vector<float>{};
  }
  /// y = x + `more`, often enough for graphs, each time from other memory of the caller's.
  void expect_adds(float more, std::size_t output = 0) const {
    for (int i = 0; i < 6; ++i) {
      const auto number = static_cast<float>(i);
      ASSERT_EQ(run(all(number), output), all_of(number + more)) << "run " << i;
    }
  }
  [[nodiscard]] std::uint32_t source_of(std::int32_t value) const {
    return method->schedule().source_of(static_cast<std::uint32_t>(value));
  }

  SimulatedGpu gpu{1};
  device::SeededHost seeded{1};
  MethodBuilder b;
  std::unique_ptr<TestMethod> method;

 private:
  Where where_;
};

class SilentViewsTest : public ::testing::TestWithParam<Where>, public Workshop {
 protected:
  SilentViewsTest() : Workshop{GetParam()} {}

  /// x + 3 if it goes the first way, else x + 2.
  void two_ways(bool is_first) {
    const auto x = vector_at(0);
    const auto a = vector_at(64);
    const auto view = square_at(64);
    const auto p = vector_at(128);
    const auto inner = square_at(128);  // of what only one way makes
    const auto y = vector_at(192);
    b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).jump_if_false(b.flag(is_first), 5);
    b.delegate("Sum", {view, p}).delegate("Sum", {inner, y}).jump_if_false(b.flag(false), 6).delegate("Sum", {view, y});
    load();
  }
  void expect_misfit(std::int32_t a, std::int32_t view) {
    const auto x = vector_at(0);
    const auto y = vector_at(128);
    b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {view, y});
    const Error error = refused();
    EXPECT_EQ(error.code(), ErrorCode::InvalidProgram) << error.to_string();
    EXPECT_THAT(error.found(), HasSubstr("value " + std::to_string(a)));
    EXPECT_EQ(error.site().value, view);
  }
};

std::string name_of(const ::testing::TestParamInfo<Where>& param) {
  constexpr std::array kNames{"Host", "GpuSteps", "GpuGraph", "GpuBranches"};
  return kNames[static_cast<std::size_t>(param.param)];
}

INSTANTIATE_TEST_SUITE_P(On, SilentViewsTest,
                         ::testing::Values(Where::Host, Where::GpuSteps, Where::GpuGraph, Where::GpuBranches),
                         &name_of);

TEST_P(SilentViewsTest, ReadWhatTheirSourceHolds) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {view, y});
  load();
  EXPECT_TRUE(method->schedule().states.empty());
  EXPECT_EQ(source_of(view), static_cast<std::uint32_t>(a));
  expect_adds(2);
}

TEST_P(SilentViewsTest, HaveTheLastOfSeveralValuesAtThePlaceAsSource) {
  const auto x = vector_at(64);  // the input's place, too, is used again
  const auto p = vector_at(0);
  const auto q = vector_at(64);
  const auto r = vector_at(0);
  const auto view = square_at(0);
  const auto y = vector_at(128);
  const auto z = vector_at(0);
  const auto late = square_at(0);
  const auto w = vector_at(64);
  b.inputs({x}).outputs({w, y});
  b.delegate("Sum", {x, p}).delegate("Sum", {p, q}).delegate("Sum", {q, r}).delegate("Sum", {view, y});
  b.delegate("Sum", {y, z}).delegate("Sum", {late, w});
  load();
  EXPECT_EQ(source_of(view), static_cast<std::uint32_t>(r));
  EXPECT_EQ(source_of(late), static_cast<std::uint32_t>(z));
  expect_adds(6);
  expect_adds(4, 1);
}

TEST_P(SilentViewsTest, KeepTheirSourceAlive) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto other = vector_at(72);  // meets the source while the view is still to be read
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {x, other}).delegate("Sum", {view, other, y});
  if (GetParam() == Where::GpuBranches) {
    load();  // which plans memory anew
    for (const float number : {1.F, 2.F}) EXPECT_EQ(run(all(number)), all_of(2 * number + 3));
  } else {
    const Error error = refused();
    EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
    EXPECT_EQ(error.site().instruction, 1);
  }
}

TEST_P(SilentViewsTest, OfOneValueAreAsManyAsThereAre) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto first = square_at(64);
  const auto second = b.tensor({4, 1}, 64);  // of the first, as the program had it
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {first, second, a, y});
  load();
  for (const float number : {1.F, 2.F, 3.F, 4.F}) EXPECT_EQ(run(all(number)), all_of(3 * number + 4));
}

TEST_P(SilentViewsTest, OfInputsFollowTheCallersMemory) {
  const auto x = vector_at(64);
  const auto view = square_at(64);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {view, y});
  load();
  EXPECT_TRUE(method->schedule().states.empty());
  expect_adds(1);
}

TEST_P(SilentViewsTest, OfOutputsFollowTheCallersMemory) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({a, y}).delegate("Sum", {x, a}).delegate("Sum", {view, y});
  load();
  expect_adds(1);
  expect_adds(2, 1);
  ExecuteOptions options;
  const Value bound = all(0);
  const std::array targets{bound.tensor(), Tensor{}};
  options.outputs = targets;
  const auto outputs = method->execute({all(5)}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ(to_floats(bound), all_of(6));
  EXPECT_EQ(to_floats(outputs->at(1)), all_of(7));
}

TEST_P(SilentViewsTest, AreOutputsWithTheirOwnSizes) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  b.inputs({x}).outputs({view, a}).delegate("Sum", {x, a});
  load();
  expect_adds(1);
  expect_adds(1, 1);
  const auto outputs = method->execute({all(1)});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs->at(0).tensor().rank(), 2U);
  EXPECT_NE(outputs->at(0).tensor().data(), outputs->at(1).tensor().data());
}

/// state = x + state + 1, read through a view of it.
TEST_P(SilentViewsTest, OfStatesReadWhatTheLastRunLeft) {
  const auto state = b.state({kSize}, 192, all_of(100));
  const auto x = vector_at(0);
  const auto view = b.state({2, 2}, 192, all_of(100));  // exporters repeat the initial bytes
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, view, y});
  b.kernel("aten::copy_", {state, y, b.flag(false), state});
  load();
  EXPECT_EQ(method->schedule().states.size(), 1U);
  EXPECT_EQ(run(all(1)), all_of(102));
  EXPECT_EQ(run(all(2)), all_of(105));
}

TEST_P(SilentViewsTest, MakeAStateOfWhatOnlyTheyRead) {
  const auto state = vector_at(192);  // neither a name nor initial bytes
  const auto x = vector_at(0);
  const auto view = square_at(192);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, view, y});
  b.kernel("aten::copy_", {state, y, b.flag(false), state});
  load();
  ASSERT_EQ(method->schedule().states.size(), 1U);
  EXPECT_EQ(method->schedule().states.front().value, static_cast<std::uint32_t>(state));
  EXPECT_EQ(run(all(1)), all_of(2));
  EXPECT_EQ(run(all(2)), all_of(5));
}

TEST_P(SilentViewsTest, AreNoStatesThatStandAlone) {
  const auto x = vector_at(0);
  const auto state = vector_at(192);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, state, y});
  load();
  EXPECT_EQ(source_of(state), static_cast<std::uint32_t>(state));
  EXPECT_EQ(method->schedule().states.size(), 1U);
  expect_adds(1);
}

TEST_P(SilentViewsTest, ChangeTheirSourceInPlace) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto before = vector_at(128);
  const auto y = vector_at(192);
  b.inputs({x}).outputs({y, before}).delegate("Sum", {x, a}).delegate("Bump", {view, before}).delegate("Sum", {a, y});
  load();
  expect_adds(12);
  expect_adds(1, 1);
}

TEST_P(SilentViewsTest, AreReadByOperatorsInListsAndByOtherViews) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto both = b.tensor({4, 2}, 128);
  const auto flat = b.tensor({kSize});
  const auto y = vector_at(192);
  const auto list = b.tensors({view, view});
  const auto zero = b.number(0);
  const auto four = b.number(4);
  b.inputs({x}).outputs({y, both}).delegate("Sum", {x, a}).kernel("aten::cat.out", {list, zero, both, both});
  b.kernel("executorch_prim::et_view.default", {view, b.numbers({four}), flat}).delegate("Sum", {flat, y});
  load();
  expect_adds(2);
  EXPECT_EQ(run(all(1), 1), std::vector<float>(8, 2));
}

TEST_P(SilentViewsTest, AreFoundOnOneWayThroughAMethod) {
  two_ways(true);
  expect_adds(3);
}

TEST_P(SilentViewsTest, AreFoundOnTheOtherWayThroughAMethod) {
  two_ways(false);
  expect_adds(2);
}

TEST_P(SilentViewsTest, MayNotDependOnTheWay) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto c = vector_at(64);
  const auto view = square_at(64);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).jump_if_false(b.flag(true), 3);
  b.delegate("Sum", {x, a}).jump_if_false(b.flag(false), 4).delegate("Sum", {x, c}).delegate("Sum", {view, y});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.site().instruction, 4);
  EXPECT_EQ(error.site().value, view);
}

TEST_P(SilentViewsTest, MayNotHaveTwoSources) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto p = vector_at(128);
  const auto c = vector_at(64);
  const auto y = vector_at(192);
  b.inputs({x}).outputs({y});
  b.delegate("Sum", {x, a}).delegate("Sum", {view, p}).delegate("Sum", {p, c}).delegate("Sum", {view, y});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.site().instruction, 3);
}

TEST_P(SilentViewsTest, HaveTheDtypeOfTheirSource) {
  const auto a = vector_at(64);
  expect_misfit(a, b.tensor({kSize}, 64, false, ScalarType::Int));
}

TEST_P(SilentViewsTest, AreNotLargerThanTheirSource) {
  const auto a = vector_at(64);
  expect_misfit(a, b.tensor({kSize + 1}, 64));
}

TEST_P(SilentViewsTest, AreNotOfWhatIsDynamic) {
  const auto a = b.tensor({kSize}, 64, /*dynamic=*/true);
  expect_misfit(a, square_at(64));
}

TEST_P(SilentViewsTest, CannotHaveASourceThatAStepMoves) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto moved = vector_at(128);
  const auto view = square_at(128);
  const auto y = vector_at(192);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).move(a, moved).delegate("Sum", {view, y});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_EQ(error.site().value, view);
}

TEST_P(SilentViewsTest, AreNotSoughtWithoutEnd) {
  constexpr std::int64_t kCount = 2100;
  const auto x = vector_at(0);
  std::vector<std::int32_t> all_arguments;
  for (std::int64_t i = 0; i < kCount; ++i) all_arguments.push_back(b.tensor({1}, 64 + 4 * i));
  all_arguments.push_back(b.tensor({1}));
  b.inputs({x}).outputs({}).delegate("Sum", all_arguments);
  for (std::uint32_t i = 0; i < kCount; ++i) b.jump_if_false(b.flag(true), i + 2);
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_THAT(error.message(), HasSubstr("views"));
}

TEST_P(SilentViewsTest, AreSeenByTheOrderCheck) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto y = vector_at(128);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {view, y});
  const Error error = refused(StreamPolicy::PerDelegate);
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
}

/// Each branch reads its own value through a view; all places are new.
TEST_P(SilentViewsTest, MayBeInBranches) {
  const auto x = vector_at(0);
  std::vector<std::int32_t> ends;
  b.inputs({x});
  for (int i = 0; i < 4; ++i) {
    const auto a = vector_at(64);  // one after the other, the program thought
    const auto view = square_at(64);
    ends.push_back(vector_at(128 + 64 * i));
    b.delegate("Sum", {x, a}).delegate("Sum", {view, ends.back()});
  }
  ends.push_back(vector_at(512));
  b.outputs({ends.back()}).delegate("Sum", ends);
  load();
  for (int i = 0; i < 6; ++i) {
    const auto number = static_cast<float>(i);
    ASSERT_EQ(run(all(number)), all_of(4 * number + 9));
  }
}

class SilentViewsInGraphsTest : public ::testing::Test, public Workshop {
 protected:
  SilentViewsInGraphsTest() : Workshop{Where::GpuGraph} {}
};

TEST_F(SilentViewsInGraphsTest, LiveOnTheDeviceAndDivideNoGraph) {
  const auto x = vector_at(0);
  const auto a = vector_at(64);
  const auto view = square_at(64);
  const auto c = vector_at(128);
  const auto again = square_at(128);
  const auto y = vector_at(192);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {view, c}).delegate("Sum", {again, y});
  load();
  EXPECT_EQ(method->schedule().values[static_cast<std::size_t>(view)].device, kGpu);
  EXPECT_EQ(method->schedule().regions.size(), 1U);
  EXPECT_TRUE(method->is_fully_async());
  expect_adds(3);
  ASSERT_EQ(method->graphs().size(), 1U);
  EXPECT_TRUE(method->graphs().front().in_use) << method->graphs().front().refusal;
  EXPECT_EQ(method->graphs().front().nodes, 3U);
  gpu.reset_counts();
  EXPECT_EQ(run(all(1)), all_of(4));
  EXPECT_EQ(gpu.counts().copies, 2);  // in and out
}

/// The copy of the host's view goes to the front, that of its source, which the host also wants, to the end.
TEST_F(SilentViewsInGraphsTest, OfTheHostsValuesAreCopiedLikeThem) {
  const auto x = vector_at(64);
  const auto view = square_at(64);
  const auto dx = vector_at(128);
  const auto a = vector_at(192);
  const auto y = vector_at(256);
  b.inputs({x}).outputs({y}).delegate("Sum", {x, a}).delegate("Sum", {view, a, dx}).delegate("Sum", {dx, y});
  load();
  EXPECT_EQ(method->schedule().regions.size(), 1U);
  for (const float number : {1.F, 2.F, 3.F, 4.F}) EXPECT_EQ(run(all(number)), all_of(2 * number + 3));
}

}  // namespace
}  // namespace tandem
