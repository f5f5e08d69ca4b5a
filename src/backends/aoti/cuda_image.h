#pragma once

#include <string>

namespace tandem::aoti {

/// What a kernel image was compiled for, "sm_90" or "sm_80, sm_90, compute_90" for example; "an unknown target" where
/// the image does not tell. For error texts.
///
/// Precondition: `image` is what a library gives to cuModuleLoadData: a cubin, a fatbinary, or PTX ending with NUL.
/// Source: CUDA's fatbinary.h (crt) for the header; `cuobjdump` for the entries and the flags of a cubin.
[[nodiscard]] std::string targets_of(const void* image);

}  // namespace tandem::aoti
