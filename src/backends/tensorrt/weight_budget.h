#pragma once

#include "backends/tensorrt/engine_provider.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstdint>
#include <optional>

namespace tandem::tensorrt {

/// Option and compile spec: bytes of an engine's streamable weights that stay on the device, in decimal.
inline constexpr std::string_view kWeightBudgetKey = "weight_streaming_budget";

/// What this load, else the program says; empty: the library decides. An option that is the empty text counts as none.
/// Errors: InvalidType, InvalidArgument (the option); InvalidProgram (the compile spec is malformed or there are two).
[[nodiscard]] Result<std::optional<std::int64_t>> read_weight_budget(const LoadContext& context);

/// Does nothing for an engine that does not stream its weights. More than there is to stream means all of it. Where the
/// library's own choice fails, nothing stays on the device.
/// Errors: what the engine says of a budget that was asked for, or of none.
[[nodiscard]] Status apply_weight_budget(Engine& engine, std::optional<std::int64_t> budget);

}  // namespace tandem::tensorrt
