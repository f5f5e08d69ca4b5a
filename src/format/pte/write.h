#pragma once

#include "format/pte/pte.h"
#include "format/write_options.h"

#include <cstddef>
#include <vector>

namespace tandem::format {

/// The bytes of a `.pte` that read_pte() reads as `program`: equal but for where things lie in the file. Equal programs
/// give equal bytes, in the order that ExecuTorch's exporter uses: body with extended header, then the segments by
/// index; without segment data there is no header.
///
/// Indices count: segment i gets `segments[i].bytes` bytes, and into them what names it: named data and payloads fill
/// it, a constant or initial value lies at its offset of `constant_segment` or `mutable_segments[0]`. The rest is zero,
/// also what only an offset refers to. Without offsets in `constant_segment`, constants are written to the body as
/// files from before segments have them. `header`, `root_offset`, offsets in `segments` and `Tensor::bytes` follow from
/// the rest and are not looked at. What read_pte() drops is not written: stack traces, `mutable_data_segments_idx`.
///
/// Errors: InvalidArgument (`options`); InvalidProgram, with the field, and with method and value where it lies in one:
///   an index out of range, bytes that do not fit their tensor or segment or contradict others in it, a number that its
///   field cannot hold, a body of 2 GiB or more, and whatever read_pte() refuses; NotSupported as read_pte().
[[nodiscard]] Result<std::vector<std::byte>> write_pte(const Program& program, const WriteOptions& options = {});

}  // namespace tandem::format
