#pragma once

#include "format/table_writer.h"

#include <tandem_schema/program_generated.h>

namespace tandem::format {

/// Errors: InvalidProgram, a number that its field cannot hold, or a body that is too long. The error's site names the
///   method and, where it applies, the value.
[[nodiscard]] Result<flatbuffers::Offset<schema::ExecutionPlan>> write_method(TableWriter& writer,
                                                                              const FieldPath& field,
                                                                              const Method& method);

}  // namespace tandem::format
