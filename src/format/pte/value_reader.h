#pragma once

#include "format/pte/tensor_reader.h"

namespace tandem::format {

using ValueTables = flatbuffers::Vector<flatbuffers::Offset<schema::EValue>>;

/// Reads the values of the method at `plan` in order, so that a list can only name tensors before it.
///
/// Errors: as read_tensor(), and InvalidProgram for a value of no known kind or a list entry of the wrong kind.
[[nodiscard]] Result<std::vector<ValueSpec>> read_values(TableReader& reader, const FieldPath& plan,
                                                         const ValueTables& tables, const TensorMemory& memory);

}  // namespace tandem::format
