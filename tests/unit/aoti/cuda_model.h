#pragma once

#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_backend.h"
#include "delegate_model.h"
#include "library_files.h"
#include "support/fake_cuda.h"

#include <tandem/recorder.h>

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem::aoti {

inline constexpr const char* kWeightsKey = "weights_blob";

/// A delegate for CUDA over the CUDA that is not there.
class CudaModel final : public DelegateModel {
 public:
  explicit CudaModel(const std::string& library) : code_{library_bytes(library)} {
    library_key_ = library_key(code_);
    blobs_.add(library_key_, code_);
    payload_ = library_key_ + "\n" + kWeightsKey;
  }
  CudaModel& tensor(std::vector<std::int64_t> sizes, bool dynamic = false, ScalarType dtype = ScalarType::Float) {
    arguments_.emplace_back().make_tensor(dtype, std::move(sizes));
    arguments_.back().dynamic = dynamic;
    return *this;
  }
  CudaModel& number() {
    arguments_.emplace_back().argument.kind = Argument::Kind::Int;
    return *this;
  }
  CudaModel& blob(const std::string& key, const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span{values});
    blobs_.add(key, {bytes.begin(), bytes.end()});
    return *this;
  }
  CudaModel& payload(std::string bytes) {
    payload_ = std::move(bytes);
    return *this;
  }
  [[nodiscard]] const std::string& code_key() const { return library_key_; }

  Result<std::unique_ptr<Delegate>> prepare_on(int device) {
    device_ = device;
    return prepare();
  }
  Error refusal_on(const CudaFunctions& functions) {
    functions_ = &functions;
    return refusal();
  }

  std::vector<CompileSpec> compile_specs{};
  const BackendOptions* options = nullptr;  ///< Of the load.
  std::shared_ptr<Backend> backend{};       ///< Null: a new one for each load.

 private:
  Result<std::unique_ptr<Delegate>> load(std::span<const std::byte> payload, LoadContext& context) override {
    context.backend_id = "CudaBackend";
    context.device = {DeviceType::Cuda, static_cast<std::int16_t>(device_)};
    context.compile_specs = compile_specs;
    context.options = options;
    return (backend != nullptr ? backend : make_cuda_backend(*functions_))->prepare(payload, context);
  }

  std::vector<std::byte> code_;
  std::string library_key_;
  int device_ = 0;
  const CudaFunctions* functions_ = &testing::FakeCuda::functions();
};

/// Fails where something is left behind, or where something went to the legacy stream.
class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    // What belongs to the process is made before anything is counted.
    ASSERT_TRUE(cuda_device(testing::FakeCuda::functions(), 0).ok());
    fake_.reset();
    blocks_ = fake_.blocks.size();
  }
  /// Nothing that a delegate had is left.
  void expect_nothing_left() {
    EXPECT_EQ(fake_.blocks.size(), blocks_);
    EXPECT_TRUE(fake_.modules.empty());
    EXPECT_TRUE(fake_.events.empty());
    EXPECT_EQ(fake_.entered, 0);
    EXPECT_TRUE(mappings(kMapped).empty());
  }
  void TearDown() override {
    expect_nothing_left();
    EXPECT_EQ(fake_.streams.count(nullptr), 0U) << "something went to the legacy stream";
  }

  testing::FakeCuda& fake_ = testing::FakeCuda::instance();
  std::size_t blocks_ = 0;
};

/// Counts what it is given.
struct CountingRecorder final : Recorder {
  Status kernel(const KernelLaunch& launch) override {
    functions.push_back(launch.function);
    return fails ? Status{Error{ErrorCode::OutOfMemory, "no node"}} : Status{};
  }
  Status copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) override {
    ++copies;
    return {};
  }
  void keep(std::shared_ptr<const void> memory) override { kept.push_back(std::move(memory)); }

  std::vector<void*> functions{};
  int copies = 0;
  std::vector<std::shared_ptr<const void>> kept{};
  bool fails = false;
};

}  // namespace tandem::aoti
