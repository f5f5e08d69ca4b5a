#pragma once

#include <tandem/device.h>
#include <tandem/result.h>
#include <tandem/stream_ref.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

/// What the bench needs of a GPU beside Tandem. cuda/ has it for CUDA; no_cuda.cpp stands in where the build has none.
namespace tandem::cli::bench {

class ResultCheck;
class Runner;
struct Mode;
struct Workload;

struct GpuFacts {
  std::string name{};    ///< "NVIDIA H200".
  std::string driver{};  ///< "CUDA 13.0, 580.159.04".
};
/// Nothing for a device that is none of CUDA's.
[[nodiscard]] std::optional<GpuFacts> gpu_facts(DeviceId device);

/// Two points of a stream whose distance the GPU's clock tells.
class GpuTimer {
 public:
  virtual ~GpuTimer() = default;
  /// Errors: DeviceFault.
  [[nodiscard]] virtual Status begin(StreamRef stream) = 0;
  [[nodiscard]] virtual Status end(StreamRef stream) = 0;
  /// Blocks until the end has passed. Errors: DeviceFault.
  [[nodiscard]] virtual Result<std::chrono::nanoseconds> elapsed() = 0;
};
/// Null for a device that is none of CUDA's. Errors: OutOfMemory, DeviceFault.
[[nodiscard]] Result<std::unique_ptr<GpuTimer>> make_gpu_timer(DeviceId device);

using DriverCalls = std::map<std::string, std::uint64_t>;  ///< By name, "cuLaunchKernel".
/// Calls of CUDA's driver while `work` runs, whoever makes them: Tandem, CUDA's runtime, a delegate's library. Nothing
/// where CUPTI, which counts them, is not here, or somebody else uses it; `work` has run all the same. Slows the calls
/// down. One at a time.
[[nodiscard]] std::optional<DriverCalls> count_driver_calls(const std::function<void()>& work);

/// A runner for Drive::Raw and RawGraph: what the method's CUDA delegates launch in one run, launched again by the
/// bench itself, on a stream of its own, with one copy for all inputs and one for all outputs where they are on the
/// host, and one wait. Its results are not checked: the first run's are, and a launch repeats what it did.
///
/// Lifetime: as make_runner().
/// Errors: NotSupported, the build has no CUDA; BackendMissing, the method has delegates of other kinds; as
///   Method::load() and execute().
[[nodiscard]] Result<std::unique_ptr<Runner>> make_raw_runner(const Mode& mode, const Workload& workload,
                                                              ResultCheck& check);

}  // namespace tandem::cli::bench
