#pragma once

#include "backends/aoti/cuda_functions.h"
#include "backends/aoti/tensor_handle.h"

namespace tandem::aoti {

/// Writes the elements of `source` over those of `target`, in the stream's order. Either may be on the host, as CUDA
/// copies it.
///
/// Elements of different layouts go as rows of what is contiguous in both, many rows a call; a layout that would take
/// more than kMaxCopies calls is refused, as are different dtypes.
/// Shapes: as copy_elements().
/// Null on success, else why it can't be done.
[[nodiscard]] const char* copy_on_stream(const CudaFunctions& functions, cudaStream_t stream, const AtenTensor& target,
                                         const AtenTensor& source) noexcept;

inline constexpr std::int64_t kMaxCopies = 65536;

}  // namespace tandem::aoti
