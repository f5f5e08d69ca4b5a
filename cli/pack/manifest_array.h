#pragma once

#include "cli/pack/manifest_node.h"

#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Arrays of a manifest: their description, and their elements from the manifest or from a file.
namespace tandem::cli {

struct FileReference {
  std::string name{};  ///< As the manifest has it, relative to its folder.
  ManifestSpot spot{};
};

/// Gives the bytes of a file that a manifest names. They hold as long as the function does.
using ReadFile = std::function<Result<std::span<const std::byte>>(const std::string& name)>;

struct ManifestArray {
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};
  std::vector<std::uint8_t> dim_order{};  ///< As long as `sizes`.
  std::uint64_t bytes = 0;
};

/// `dtype`, `sizes`, `dim_order`.
/// Errors: InvalidArgument.
[[nodiscard]] Result<ManifestArray> read_array(const ManifestNode& object);

/// A file's name: a text.
/// Errors: InvalidArgument.
[[nodiscard]] Result<FileReference> read_file_reference(const ManifestNode& node);

/// The elements that `node` lists, row by row or flat, laid out as `array` says.
/// Errors: InvalidArgument: other counts than the sizes', a number that the dtype cannot hold, a dtype that has no
///   numbers here.
[[nodiscard]] Result<std::vector<std::byte>> read_numbers(const ManifestNode& node, const ManifestArray& array);

/// The bytes that `node` means: numbers, or an object with `file`.
using ArraySource = std::variant<std::vector<std::byte>, FileReference>;
[[nodiscard]] Result<ArraySource> read_array_source(const ManifestNode& node, const ManifestArray& array);

/// The elements in `file`, laid out as `array` says: a `.npy` of that dtype and shape, or the bytes as they are.
/// Errors: as `files`; InvalidArgument, another dtype, shape or length, or a damaged `.npy`.
[[nodiscard]] Result<std::vector<std::byte>> load_array(const FileReference& file, const ManifestArray& array,
                                                        const ReadFile& files);
/// The file as it is. Errors: as `files`.
[[nodiscard]] Result<std::span<const std::byte>> load_bytes(const FileReference& file, const ReadFile& files);

}  // namespace tandem::cli
