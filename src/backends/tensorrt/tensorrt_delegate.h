#pragma once

#include "backends/tensorrt/engine_provider.h"

#include <tandem/backend.h>

#include <cstddef>
#include <memory>
#include <span>

namespace tandem::tensorrt {

/// Loads a blob's engine on the method's device, whatever GPU the blob names.
/// Errors, with method, backend and delegate: as parse_blob(), EngineProvider::deserialize(), read_weight_budget(),
///   find_bindings() and check_arguments(); NotSupported, the method is on a device of another kind.
[[nodiscard]] Result<std::unique_ptr<Delegate>> prepare_delegate(const EngineProvider& provider,
                                                                 std::span<const std::byte> payload,
                                                                 const LoadContext& context);

}  // namespace tandem::tensorrt
