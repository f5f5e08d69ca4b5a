#include "cli/bench/cuda/launches.h"
#include "cli/bench/runner.h"
#include "cli/device_values.h"
#include "cli/interrupt.h"
#include "device/cuda/cuda_device.h"

#include <tandem/cuda.h>
#include <tandem/stream.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tandem::cli::bench {
namespace {

namespace gpu = device::cuda;
using Clock = std::chrono::steady_clock;

/// Runs before the one that is recorded: delegates ask for more memory in their first ones.
constexpr std::uint64_t kRunsBefore = 3;

Status checked(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return {};
  return gpu::cuda_error(code, call);
}

std::size_t host_bytes(std::span<const Value> values) {
  std::size_t bytes = 0;
  for (const Value& value : values) {
    if (value.is_tensor() && value.tensor().device() == DeviceId{}) bytes += value.tensor().nbytes();
  }
  return bytes;
}

/// The bench itself, on a stream of its own. The method stays loaded: its memory is what the kernels work on.
class RawRunner final : public Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(const Mode& mode, const Workload& workload, ResultCheck& check) {
    MethodOptions options;
    options.device = workload.device;
    options.backends = &cuda::recording_backends();
    options.graphs = GraphPolicy::Off;
    std::unique_ptr<RawRunner> runner{new RawRunner};
    TANDEM_TRY(runner->device_, gpu::find_device(workload.device.index));
    TANDEM_TRY(runner->method_, Method::load(workload.program, workload.method, options));
    TANDEM_TRY(Stream stream, Stream::create(workload.device));
    runner->stream_.emplace(std::move(stream));
    TANDEM_TRY(runner->handle_, tandem::cuda::native_stream(*runner->stream_));
    TANDEM_CHECK_OK(runner->record(workload, check, mode.name()));
    if (mode.kind->drive == Drive::RawGraph) {
      TANDEM_TRY(runner->graph_, runner->device_->with_current([&] { return cuda::make_graph(runner->launches_); }));
    }
    return std::unique_ptr<Runner>{std::move(runner)};
  }

  Result<Pass> run(std::uint64_t count, Purpose purpose) override {
    return device_->with_current([&]() -> Result<Pass> {
      Pass pass;
      while (pass.runs < count && !interrupted()) {
        const auto begin = Clock::now();
        TANDEM_CHECK_OK(copy_in());
        const auto launch = Clock::now();
        TANDEM_CHECK_OK(start());
        const auto launched = Clock::now();
        TANDEM_CHECK_OK(copy_out());
        TANDEM_CHECK_OK(checked(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"));
        const auto end = Clock::now();
        ++pass.runs;
        pass.time += end - begin;
        if (purpose != Purpose::Measure) continue;
        samples_.results.push_back(end - begin);
        samples_.enqueues.push_back(launched - launch);
      }
      return pass;
    });
  }

  std::string note() const override {
    std::string text = fmt::format("{} launches, without checks of the results", launches_.size());
    if (!method_->meta().is_fully_async()) text += ", without the steps of the host";
    return text;
  }

 private:
  RawRunner() = default;

  /// Runs step by step until memory is settled, then once more for the launches.
  Status record(const Workload& workload, ResultCheck& check, const std::string& mode) {
    inputs_ = workload.inputs;
    outputs_.resize(method_->meta().outputs.size());
    ExecuteOptions options;
    options.stream = *stream_;
    const auto execute = [&] { return method_->execute_into(inputs_, outputs_, options); };
    for (std::uint64_t run = 0; run <= kRunsBefore; ++run) {
      if (run == kRunsBefore) {
        TANDEM_TRY(launches_, cuda::record_launches(execute));
      } else {
        TANDEM_CHECK_OK(execute());
      }
      TANDEM_CHECK_OK(stream_->synchronize());
      TANDEM_TRY(const std::vector<Value> here, to_host(outputs_));
      TANDEM_TRY(const bool is_right, check.add(mode, run, here));
      if (!is_right) return {};  // the table is void
    }
    if (launches_.empty()) return Error{ErrorCode::NotSupported, "the method launches no kernel by itself"};
    in_bytes_ = host_bytes(inputs_);
    out_bytes_ = host_bytes(outputs_);
    TANDEM_TRY(on_host_, device_->allocate_staging(in_bytes_ + out_bytes_));
    TANDEM_TRY(on_device_, device_->allocate(in_bytes_ + out_bytes_));
    return {};
  }

  Status copy_in() const {
    if (in_bytes_ == 0) return {};
    return checked(cudaMemcpyAsync(on_device_.data(), on_host_.data(), in_bytes_, cudaMemcpyHostToDevice, handle_),
                   "cudaMemcpyAsync");
  }
  Status start() const {
    if (graph_ != nullptr) return checked(cudaGraphLaunch(graph_.get(), handle_), "cudaGraphLaunch");
    return cuda::launch_all(launches_, handle_);
  }
  Status copy_out() const {
    if (out_bytes_ == 0) return {};
    return checked(cudaMemcpyAsync(on_host_.data() + in_bytes_, on_device_.data() + in_bytes_, out_bytes_,
                                   cudaMemcpyDeviceToHost, handle_),
                   "cudaMemcpyAsync");
  }

  gpu::CudaDevice* device_ = nullptr;
  std::shared_ptr<Method> method_{};
  std::optional<Stream> stream_{};
  cudaStream_t handle_{};
  std::vector<Value> inputs_{};
  std::vector<Value> outputs_{};  ///< Of the recorded run: kernels write there.
  std::vector<cuda::Launch> launches_{};
  cuda::UniqueGraph graph_{};
  device::Buffer on_host_{};  ///< Stand-ins for what the program copies; only the bytes count.
  device::Buffer on_device_{};
  std::size_t in_bytes_ = 0;
  std::size_t out_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_raw_runner(const Mode& mode, const Workload& workload, ResultCheck& check) {
  return RawRunner::create(mode, workload, check);
}

}  // namespace tandem::cli::bench
