// Sizes that a program was not made for are refused before anything runs, whatever the library would have done.
#include "fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <link.h>
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace tandem {
namespace {

using testing::Fixture;
using ::testing::HasSubstr;

Value ones(std::vector<std::int64_t> sizes) {
  auto tensor = Tensor::empty(ScalarType::Float, sizes);
  EXPECT_TRUE(tensor.ok());
  std::fill_n(tensor->data_as<float>(), tensor->numel(), 1.0F);
  return *tensor;
}

/// One input of a recorded program: sizes that it takes at most, and which of its axes the exporter fixed.
struct Subject {
  const char* fixture;
  std::vector<std::int64_t> bounds;
  std::vector<bool> is_fixed;
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.fixture; }

class SizesTest : public ::testing::TestWithParam<Subject> {
 protected:
  SizesTest() : fixture{GetParam().fixture}, module{fixture.program(), fixture.data_files()} {}
  Result<std::vector<Value>> run(const std::vector<std::int64_t>& sizes) { return module.forward(ones(sizes)); }

  Fixture fixture;
  Module module;
};

TEST_P(SizesTest, EveryAxisTakesWhatTheExporterSaid) {
  const std::vector<std::int64_t>& bounds = GetParam().bounds;
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(run(bounds).ok());
  for (std::size_t axis = 0; axis < bounds.size(); ++axis) {
    for (const std::int64_t size : {bounds[axis] + 1, bounds[axis] - 1, std::int64_t{1}, std::int64_t{0}}) {
      std::vector<std::int64_t> sizes = bounds;
      sizes[axis] = size;
      const auto ran = run(sizes);
      const bool is_right = size > 0 && (GetParam().is_fixed[axis] ? size == bounds[axis] : size <= bounds[axis]);
      EXPECT_EQ(ran.ok(), is_right) << "axis " << axis << ", size " << size;
      if (ran.ok()) continue;
      EXPECT_EQ(ran.error().code(), ErrorCode::InvalidArgument);
      EXPECT_EQ(ran.error().site().method, "forward");
      EXPECT_EQ(ran.error().site().argument, 0);
      EXPECT_THAT(ran.error().found(), HasSubstr(std::to_string(size)));
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  fixture.expect_outputs("forward", 0, *module.forward(fixture.inputs("forward", 0)));
}

INSTANTIATE_TEST_SUITE_P(Recorded, SizesTest,
                         ::testing::Values(Subject{"digits", {360, 1, 8, 8}, {false, true, true, true}},
                                           Subject{"dynamic", {8, 32, 16}, {false, false, true}},
                                           Subject{"mlp", {8, 16}, {true, true}}),
                         [](const auto& parameter) { return std::string{parameter.param.fixture}; });

TEST(SizesTest, MetaTellsThemOnceTheMethodIsLoaded) {
  const Fixture fixture{"digits"};
  Module module{fixture.program(), fixture.data_files()};
  EXPECT_TRUE(module.method_meta("forward")->inputs[0].tensor.bounds.empty());
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok());
  const std::vector<SizeBounds>& bounds = (*method)->meta().inputs[0].tensor.bounds;
  ASSERT_EQ(bounds.size(), 4U);
  EXPECT_EQ(bounds[0].min, 1);
  EXPECT_EQ(bounds[0].max, 360);
  EXPECT_TRUE(bounds[0].zero_unknown);
  EXPECT_EQ(bounds[3].min, 8);
  EXPECT_EQ(bounds[3].max, 8);
}

TEST(SizesTest, RowsOfZeroAreTakenWhereTheCallerSaysSo) {
  const Fixture fixture{"empty"};
  const std::size_t last = fixture.case_count("forward") - 1;  // no rows
  Module cautious{fixture.program(), fixture.data_files()};
  const auto refused = cautious.forward(fixture.inputs("forward", last));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("axis 0 is below its lower bound"));
  EXPECT_THAT(refused.error().expected(), HasSubstr("MethodOptions::input_bounds"));
  MethodOptions options;
  options.input_bounds = {{.input = 1, .axis = 0, .min = 0}};
  Module told{fixture.program(), fixture.data_files(), options};
  for (std::size_t i = 0; i <= last; ++i) {
    const auto ran = told.forward(fixture.inputs("forward", i));
    ASSERT_TRUE(ran.ok()) << ran.error().to_string();
    fixture.expect_outputs("forward", i, *ran);
  }
}

TEST(SizesTest, CallersNarrowWhatAnInputTakes) {
  const Fixture fixture{"digits"};
  MethodOptions options;
  options.input_bounds = {{.input = 0, .axis = 0, .min = 4, .max = 8}};
  Module module{fixture.program(), fixture.data_files(), options};
  EXPECT_FALSE(module.forward(ones({3, 1, 8, 8})).ok());
  EXPECT_TRUE(module.forward(ones({4, 1, 8, 8})).ok());
  EXPECT_FALSE(module.forward(ones({9, 1, 8, 8})).ok());
  options.input_bounds[0].axis = 4;
  Module wrong{fixture.program(), fixture.data_files(), options};
  const Status loaded = wrong.load_forward();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().site().field, "bounds of input 0, axis 4");
}

/// Libraries that the process has opened so far.
unsigned long long opened() {
  unsigned long long adds = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &adds);
  return adds;
}

TEST(SizesTest, OnlyProgramsOfVaryingSizePayForThem) {
  const auto opened_by = [](const char* name) {
    const Fixture fixture{name};
    Module module{fixture.program(), fixture.data_files()};
    const auto before = opened();
    EXPECT_TRUE(module.load_forward().ok());
    return opened() - before;
  };
  EXPECT_EQ(opened_by("split25"), 13U);
  EXPECT_EQ(opened_by("digits"), 2 * 3U);
}

}  // namespace
}  // namespace tandem
