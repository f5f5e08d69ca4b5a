#pragma once

#include "format/pte/pte.h"

#include <optional>
#include <string_view>
#include <vector>

/// What a `.ptd` (FlatTensor) file says, as plain data that points into the file's bytes.
/// Source: ExecuTorch extension/flat_tensor/serialize/flat_tensor.fbs; our own description is docs/file-formats.md.
namespace tandem::format {

struct TensorLayout {
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};
  std::vector<std::uint8_t> dim_order{};
  std::uint64_t bytes = 0;  ///< Of the sizes.
};

struct DataEntry {
  std::string_view key{};
  std::uint32_t segment = 0;
  Bytes data{};
  std::optional<TensorLayout> layout{};  ///< Absent for opaque blobs.
};

struct DataHeader {
  std::uint32_t length = 0;
  std::uint64_t flatbuffer_offset = 0;
  std::uint64_t flatbuffer_bytes = 0;
  std::uint64_t segment_base_offset = 0;
  std::uint64_t segment_data_bytes = 0;
};

struct DataFile {
  std::uint32_t version = 0;
  std::uint32_t root_offset = 0;
  DataHeader header{};
  std::vector<Segment> segments{};
  std::vector<DataEntry> entries{};
};

/// Reads and verifies a whole `.ptd`; entry bytes are not touched; they may lie at any address.
///
/// Lifetime: the result points into `file`.
/// Errors: InvalidArgument, `file` does not start at a multiple of 16; InvalidExternalData, with field and offset; a
///   key that is there twice and an entry that is shorter than its layout are such.
[[nodiscard]] Result<DataFile> read_ptd(Bytes file);

}  // namespace tandem::format
