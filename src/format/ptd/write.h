#pragma once

#include "format/ptd/ptd.h"
#include "format/write_options.h"

#include <cstddef>
#include <vector>

namespace tandem::format {

/// The bytes of a `.ptd` that read_ptd() reads as `data`: equal but for where things lie in the file. Equal data gives
/// equal bytes.
///
/// Segment i gets `segments[i].bytes` bytes, which the entries that name it fill; one that nothing names is zero.
/// `header`, `root_offset`, offsets in `segments` and `TensorLayout::bytes` follow from the rest and are not looked at.
///
/// Errors: InvalidArgument (`options`); InvalidExternalData, with the field: an index out of range, bytes that do not
///   fit their segment or contradict others in it, a size that its field cannot hold, a body of 2 GiB or more, and
///   whatever read_ptd() refuses.
[[nodiscard]] Result<std::vector<std::byte>> write_ptd(const DataFile& data, const WriteOptions& options = {});

}  // namespace tandem::format
