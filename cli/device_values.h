#pragma once

#include <tandem/method.h>

#include <span>
#include <vector>

namespace tandem::cli {

/// The values with those tensors moved to `device` whose input the program has there.
/// Errors: as Tensor::to().
[[nodiscard]] Result<std::vector<Value>> to_device(std::span<const Value> inputs, const MethodMeta& meta,
                                                   DeviceId device);
/// The values with all tensors on the host.
/// Errors: as Tensor::to().
[[nodiscard]] Result<std::vector<Value>> to_host(std::vector<Value> outputs);

}  // namespace tandem::cli
