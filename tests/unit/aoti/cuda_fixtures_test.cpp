#include "backends/aoti/cuda_functions.h"
#include "device/cuda/cuda_device.h"
#include "device/host/host_device.h"
#include "format/pte/pte.h"
#include "support/cuda_program.h"
#include "support/fake_cuda.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// Every delegate of the programs that ExecuTorch's exporter made for CUDA, with their recorded cases. The folders are
/// below the environment's TANDEM_CUDA_FIXTURES, at any depth; without it these tests are skipped.
namespace tandem::aoti {
namespace {

using testing::CudaMethod;
using testing::FakeCuda;

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> found;
  const char* root = std::getenv("TANDEM_CUDA_FIXTURES");
  if (root == nullptr) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{root}) {
    if (entry.path().filename() == "program.pte") found.push_back(entry.path().parent_path());
  }
  std::ranges::sort(found);
  return found;
}

/// A .npy of version 1, little-endian, C order.
struct Array {
  std::vector<std::int64_t> sizes{};
  std::vector<std::byte> bytes{};
  bool is_float = false;
};

Array read_array(const std::filesystem::path& folder, const nlohmann::json& description) {
  Array array;
  if (description.at("kind") != "tensor") return array;
  array.sizes = description.at("shape").get<std::vector<std::int64_t>>();
  array.is_float = description.at("dtype") == "float32";
  std::ifstream file{folder / description.at("file").get<std::string>(), std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const std::size_t head =
      10 + static_cast<unsigned char>(text.at(8)) + (std::size_t{static_cast<unsigned char>(text.at(9))} << 8);
  array.bytes.resize(text.size() - head);
  std::memcpy(array.bytes.data(), text.data() + head, array.bytes.size());
  return array;
}

/// The largest excess over the tolerance; 0 if there is none.
double excess(const std::vector<std::byte>& found, const Array& expected, double rtol, double atol) {
  if (found.size() != expected.bytes.size()) return HUGE_VAL;
  if (!expected.is_float) return found == expected.bytes ? 0 : HUGE_VAL;
  double worst = 0;
  for (std::size_t at = 0; at < found.size(); at += sizeof(float)) {
    float got = 0;
    float want = 0;
    std::memcpy(&got, found.data() + at, sizeof got);
    std::memcpy(&want, expected.bytes.data() + at, sizeof want);
    const double difference = std::fabs(static_cast<double>(got) - static_cast<double>(want));
    const double over = difference - (atol + rtol * std::fabs(static_cast<double>(want)));
    if (!(over <= worst)) worst = std::isnan(over) ? HUGE_VAL : over;
  }
  return worst;
}

struct Case {
  std::vector<std::vector<std::byte>> inputs{};
  std::vector<std::vector<std::int64_t>> sizes{};
  std::vector<Array> outputs{};
};

Case read_case(const std::filesystem::path& folder, const nlohmann::json& description) {
  Case read;
  for (const auto& input : description.at("inputs")) {
    Array array = read_array(folder, input);
    read.inputs.push_back(std::move(array.bytes));
    read.sizes.push_back(std::move(array.sizes));
  }
  for (const auto& output : description.at("outputs")) read.outputs.push_back(read_array(folder, output));
  return read;
}

/// Runs every case of every method; `compare` sees each output. Returns the number of runs.
template <class Compare>
int replay(const std::filesystem::path& folder, const CudaFunctions& functions, device::Stream& stream,
           Compare&& compare) {
  const auto program = testing::load_program(folder);
  EXPECT_TRUE(program.ok());
  std::ifstream file{folder / "meta.json"};
  const nlohmann::json meta = nlohmann::json::parse(file);
  int runs = 0;
  if (meta.contains("shared_buffers")) return runs;  // delegates by themselves have buffers of their own
  for (std::size_t m = 0; program.ok() && m < (*program)->file().methods.size(); ++m) {
    std::unique_ptr<CudaMethod> method;
    for (const auto& description : meta.at("methods").at(std::string{(*program)->file().methods[m].name}).at("cases")) {
      if (method == nullptr || description.value("reload", false)) {
        method = std::make_unique<CudaMethod>(functions, stream, *program, m);
      }
      if (!method->status().ok()) {
        ADD_FAILURE() << folder << ": " << method->status().error().to_string();
        break;
      }
      const Case one = read_case(folder, description);
      std::vector<std::vector<std::byte>> outputs;
      const Status ran = method->run(one.inputs, one.sizes, outputs);
      if (!ran.ok() && ran.error().code() == ErrorCode::NotSupported) break;  // has other operators
      if (!ran.ok()) {
        ADD_FAILURE() << folder << ": " << ran.error().to_string();
        break;
      }
      ++runs;
      for (std::size_t i = 0; i < one.outputs.size(); ++i) {
        compare(outputs.at(i), one.outputs[i], description.at("rtol").get<double>(),
                description.at("atol").get<double>());
      }
    }
  }
  return runs;
}

TEST(CudaFixtures, GiveTheRecordedOutputs) {
  if (device::cuda::device_count() == 0) GTEST_SKIP() << "no CUDA device";
  if (folders().empty()) GTEST_SKIP() << "TANDEM_CUDA_FIXTURES names no programs";
  device::cuda::CudaDevice* device = *device::cuda::find_device(0);
  const auto stream = device->make_stream();
  ASSERT_TRUE(stream.ok());
  for (const auto& folder : folders()) {
    SCOPED_TRACE(folder.string());
    const int runs = replay(folder, cuda_functions(), **stream,
                            [](const std::vector<std::byte>& found, const Array& expected, double rtol, double atol) {
                              EXPECT_EQ(excess(found, expected, rtol, atol), 0);
                            });
    std::printf("%s: %d runs\n", folder.c_str(), runs);
  }
}

/// Kernels do nothing here, but everything else of the libraries runs.
TEST(CudaFixtures, LoadAndRunWithoutAGpu) {
  if (folders().empty()) GTEST_SKIP() << "TANDEM_CUDA_FIXTURES names no programs";
  if (__builtin_cpu_supports("avx512f") == 0) GTEST_SKIP() << "the libraries' host code needs AVX-512";
  FakeCuda& fake = FakeCuda::instance();
  for (const auto& folder : folders()) {
    SCOPED_TRACE(folder.string());
    fake.reset();
    const int runs = replay(folder, FakeCuda::functions(), device::HostDevice::instance().thread_stream(),
                            [](const std::vector<std::byte>& found, const Array& expected, double, double) {
                              EXPECT_EQ(found.size(), expected.bytes.size());
                            });
    std::printf("%s: %d runs, %d launches, %d modules\n", folder.c_str(), runs, fake.count("cuLaunchKernel"),
                fake.count("cuModuleLoadData"));
    EXPECT_TRUE(fake.modules.empty());
    EXPECT_TRUE(fake.blocks.empty());
    EXPECT_TRUE(fake.events.empty());
    EXPECT_EQ(fake.streams.count(nullptr), 0U);
  }
}

}  // namespace
}  // namespace tandem::aoti
