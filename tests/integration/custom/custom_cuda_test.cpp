// The example's kernels on a GPU: what CUDA computes is what the host computes. Skips where there is no GPU;
// TANDEM_REQUIRE_DEVICES=cuda makes that a failure.
#include <tandem/cuda.h>
#include <tandem/custom_payload.h>
#include <tandem/method.h>
#include <tandem/program_builder.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

constexpr std::int64_t kSize = 1000;
constexpr DeviceId kGpu{DeviceType::Cuda, 0};

class CustomCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) {
      const char* required = std::getenv("TANDEM_REQUIRE_DEVICES");
      ASSERT_FALSE(required != nullptr && std::string{required}.find("cuda") != std::string::npos) << "no GPU";
      GTEST_SKIP() << "no GPU";
    }
    const auto built = chain();
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    files_ = *built;
    const auto program = Program::from_bytes(files_.pte);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    MethodOptions options;
    options.device = kGpu;
    options.instances = 2;
    const auto method = Method::load(*program, "forward", options);
    ASSERT_TRUE(method.ok()) << method.error().to_string();
    method_ = *method;
  }

  /// Three kernels in a row on the GPU, and one on the host.
  static Result<BuiltProgram> chain() {
    ProgramBuilder program;
    MethodBuilder& forward = program.method("forward");
    auto last = forward.tensor({kSize});
    forward.inputs({last});
    for (const char* library : {TANDEM_CUDA_KERNEL, TANDEM_CUDA_KERNEL, TANDEM_KERNEL, TANDEM_CUDA_KERNEL}) {
      const float gain = 3;
      TANDEM_TRY(const auto payload,
                 encode_custom_payload({.path = library, .blob = std::as_bytes(std::span{&gain, 1})}));
      const auto next = forward.tensor({kSize});
      forward.call(forward.delegate({.id = "CustomBackend", .payload = payload}), {last, next});
      last = next;
    }
    forward.outputs({last});
    return program.build();
  }

  static Value input(float number) {
    const std::array<std::int64_t, 1> sizes{kSize};
    const Tensor tensor = *Tensor::empty(ScalarType::Float, sizes);
    for (std::int64_t i = 0; i < kSize; ++i) tensor.data_as<float>()[i] = number - static_cast<float>(i);
    return tensor;
  }
  static void expect_chain_of(float number, const Value& output) {
    const auto* y = output.tensor().data_as<float>();
    for (std::int64_t i = 0; i < kSize; ++i) {
      float x = number - static_cast<float>(i);
      for (int k = 0; k < 4; ++k) x = 3 * x / (1 + std::fabs(x));
      ASSERT_NEAR(y[i], x, 1e-5F) << "element " << i << " of the input " << number;
    }
  }

  BuiltProgram files_;
  std::shared_ptr<Method> method_;
};

TEST_F(CustomCudaTest, RunsOnTheThreadsOwnStream) {
  for (int i = 0; i < 20; ++i) {
    const std::array inputs{input(static_cast<float>(i))};
    const auto outputs = method_->execute(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    expect_chain_of(static_cast<float>(i), outputs->front());
  }
}

TEST_F(CustomCudaTest, RunsOnAStreamOfTheCallers) {
  const auto stream = Stream::create(kGpu);
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  ExecuteOptions options;
  options.stream = stream->ref();
  for (int i = 0; i < 20; ++i) {
    const std::array inputs{input(static_cast<float>(i))};
    const auto outputs = method_->execute(inputs, options);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    expect_chain_of(static_cast<float>(i), outputs->front());
  }
}

TEST_F(CustomCudaTest, RunsFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) {
        const auto number = static_cast<float>(100 * t + i);
        const std::array inputs{input(number)};
        const auto outputs = method_->execute(inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
        expect_chain_of(number, outputs->front());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tandem
