#pragma once

#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A method in the making, and the simulated GPU that it runs on. Tensors are kSize floats.
class GpuWorkshop {
 public:
  static constexpr std::int64_t kSize = 4;
  static constexpr DeviceId kGpu{DeviceType::Cuda, 0};

  /// A backend whose delegates have one output.
  KernelBackend& add(const std::string& name, KernelBackend::Kernel kernel, std::vector<AccessMode> accesses = {}) {
    auto backend = std::make_shared<KernelBackend>(gpu, 1, std::move(kernel), std::move(accesses));
    KernelBackend& added = *backend;
    EXPECT_TRUE(b.backends.register_backend(name, std::move(backend)).ok());
    return added;
  }
  /// "Sum", of any number of inputs, whose order shows; and "Bump", which also changes its input in place.
  void add_sum_and_bump() {
    const auto data = [](const TensorArg& tensor) { return static_cast<float*>(tensor.data); };
    add("Sum", [data](const std::vector<TensorArg>& args) {
      for (std::int64_t i = 0; i < kSize; ++i) {
        float sum = 1;
        for (std::size_t a = 0; a + 1 < args.size(); ++a) sum = 0.5F * sum + data(args[a])[i];
        data(args.back())[i] = sum;
      }
    });
    add("Bump",
        [data](const std::vector<TensorArg>& args) {
          for (std::int64_t i = 0; i < kSize; ++i) {
            data(args[1])[i] = 3 - data(args[0])[i];
            data(args[0])[i] = 0.5F * data(args[0])[i] + 1;
          }
        },
        {AccessMode::Update, AccessMode::Write});
  }
  /// A value that the exporter put on the GPU, at an offset that others may use at other times.
  std::int32_t gpu_tensor(std::int64_t offset = MethodBuilder::kUnplanned) {
    const std::int32_t value = b.tensor({kSize}, offset, false, ScalarType::Float, 1);
    std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(value)]).device = kGpu;
    return value;
  }
  std::unique_ptr<TestMethod> load(MethodOptions options = {}) {
    options.device = kGpu;
    auto method = std::make_unique<TestMethod>(b, gpu, options);
    EXPECT_TRUE(method->loaded().ok()) << method->loaded().error().to_string();
    return method;
  }
  std::unique_ptr<TestMethod> load(GraphPolicy graphs) {
    MethodOptions options;
    options.graphs = graphs;
    return load(options);
  }
  /// Memory of the device, all of it `number`.
  Tensor on_gpu(float number) {
    auto memory = std::make_shared<device::Buffer>(*gpu.allocate(kSize * sizeof(float)));
    std::fill_n(reinterpret_cast<float*>(memory->data()), kSize, number);
    return *Tensor::from_blob(
        memory->data(), ScalarType::Float, std::array{kSize}, {}, [memory] {}, kGpu);
  }
  static void write(const Tensor& tensor, float number) {
    std::fill_n(static_cast<float*>(const_cast<void*>(tensor.data())), kSize, number);
  }
  static float first_of(const Value& value) { return *static_cast<const float*>(value.tensor().data()); }

  SimulatedGpu gpu{1};
  MethodBuilder b;
};

}  // namespace tandem::testing
