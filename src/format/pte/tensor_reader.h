#pragma once

#include "format/table_reader.h"

#include <tandem_schema/program_generated.h>

#include <span>

namespace tandem::format {

/// What a method's tensors may refer to. `constants` and `initials` are indexed by a tensor's `data_buffer_idx` and
/// reach from the first byte of that entry to the end of what it may use; entry 0 is a placeholder.
struct TensorMemory {
  std::span<const Arena> arenas{};
  std::span<const Bytes> constants{};
  std::span<const Bytes> initials{};
};

/// A device as tables store it. The index means nothing for the CPU, which is one device.
[[nodiscard]] Result<DeviceId> read_device(const FaultMaker& fault, const FieldPath& parent, const void* table,
                                           schema::DeviceType type, std::int8_t index);

/// Errors: InvalidProgram; NotSupported (a storage offset, unbounded shapes).
[[nodiscard]] Result<Tensor> read_tensor(TableReader& reader, const FieldPath& field, const schema::Tensor& table,
                                         const TensorMemory& memory);

}  // namespace tandem::format
