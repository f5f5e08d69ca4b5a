#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::tensorrt {

/// An engine's output that is written in the memory of one of its inputs.
struct BlobAlias {
  enum class Kind : std::uint8_t {
    KvCacheUpdate,  ///< The engine itself says so.
    User,           ///< The exporter says so: the engine may write where it reads.
  };
  std::string output{};
  std::string input{};
  Kind kind = Kind::KvCacheUpdate;
};

/// A TensorRT delegate's payload.
///
/// Lifetime: `engine` points into the payload.
/// Source: the blob format of Torch-TensorRT's ExecuTorch backend, magic `TR01`, and `TR02` with aliased I/O.
struct Blob {
  /// Names of the engine's tensors in the order of the call's arguments. Both empty: the engine's names tell.
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::vector<BlobAlias> aliases{};
  int device_id = 0;  ///< The GPU that the file names; the method's device decides.
  bool hardware_compatible = false;
  std::span<const std::byte> engine{};
};

/// Errors: InvalidProgram, with field and byte offset.
[[nodiscard]] Result<Blob> parse_blob(std::span<const std::byte> payload);

}  // namespace tandem::tensorrt
