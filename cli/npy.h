#pragma once

#include <tandem/tensor.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

/// NumPy's `.npy` files, versions 1.0 to 3.0.
/// Source: numpy/lib/format.py, "Format Version 1.0" and later.
namespace tandem::cli {

/// Maps `file`; its bytes are not copied unless they are badly aligned.
///
/// NumPy has no bfloat16: a 16-bit unsigned or raw array becomes one where `wanted` says so, likewise 8-bit ones for
/// the 8-bit floats.
///
/// Shapes: Fortran order becomes strides.
/// Errors: NotFound, AccessFailed; NotSupported (big-endian, objects, structures, texts, dates: by name);
///   InvalidArgument (no `.npy`, a bad header field, more or fewer bytes than the shape needs: with file and offset).
[[nodiscard]] Result<Tensor> read_npy(const std::filesystem::path& file, std::optional<ScalarType> wanted = {});

/// The same over bytes in memory.
///
/// Lifetime: `release` is called when nothing needs the bytes any more, at once on an error. `name` stands for the
///   path in errors.
[[nodiscard]] Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::function<void()> release,
                                       const std::string& name, std::optional<ScalarType> wanted = {});

/// Writes version 1.0 in C order; bfloat16 as `uint16`, 8-bit floats as `uint8`.
///
/// Errors: NotSupported, NumPy has no such elements; AccessFailed, NotFound (a folder), with errno; OutOfMemory.
[[nodiscard]] Status write_npy(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace tandem::cli
