// gpu_tools.h in a build without CUDA.
#include "cli/bench/gpu_tools.h"
#include "cli/bench/runner.h"

namespace tandem::cli::bench {

std::optional<GpuFacts> gpu_facts(DeviceId /*device*/) { return std::nullopt; }

Result<std::unique_ptr<GpuTimer>> make_gpu_timer(DeviceId /*device*/) { return std::unique_ptr<GpuTimer>{}; }

Result<std::unique_ptr<Runner>> make_raw_runner(const Mode& mode, const Workload& /*workload*/,
                                                ResultCheck& /*check*/) {
  return Error{ErrorCode::NotSupported, "mode " + mode.name() + " cannot be measured here: this build has no CUDA"};
}

}  // namespace tandem::cli::bench
