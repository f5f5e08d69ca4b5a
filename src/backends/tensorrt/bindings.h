#pragma once

#include "backends/tensorrt/blob.h"
#include "backends/tensorrt/engine_provider.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem::tensorrt {

/// Which argument of a call is which tensor of the engine.
struct Bindings {
  std::vector<std::size_t> inputs{};                   ///< Numbers of Engine::tensors(), in the order of the arguments.
  std::vector<std::size_t> outputs{};                  ///< Likewise.
  std::vector<std::optional<std::size_t>> alias_of{};  ///< By output: the input in whose memory it is written.
};

/// By the names in the blob; if it has none, by the number that the engine's own names end with, after a dot or an
/// underscore: "input_0", "output.1".
/// Errors: InvalidProgram, naming the tensor (unknown, missing, numbered twice or not at all, an alias that the engine
///   contradicts).
[[nodiscard]] Result<Bindings> find_bindings(const Blob& blob, std::span<const EngineTensor> tensors);

/// Holds the engine against what the program says of the call's arguments.
/// Errors, with argument and tensor: InvalidProgram (count, kind, rank); InvalidType (dtype); NotSupported (an order of
///   axes, format or location that no program's tensor has, a tensor whose contents decide shapes); as check_profile(),
///   for sizes that do not vary.
[[nodiscard]] Status check_arguments(const Bindings& bindings, std::span<const EngineTensor> tensors,
                                     std::span<const ArgumentSpec> arguments);

/// Whether the engine takes input `argument` at these sizes. A tensor without axes passes for one of shape [1].
/// Errors: InvalidArgument, naming tensor, axis and bounds.
[[nodiscard]] Status check_profile(const EngineTensor& tensor, std::size_t argument,
                                   std::span<const std::int64_t> sizes);

}  // namespace tandem::tensorrt
