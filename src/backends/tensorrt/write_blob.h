#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::tensorrt {

/// What a delegate's payload holds.
struct BlobContents {
  /// An output that is written into an input's memory.
  struct Alias {
    enum class Kind : std::uint8_t {
      KvCacheUpdate,  ///< The engine itself says so.
      User,
    };
    std::string output{};  ///< Names of bindings.
    std::string input{};
    Kind kind = Kind::KvCacheUpdate;
  };

  std::vector<std::string> inputs{};   ///< Bindings in the order of the delegate's arguments. Without inputs and
  std::vector<std::string> outputs{};  ///< outputs the order follows from the numbers at the ends of the names.
  std::vector<Alias> aliases{};
  int device_id = 0;
  bool hardware_compatible = false;
  std::span<const std::byte> engine{};
};

/// A payload of the backend `TensorRTBackend`: `TR02` if there are aliases, else `TR01`.
///
/// Errors: InvalidArgument, naming the field: no engine, an empty name, two bindings of one name, an alias of something
///   that is no binding of its side or is aliased twice, a negative device, a name that is no UTF-8;
///   names of 4 GiB.
/// Source: Torch-TensorRT's serializer for ExecuTorch; docs/pack.md.
[[nodiscard]] Result<std::vector<std::byte>> write_blob(const BlobContents& contents);

}  // namespace tandem::tensorrt
