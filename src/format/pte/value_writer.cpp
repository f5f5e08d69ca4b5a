#include "format/pte/value_writer.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>
#include <utility>

namespace tandem::format {
namespace {

using flatbuffers::Offset;

class ValueWriter {
 public:
  ValueWriter(TableWriter& writer, const FieldPath& field)
      : writer_{writer}, builder_{writer.builder()}, field_{field} {}

  Result<Offset<schema::EValue>> operator()(std::monostate /*none*/) { return wrap(schema::CreateNull(builder_)); }
  Result<Offset<schema::EValue>> operator()(std::int64_t v) { return wrap(schema::CreateInt(builder_, v)); }
  Result<Offset<schema::EValue>> operator()(bool v) { return wrap(schema::CreateBool(builder_, v)); }
  Result<Offset<schema::EValue>> operator()(double v) { return wrap(schema::CreateDouble(builder_, v)); }
  Result<Offset<schema::EValue>> operator()(std::string_view v) {
    return wrap(schema::CreateString(builder_, writer_.text(v)));
  }
  Result<Offset<schema::EValue>> operator()(const IntList& v) {
    return wrap(schema::CreateIntList(builder_, writer_.list<std::int64_t>(v.items)));
  }
  Result<Offset<schema::EValue>> operator()(const DoubleList& v) {
    return wrap(schema::CreateDoubleList(builder_, writer_.list<double>(v.items)));
  }
  Result<Offset<schema::EValue>> operator()(const BoolList& v) {
    return wrap(schema::CreateBoolList(builder_, writer_.list<std::uint8_t>(v.items)));
  }
  Result<Offset<schema::EValue>> operator()(const TensorList& v) {
    return wrap(schema::CreateTensorList(builder_, writer_.list<std::int32_t>(v.items)));
  }
  Result<Offset<schema::EValue>> operator()(const OptionalTensorList& v) {
    return wrap(schema::CreateOptionalTensorList(builder_, writer_.list<std::int32_t>(v.items)));
  }

  Result<Offset<schema::EValue>> operator()(const Tensor& v) {
    TANDEM_TRY(const auto sizes, writer_.sizes(field_, v.sizes));
    const auto dim_order = writer_.list<std::uint8_t>(v.dim_order);
    Offset<schema::AllocationDetails> allocation;
    if (v.allocation) {
      allocation = schema::CreateAllocationDetails(builder_, v.allocation->memory_id,
                                                   static_cast<std::uint32_t>(v.allocation->offset),
                                                   static_cast<std::uint32_t>(v.allocation->offset >> 32));
    }
    TANDEM_TRY(const auto extra, write_extra(v));
    return wrap(schema::CreateTensor(builder_, static_cast<std::int8_t>(v.dtype), /*storage_offset=*/0, sizes,
                                     dim_order, v.requires_grad, v.data_buffer_idx, allocation,
                                     static_cast<std::int8_t>(v.layout),
                                     static_cast<schema::TensorShapeDynamism>(v.dynamism), extra));
  }

 private:
  template <class Table>
  Result<Offset<schema::EValue>> wrap(Offset<Table> value) {
    return schema::CreateEValue(builder_, schema::KernelTypesTraits<Table>::enum_value, value.Union());
  }

  Result<Offset<schema::ExtraTensorInfo>> write_extra(const Tensor& v) {
    const bool external = v.source == DataSource::External;
    if (!v.has_extra_info && !external && v.name.empty() && v.device == DeviceId{}) {
      return Offset<schema::ExtraTensorInfo>{};
    }
    const FieldPath field = field_.child("extra_tensor_info");
    TANDEM_TRY(const StoredDevice device, stored_device(writer_.fault(), field, v.device));
    const auto name = v.name.empty() ? Offset<flatbuffers::String>{} : writer_.text(v.name);
    const auto location = external ? schema::TensorDataLocation::EXTERNAL : schema::TensorDataLocation::SEGMENT;
    return schema::CreateExtraTensorInfo(builder_, /*mutable_data_segments_idx=*/0, name, location, device.type,
                                         device.index);
  }

  TableWriter& writer_;
  flatbuffers::FlatBufferBuilder& builder_;
  const FieldPath& field_;
};

}  // namespace

Result<StoredDevice> stored_device(const FaultMaker& fault, const FieldPath& parent, DeviceId device) {
  if (device.type == DeviceType::Host) return StoredDevice{};
  if (device.type == DeviceType::Cuda && std::in_range<std::int8_t>(device.index)) {
    return StoredDevice{schema::DeviceType::CUDA, static_cast<std::int8_t>(device.index)};
  }
  return fault(parent.child("device_type"), nullptr, "a device that the format has no number for")
      .with_expected(fmt::format("host or cuda:0..{}", std::numeric_limits<std::int8_t>::max()), to_string(device));
}

Result<Offset<flatbuffers::Vector<Offset<schema::EValue>>>> write_values(TableWriter& writer, const FieldPath& plan,
                                                                         const std::vector<ValueSpec>& values) {
  std::vector<Offset<schema::EValue>> out;
  out.reserve(values.size());
  for (const ValueSpec& value : values) {
    const FieldPath field = plan.child("values", out.size());
    const auto at = static_cast<int>(out.size());
    auto written = std::visit(ValueWriter{writer, field}, value);
    if (!written.ok()) return std::move(written).error().with_value(at);
    if (Status room = writer.check_room(field); !room.ok()) return std::move(room).error().with_value(at);
    out.push_back(*written);
  }
  return writer.tables(out);
}

}  // namespace tandem::format
