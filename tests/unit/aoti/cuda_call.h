#pragma once

#include "backends/aoti/call_state.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/geometry.h"
#include "device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::aoti {

using Sizes = std::vector<std::int64_t>;

template <class Function>
Function* shim(const char* name) {
  const std::uintptr_t address = shim_table_cuda().find(name);
  EXPECT_NE(address, 0U) << name;
  return reinterpret_cast<Function*>(address);
}

/// A container's call, on the fake or on the first GPU.
class InCall {
 public:
  explicit InCall(const CudaFunctions& functions) : device_{*(*cuda_device(functions, 0))->for_container()} {
    state_.device = device_.get();
    scope_ = std::make_unique<CallScope>(state_);
    calls_ = std::make_unique<DeviceCalls>(*device_);
  }
  ~InCall() {
    calls_.reset();
    scope_.reset();
  }

  [[nodiscard]] AtenTensor& tensor(const Sizes& sizes, const Sizes& strides, const std::vector<float>& values = {},
                                   ScalarType dtype = ScalarType::Float) {
    AtenTensor& handle = state_.handles.take();
    handle.dtype = dtype;
    handle.device_type = kAtenCuda;
    handle.device_index = 0;
    handle.defined = true;
    EXPECT_EQ(set_geometry(handle, {static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data()}), nullptr);
    handle.storage_bytes = *reach_bytes(handle);
    handle.base = device_->allocate(handle.storage_bytes);
    if (!values.empty()) {
      EXPECT_TRUE(device().functions().upload(0, handle.base, std::as_bytes(std::span{values})).ok());
    }
    return handle;
  }
  [[nodiscard]] std::vector<float> read(const AtenTensor& tensor) {
    std::vector<float> values(tensor.storage_bytes / sizeof(float));
    EXPECT_TRUE(device_->read(values.data(), tensor.base, tensor.storage_bytes));
    return values;
  }
  [[nodiscard]] CudaAotiDevice& device() { return static_cast<CudaAotiDevice&>(*device_); }
  [[nodiscard]] CallState& state() { return state_; }

 private:
  std::shared_ptr<AotiDevice> device_;
  CallState state_{};
  std::unique_ptr<CallScope> scope_;
  std::unique_ptr<DeviceCalls> calls_;
};

/// Tests that need a GPU skip without one.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::cuda::device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

}  // namespace tandem::aoti
