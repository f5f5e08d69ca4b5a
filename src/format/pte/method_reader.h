#pragma once

#include "format/table_reader.h"

#include <tandem_schema/program_generated.h>

#include <span>

namespace tandem::format {

/// What the methods of one program share.
struct ProgramParts {
  std::span<const Bytes> constants{};  ///< See TensorMemory.
  std::span<const Bytes> initials{};   ///< See TensorMemory.
  std::span<const Segment> segments{};
  std::span<const Bytes> inline_delegate_data{};
};

/// Errors: as read_values(), and InvalidProgram for whatever else is missing or out of range. The error's site names
///   the method and, where it applies, the value or the instruction.
[[nodiscard]] Result<Method> read_method(TableReader& reader, const FieldPath& field,
                                         const schema::ExecutionPlan& table, const ProgramParts& parts);

}  // namespace tandem::format
