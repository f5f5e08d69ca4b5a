#pragma once

#include <tandem/value.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::cli {

/// A 64-bit fingerprint of a run's outputs: kinds, dtypes, shapes, numbers, texts, and every byte of every tensor in
/// logical order, so that equal results in other memory layouts are equal. Two different results share one by chance
/// in 1 of 2^64 cases.
///
/// Errors: OutOfMemory, a strided tensor could not be copied.
/// Source: FNV-1a, RFC 9923.
[[nodiscard]] Result<std::uint64_t> digest_of(std::span<const Value> outputs);

}  // namespace tandem::cli
