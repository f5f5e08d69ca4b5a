#pragma once

#include "backends/tensorrt/blob.h"

#include <tandem/result.h>

#include <cstddef>
#include <vector>

namespace tandem::tensorrt {

/// A payload of the backend `TensorRTBackend`: `TR02` if there are aliases, else `TR01`.
///
/// Errors: InvalidArgument, naming the field: no engine, an empty name, two bindings of one name, an alias of something
///   that is no binding of its side or is aliased twice, a negative device, a name that is no UTF-8;
///   names of 4 GiB.
/// Source: Torch-TensorRT's serializer for ExecuTorch; docs/pack.md.
[[nodiscard]] Result<std::vector<std::byte>> write_blob(const Blob& contents);

}  // namespace tandem::tensorrt
