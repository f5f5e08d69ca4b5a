#pragma once

#include "format/table_writer.h"

#include <tandem_schema/program_generated.h>

namespace tandem::format {

/// A device as tables store it.
struct StoredDevice {
  schema::DeviceType type = schema::DeviceType::CPU;
  std::int8_t index = 0;
};

/// Errors: InvalidProgram, a device that the format has no number for.
[[nodiscard]] Result<StoredDevice> stored_device(const FaultMaker& fault, const FieldPath& parent, DeviceId device);

/// Writes the values of the method at `plan`.
///
/// Errors: InvalidProgram, a size or device that its field cannot hold, or a body that is too long; the error's site
///   names the value.
[[nodiscard]] Result<flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::EValue>>>> write_values(
    TableWriter& writer, const FieldPath& plan, const std::vector<ValueSpec>& values);

}  // namespace tandem::format
