#pragma once

#include "support/simulated_gpu.h"

#include <tandem/backend.h>

#include <memory>
#include <span>
#include <utility>

namespace tandem::testing {

/// Delegates of a backend for the host as kernels of a simulated GPU: real libraries, in any order that the device may
/// choose. What a call gives has to be known when it is enqueued, so delegates that return numbers are NotSupported.
class HostCodeOnGpu final : public Backend {
 public:
  explicit HostCodeOnGpu(std::shared_ptr<const Backend> host) : host_{std::move(host)} {}
  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                                          const LoadContext& context) const override;

 private:
  std::shared_ptr<const Backend> host_;
};

}  // namespace tandem::testing
