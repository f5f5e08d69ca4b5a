#include "runtime/work_count.h"

#include "support/function_backend.h"
#include "support/method_builder.h"
#include "support/simulated_gpu.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tandem::runtime {
namespace {

using testing::MethodBuilder;

constexpr std::int64_t kSize = 4;
constexpr std::uint64_t kBytes = kSize * sizeof(float);
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

class WorkCountTest : public ::testing::Test {
 protected:
  WorkCountTest() {
    EXPECT_TRUE(
        b.backends.register_backend("Host", std::make_shared<testing::FunctionBackend>(1, testing::add_number(1)))
            .ok());
    EXPECT_TRUE(
        b.backends.register_backend("Gpu", std::make_shared<testing::KernelBackend>(gpu, 1, testing::add_on_gpu(1)))
            .ok());
  }

  std::int32_t gpu_tensor(std::int64_t offset) {
    const std::int32_t value = b.tensor({kSize}, offset);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  MethodBuilder& copy(const std::string& direction, std::int32_t from, std::int32_t to) {
    return b.kernel("et_copy::_" + direction + "_copy.out", {from, to, to});
  }
  WorkCount count(DeviceId device) {
    LowerInput input = b.lower_input();
    input.device = device;
    const auto lowered = lower(input);
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return lowered.ok() ? count_work(**lowered) : WorkCount{};
  }

  testing::SimulatedGpu gpu{1};
  MethodBuilder b;
};

TEST_F(WorkCountTest, CountsWhatStepsAre) {
  const auto x = b.tensor({kSize}, 0);
  const auto a = b.tensor({kSize}, 64);
  const auto y = b.tensor({kSize}, 128);
  b.inputs({x}).outputs({y}).delegate("Host", {x, a}).kernel("aten::neg.out", {a, y, y}).free(a);
  const WorkCount work = count({});
  EXPECT_EQ(work.steps, 2U);
  EXPECT_EQ(work.delegates, 1U);
  EXPECT_EQ(work.operators, 1U);
  EXPECT_EQ(work.to_device.count + work.to_host.count + work.on_device.count, 0U);
  EXPECT_EQ(work.host_waits, 0U);
}

TEST_F(WorkCountTest, CountsCopiesByTheirDirection) {
  const auto x = b.tensor({kSize});
  const auto dx = gpu_tensor(0);
  const auto dy = gpu_tensor(64);
  const auto y = b.tensor({kSize});
  const auto z = b.tensor({kSize});
  b.inputs({x}).outputs({y, z});
  copy("h2d", x, dx).delegate("Gpu", {dx, dy});
  copy("d2h", dy, y);
  copy("d2h", dy, z);
  const WorkCount work = count(kGpu);
  EXPECT_EQ(work.delegates, 1U);
  EXPECT_EQ(work.to_device.count, 1U);
  EXPECT_EQ(work.to_device.bytes, kBytes);
  EXPECT_EQ(work.to_host.count, 2U);
  EXPECT_EQ(work.to_host.bytes, 2 * kBytes);
  EXPECT_EQ(work.on_device.count, 0U);
}

TEST_F(WorkCountTest, ACopyThatStaysOnTheDeviceIsOne) {
  const auto x = b.tensor({kSize});
  const auto dx = gpu_tensor(0);
  const auto again = gpu_tensor(64);
  const auto dy = gpu_tensor(128);
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y});
  copy("h2d", x, dx);
  copy("h2d", dx, again);  // nothing but copies and the device touch it
  b.delegate("Gpu", {again, dy});
  copy("d2h", dy, y);
  const WorkCount work = count(kGpu);
  EXPECT_EQ(work.on_device.count, 1U);
  EXPECT_EQ(work.on_device.bytes, kBytes);
}

TEST_F(WorkCountTest, TheHostWaitsBeforeItsStepsBehindDeviceWork) {
  const auto x = b.tensor({kSize});
  const auto a = b.tensor({kSize});
  const auto c = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("Gpu", {x, a}).kernel("aten::neg.out", {a, c, c}).delegate("Gpu", {c, y});
  const WorkCount work = count(kGpu);
  EXPECT_EQ(work.host_waits, 1U);
  EXPECT_EQ(work.operators, 1U);
  EXPECT_EQ(work.to_device.count, 2U);
  EXPECT_EQ(work.to_host.count, 2U);
}

}  // namespace
}  // namespace tandem::runtime
