#pragma once

#include "backends/aoti/payload.h"

#include <cstddef>
#include <vector>

namespace tandem::aoti {

inline constexpr std::int32_t kCpuDevice = 0;
inline constexpr std::int32_t kCudaDevice = 1;

/// The bytes that parse_payload() reads as `payload`: two keys as text if the weights are a blob, else `ETCUDAFQN3`.
/// Keys have one alternative each.
///
/// Errors: InvalidProgram, naming the field: what parse_payload() refuses, and keys with several alternatives.
/// Source: as parse_payload().
[[nodiscard]] Result<std::vector<std::byte>> write_payload(const Payload& payload);

}  // namespace tandem::aoti
