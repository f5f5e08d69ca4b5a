#pragma once

#include "bench/suite/machine.h"
#include "support/simulated_gpu.h"

#include <cstdint>
#include <memory>

namespace tandem::suite {

/// The suite's kernels on a SimulatedGpu, so that its scenarios run as on a GPU, but for the times.
class SimulatedMachine final : public Machine {
 public:
  explicit SimulatedMachine(std::uint64_t seed) : gpu_{seed} {}
  /// From now on kernels that Tandem records compute something else.
  void spoil_recorded();

  DeviceId device() const override { return gpu_.id(); }
  std::string describe() const override { return "simulated"; }
  bool is_slow() const override { return true; }
  std::shared_ptr<Launcher> launcher() override;
  Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override;
  Result<Stream> make_stream() override;
  Result<std::unique_ptr<RawStream>> make_raw_stream() override;
  Result<std::shared_ptr<void>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<void>> allocate_staging(std::size_t bytes) override;
  Status copy_now(void* to, const void* from, std::size_t bytes) override;
  Result<std::optional<std::size_t>> launches_in(const std::function<Status()>& work) override;

 private:
  testing::SimulatedGpu gpu_;
  bool spoils_recorded_ = false;
};

}  // namespace tandem::suite
