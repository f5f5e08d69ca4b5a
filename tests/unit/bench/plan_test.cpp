#include "bench/suite/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace tandem::suite {
namespace {

Plan example() {
  KernelSpec spec;
  spec.call.op = Op::MatMul;
  spec.call.rows = 0;
  spec.call.columns = 7;
  spec.in[0] = argument(0);
  spec.in[1] = weight(2);
  spec.in[2] = scratch(3);
  spec.out = argument(1);
  return {
      .kernels = {spec}, .weights = {1, 2, 3}, .accesses = {AccessMode::Read, AccessMode::Write}, .scratch_floats = 5};
}

TEST(PlanTest, IsReadAsItWasWritten) {
  const auto read = read_plan(write_plan(example()));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->kernels.size(), 1U);
  EXPECT_EQ(read->kernels[0].call.op, Op::MatMul);
  EXPECT_EQ(read->kernels[0].call.columns, 7);
  EXPECT_EQ(read->kernels[0].in[1].at, 2U);
  EXPECT_EQ(read->weights, example().weights);
  EXPECT_EQ(read->accesses, example().accesses);
  EXPECT_EQ(read->scratch_floats, 5U);
}

TEST(PlanTest, RefusesEveryOtherLength) {
  std::vector<std::byte> bytes = write_plan(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_plan({bytes.data(), size}).ok()) << size;
  }
  bytes.push_back(std::byte{});
  EXPECT_EQ(read_plan(bytes).error().code(), ErrorCode::InvalidProgram);
}

TEST(PlanTest, RefusesCountsBeyondTheBytes) {
  std::vector<std::byte> bytes = write_plan(example());
  const std::uint64_t huge = UINT64_MAX / 8;
  std::memcpy(bytes.data(), &huge, sizeof huge);
  EXPECT_FALSE(read_plan(bytes).ok());
}

TEST(PlanTest, PlacesBecomeAddresses) {
  const Plan plan = example();
  std::array<float, 8> scratch_memory{};
  std::array<float, 8> x{};
  std::array<float, 8> y{};
  std::array<void*, 2> arguments{x.data(), y.data()};
  const KernelCall call =
      resolve(plan.kernels[0],
              {.arguments = arguments, .weights = plan.weights.data(), .scratch = scratch_memory.data(), .rows = 4});
  EXPECT_EQ(call.in[0], x.data());
  EXPECT_EQ(call.in[1], plan.weights.data() + 2);
  EXPECT_EQ(call.in[2], scratch_memory.data() + 3);
  EXPECT_EQ(call.in[3], nullptr);
  EXPECT_EQ(call.out, y.data());
  EXPECT_EQ(call.rows, 4) << "of the first argument";
}

}  // namespace
}  // namespace tandem::suite
