#pragma once

#include <tandem/export.h>
#include <tandem/result.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tandem {

/// What the payload of a delegate of `CustomBackend` says: where its library is, and what the library gets to read.
/// tandem/custom.h tells what is in the library.
///
/// Exactly one of `key`, `path` and `library` is set.
/// Lifetime: views of the caller's, or of the payload that was parsed.
struct CustomPayload {
  std::string_view key{};  ///< The library is among the program's named data, in the `.pte` or a `.ptd`.
  /// The library is a file. A relative path starts at the folder of the program's file, or at the load option
  /// `library_folder`.
  std::string_view path{};
  std::span<const std::byte> library{};  ///< The library itself.
  std::span<const std::byte> blob{};     ///< For the library; may be empty.
};

/// The payload as bytes, for `DelegateSpec::payload`:
///
///     TANDEM_TRY(const auto payload, encode_custom_payload({.key = "scale.so", .blob = blob}));
///     const auto scale = forward.delegate({.id = "CustomBackend", .payload = payload});
///     program.named_data("scale.so", library);
///
/// Little-endian: "TCU1" | u32 kind (0 key, 1 path, 2 library) | u64 n | u64 blob bytes | n bytes of key, path or
/// library | zeros up to a multiple of 16 | the blob.
///
/// Errors: InvalidArgument, not exactly one of the three is set, or a key or path has a zero byte.
[[nodiscard]] TANDEM_EXPORT Result<std::vector<std::byte>> encode_custom_payload(const CustomPayload& payload);

/// Errors: InvalidProgram, naming the field and the offset in `bytes`.
[[nodiscard]] TANDEM_EXPORT Result<CustomPayload> parse_custom_payload(std::span<const std::byte> bytes);

}  // namespace tandem
