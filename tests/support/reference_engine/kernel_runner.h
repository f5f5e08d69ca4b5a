#pragma once

#include "device/stream.h"
#include "support/reference_engine/reference_call.h"

#include <tandem/device.h>
#include <tandem/result.h>

#include <functional>
#include <memory>

namespace tandem::testing {

/// Runs the kernels of reference engines on one kind of device.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  [[nodiscard]] virtual DeviceType device_type() const noexcept = 0;
  /// Enqueues kernel 0 or 1 of a run. `around` is called with true before the kernel and with false after it, where the
  /// device lets host code watch.
  [[nodiscard]] virtual Status launch(device::Stream& stream, const ReferenceCall& call, int kernel,
                                      std::function<void(bool begins)> around) = 0;
  /// For an engine's auxiliary stream. Null: the device has no use for one.
  [[nodiscard]] virtual Result<std::unique_ptr<device::Stream>> make_stream() = 0;
};

/// The kernels as host code.
void run_on_host(const ReferenceCall& call, int kernel);

/// The host: a kernel has run when launch() returns.
class HostRunner final : public KernelRunner {
 public:
  [[nodiscard]] DeviceType device_type() const noexcept override { return DeviceType::Host; }
  [[nodiscard]] Status launch(device::Stream& stream, const ReferenceCall& call, int kernel,
                              std::function<void(bool)> around) override;
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override {
    return std::unique_ptr<device::Stream>{};
  }
};

}  // namespace tandem::testing
