#pragma once

#include "backends/aoti/tensor_handle.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>

namespace tandem::aoti {

/// An AOTInductor container, opaque.
using ContainerHandle = struct AotiContainer*;

/// A constant's internal name and its tensor, as UpdateUserManagedConstantBufferPairs takes them.
struct ConstantPair {
  const char* name = nullptr;
  AtenTensor* tensor = nullptr;
};

/// Entry points of a library. All return 0 for success.
/// Source: PyTorch torch/csrc/inductor/aoti_runtime/interface.h, 2.9 to 2.14; what older ones lack is null.
struct AotiSymbols {
  using Run = std::int32_t (*)(ContainerHandle, AtenTensor** inputs, std::size_t input_count, AtenTensor** outputs,
                               std::size_t output_count, void* stream, void* proxy);
  using Text = std::int32_t (*)(ContainerHandle, std::size_t index, const char** out);

  // Required.
  std::int32_t (*create)(ContainerHandle*, std::size_t models, const char* device, const char* cubin_dir) = nullptr;
  std::int32_t (*destroy)(ContainerHandle) = nullptr;
  std::int32_t (*input_count)(ContainerHandle, std::size_t*) = nullptr;
  std::int32_t (*output_count)(ContainerHandle, std::size_t*) = nullptr;
  /// RunSingleThreaded: no locks, no completion event. Run where a library has nothing else.
  Run run = nullptr;

  // Optional.
  Text input_name = nullptr;
  Text output_name = nullptr;
  std::int32_t (*constant_count)(ContainerHandle, std::size_t*) = nullptr;
  Text constant_name = nullptr;
  Text constant_fqn = nullptr;
  std::int32_t (*constant_folded)(ContainerHandle, std::size_t, bool*) = nullptr;
  std::int32_t (*constant_type)(ContainerHandle, std::size_t, std::int32_t*) = nullptr;
  std::int32_t (*constant_dtype)(ContainerHandle, std::size_t, std::int32_t*) = nullptr;
  std::int32_t (*constant_bytes)(ContainerHandle, std::size_t, std::size_t*) = nullptr;
  std::int32_t (*load_blob)(ContainerHandle, const std::uint8_t*) = nullptr;
  std::int32_t (*bind_constants)(ContainerHandle, const ConstantPair*, std::size_t, bool inactive,
                                 bool validate_full) = nullptr;
  std::int32_t (*fold_constants)(ContainerHandle, bool inactive, void* stream, void* proxy) = nullptr;
  std::int32_t (*last_error)(const char**) = nullptr;
};

/// Looks the entry points up in an open library (a handle of dlopen).
/// Errors: IncompatibleDelegate, listing the required ones that are missing.
[[nodiscard]] Result<AotiSymbols> find_symbols(void* library);

}  // namespace tandem::aoti
