#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <span>
#include <string>

namespace tandem::base {

/// SHA-256 of `bytes` as 64 lowercase hexadecimal digits.
/// Errors: Internal, the cryptography library has no SHA-256 (a restricted build or policy).
[[nodiscard]] Result<std::string> sha256_hex(std::span<const std::byte> bytes);

}  // namespace tandem::base
