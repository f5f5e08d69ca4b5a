#include "format/pte/tensor_reader.h"

#include "base/checked.h"

#include <utility>

namespace tandem::format {
namespace {

Result<ShapeDynamism> read_dynamism(const FaultMaker& fault, const FieldPath& tensor, const schema::Tensor& table) {
  const FieldPath field = tensor.child("shape_dynamism");
  switch (table.shape_dynamism()) {
    case schema::TensorShapeDynamism::STATIC:
      return ShapeDynamism::Static;
    case schema::TensorShapeDynamism::DYNAMIC_BOUND:
      return ShapeDynamism::DynamicBound;
    case schema::TensorShapeDynamism::DYNAMIC_UNBOUND:
      return fault.unsupported(field, &table, "a shape without an upper bound")
          .with_expected("static or bounded", "unbounded");
  }
  return fault(field, &table, "no such kind of shape")
      .with_expected("0..2", fmt::to_string(static_cast<int>(table.shape_dynamism())));
}

Result<Allocation> read_allocation(const TableReader& reader, const FieldPath& field,
                                   const schema::AllocationDetails& table, std::uint64_t bytes,
                                   std::span<const Arena> arenas) {
  TANDEM_CHECK_OK(
      reader.check_index(field.child("memory_id"), &table, table.memory_id(), arenas.size(), "memory arenas", 1));
  const Allocation out{table.memory_id(),
                       std::uint64_t{table.memory_offset_high()} << 32 | std::uint64_t{table.memory_offset_low()}};
  if (const std::uint64_t limit = arenas[out.memory_id].bytes; !base::fits(out.offset, bytes, limit)) {
    return reader.fault()(field, &table, "the tensor does not lie within its arena")
        .with_expected(fmt::format("within {} bytes", limit), fmt::format("{} bytes at {}", bytes, out.offset));
  }
  return out;
}

Result<Bytes> stored_bytes(const TableReader& reader, const FieldPath& field, const schema::Tensor& table,
                           std::uint64_t bytes, std::span<const Bytes> entries, std::string_view things) {
  const std::uint32_t index = table.data_buffer_idx();
  TANDEM_CHECK_OK(reader.check_index(field, &table, index, entries.size(), things));
  if (entries[index].size() < bytes) {
    return reader.fault()(field, &table, "the tensor's data reaches out of its segment or buffer")
        .with_expected(fmt::format("{} bytes", bytes), fmt::format("{} bytes", entries[index].size()));
  }
  return entries[index].first(bytes);
}

Status read_extra(TableReader& reader, const FieldPath& field, const schema::ExtraTensorInfo& extra, Tensor& out) {
  out.has_extra_info = true;
  TANDEM_TRY(out.name, reader.optional_text(field.child("fully_qualified_name"), extra.fully_qualified_name()));
  TANDEM_TRY(out.device, read_device(reader.fault(), field, &extra, extra.device_type(), extra.device_index()));
  switch (extra.location()) {
    case schema::TensorDataLocation::SEGMENT:
      return {};
    case schema::TensorDataLocation::EXTERNAL:
      out.source = DataSource::External;
      break;
    default:
      return reader.fault()(field.child("location"), &extra, "no such place of data")
          .with_expected("0..1", fmt::to_string(static_cast<int>(extra.location())));
  }
  if (out.name.empty()) {
    return reader.fault()(field.child("fully_qualified_name"), &extra, "external data needs a name to be found under");
  }
  return {};
}

}  // namespace

Result<DeviceId> read_device(const FaultMaker& fault, const FieldPath& parent, const void* table,
                             schema::DeviceType type, std::int8_t index) {
  switch (type) {
    case schema::DeviceType::CPU:
      return DeviceId{};
    case schema::DeviceType::CUDA:
      if (index >= 0) return DeviceId{DeviceType::Cuda, index};
      return fault(parent.child("device_index"), table, "a negative device index")
          .with_expected("at least 0", fmt::to_string(static_cast<int>(index)));
  }
  return fault(parent.child("device_type"), table, "no such kind of device")
      .with_expected("0..1", fmt::to_string(static_cast<int>(type)));
}

Result<Tensor> read_tensor(TableReader& reader, const FieldPath& field, const schema::Tensor& table,
                           const TensorMemory& memory) {
  const FaultMaker& fault = reader.fault();
  Tensor out;
  TANDEM_TRY(TensorLayout layout, reader.layout(field, &table, table.scalar_type(), table.sizes(), table.dim_order()));
  out.dtype = layout.dtype;
  out.sizes = std::move(layout.sizes);
  out.dim_order = std::move(layout.dim_order);
  out.bytes = layout.bytes;
  TANDEM_TRY(out.dynamism, read_dynamism(fault, field, table));
  if (table.storage_offset() != 0) {
    return fault.unsupported(field.child("storage_offset"), &table, "a tensor that starts within its storage")
        .with_expected("0", fmt::to_string(table.storage_offset()));
  }
  out.requires_grad = table.requires_grad();
  out.layout = static_cast<std::uint8_t>(table.layout());
  out.data_buffer_idx = table.data_buffer_idx();

  if (const auto* allocation = table.allocation_info(); allocation != nullptr) {
    TANDEM_TRY(out.allocation,
               read_allocation(reader, field.child("allocation_info"), *allocation, out.bytes, memory.arenas));
  }
  if (const auto* extra = table.extra_tensor_info(); extra != nullptr) {
    TANDEM_CHECK_OK(read_extra(reader, field.child("extra_tensor_info"), *extra, out));
  }
  // External data is found by name; its data_buffer_idx counts from 0 and refers to nothing here.
  if (out.source == DataSource::External || out.data_buffer_idx == 0) return out;

  const FieldPath data_field = field.child("data_buffer_idx");
  if (out.allocation) {
    out.source = DataSource::Initial;
    TANDEM_TRY(out.data, stored_bytes(reader, data_field, table, out.bytes, memory.initials, "initial values"));
    return out;
  }
  out.source = DataSource::Constant;
  TANDEM_TRY(out.data, stored_bytes(reader, data_field, table, out.bytes, memory.constants, "constants"));
  return out;
}

}  // namespace tandem::format
