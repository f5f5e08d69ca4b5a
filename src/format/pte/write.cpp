#include "format/pte/write.h"

#include "base/checked.h"
#include "format/pte/head.h"
#include "format/pte/method_writer.h"
#include "format/read_back.h"
#include "format/table_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tandem::format {
namespace {

using flatbuffers::Offset;

class ProgramWriter {
 public:
  ProgramWriter(const FaultMaker& fault, const Program& program, SegmentWriter& data)
      : fault_{fault}, program_{program}, data_{data}, writer_{fault}, builder_{writer_.builder()} {}

  Result<std::vector<std::byte>> write() {
    TANDEM_CHECK_OK(place_data());
    TANDEM_CHECK_OK(write_body());
    const std::size_t header_bytes = data_.data_bytes() != 0 ? kPteHeaderBytes : 0;
    TANDEM_TRY(auto file, writer_.file(header_bytes, data_));
    if (header_bytes != 0) {
      const std::uint64_t program_bytes = writer_.body_bytes() + header_bytes;
      put_pte_header(file, {.program_bytes = program_bytes,
                            .segment_base_offset = data_.base_behind(program_bytes),
                            .segment_data_bytes = data_.data_bytes()});
    }
    return file;
  }

 private:
  // ---- data -------------------------------------------------------------------------------------------------------

  Status place_data() {
    for (std::size_t i = 0; i < program_.named_data.size(); ++i) {
      const NamedDataEntry& entry = program_.named_data[i];
      TANDEM_CHECK_OK(data_.put_whole(FieldPath{"named_data", i}, entry.segment, entry.data));
    }
    for (std::size_t i = 0; i < program_.methods.size(); ++i) {
      const Method& method = program_.methods[i];
      if (Status placed = place_method(FieldPath{"execution_plan", i}, method); !placed.ok()) {
        return std::move(placed).error().with_method(std::string{method.name});
      }
    }
    return {};
  }

  Status place_method(const FieldPath& plan, const Method& method) {
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      TANDEM_CHECK_OK(place_payload(plan.child("delegates", i), method.delegates[i]));
    }
    for (std::size_t i = 0; i < method.values.size(); ++i) {
      const auto* tensor = std::get_if<Tensor>(&method.values[i]);
      if (tensor == nullptr) continue;
      if (Status placed = place_tensor(plan.child("values", i), *tensor); !placed.ok()) {
        return std::move(placed).error().with_value(static_cast<int>(i));
      }
    }
    return {};
  }

  Status place_payload(const FieldPath& delegate, const Delegate& stored) {
    const FieldPath field = delegate.child("processed");
    if (!stored.inline_payload) return data_.put_whole(field, stored.payload_index, stored.payload);
    const auto& payloads = program_.inline_delegate_data;
    if (stored.payload_index >= payloads.size()) {
      return fault_(field.child("index"), nullptr, "the index is out of range of the inline payloads")
          .with_expected(fmt::format("less than {}", payloads.size()), fmt::to_string(stored.payload_index));
    }
    const Bytes payload = payloads[stored.payload_index];
    if (payload.size() == stored.payload.size() &&
        (payload.data() == stored.payload.data() || std::ranges::equal(payload, stored.payload))) {
      return {};
    }
    return fault_(field, nullptr, "the payload is not the inline payload that it names");
  }

  Status place_tensor(const FieldPath& field, const Tensor& tensor) {
    const bool stored = tensor.source == DataSource::Constant || tensor.source == DataSource::Initial;
    const FieldPath index_field = field.child("data_buffer_idx");
    if (!stored) {
      if (tensor.source == DataSource::External || tensor.data_buffer_idx == 0) return {};
      return fault_(index_field, nullptr, "an index of data for a tensor without data")
          .with_expected("0", fmt::to_string(tensor.data_buffer_idx));
    }
    const bool initial = tensor.source == DataSource::Initial;
    if (initial != tensor.allocation.has_value()) {
      return fault_(field.child("allocation_info"), nullptr,
                    initial ? "initial values need planned memory" : "a constant has no planned memory");
    }
    if (tensor.data_buffer_idx == 0) {
      return fault_(index_field, nullptr, "index 0 means no data").with_expected("at least 1", "0");
    }
    const auto bytes = base::checked_bytes(std::span<const std::int64_t>{tensor.sizes}, item_bytes(tensor.dtype));
    if (!bytes || tensor.data.size() != *bytes) {
      return fault_(field, nullptr, "the tensor's data is not as long as its sizes say")
          .with_expected(bytes ? fmt::to_string(*bytes) : "a byte count below 2^63",
                         fmt::to_string(tensor.data.size()));
    }
    return initial ? place_initial(index_field, tensor) : place_constant(index_field, tensor);
  }

  Status place_initial(const FieldPath& field, const Tensor& tensor) {
    if (program_.mutable_segments.empty()) {
      return fault_(field, nullptr, "initial values, but no table of their offsets");
    }
    return place_at(field, program_.mutable_segments.front(), tensor);
  }

  Status place_constant(const FieldPath& field, const Tensor& tensor) {
    const auto& table = program_.constant_segment;
    if (table && table->offsets.size() > 1) return place_at(field, *table, tensor);
    // A table per constant: more than fit in a body are refused before they take memory.
    constexpr std::uint32_t kMaxBuffers = FLATBUFFERS_MAX_BUFFER_SIZE / (2 * sizeof(flatbuffers::uoffset_t));
    const std::uint32_t index = tensor.data_buffer_idx;
    if (index >= kMaxBuffers) {
      return fault_(field, nullptr, "too large an index for constants in the body")
          .with_expected(fmt::format("less than {}", kMaxBuffers), fmt::to_string(index));
    }
    if (index >= constant_buffer_.size()) constant_buffer_.resize(index + 1);
    Bytes& buffer = constant_buffer_[index];
    const Bytes shorter = buffer.size() < tensor.data.size() ? buffer : tensor.data;
    const Bytes longer = buffer.size() < tensor.data.size() ? tensor.data : buffer;
    if (shorter.data() != longer.data() && !std::ranges::equal(shorter, longer.first(shorter.size()))) {
      return fault_(field, nullptr, "two contents for one constant in the body");
    }
    buffer = longer;
    return {};
  }

  Status place_at(const FieldPath& field, const SubsegmentOffsets& table, const Tensor& tensor) {
    const std::uint32_t index = tensor.data_buffer_idx;
    if (index >= table.offsets.size()) {
      return fault_(field, nullptr, "the index is out of range of the offsets")
          .with_expected(fmt::format("1..{}", table.offsets.size() - 1), fmt::to_string(index));
    }
    return data_.put(field, table.segment, table.offsets[index], tensor.data);
  }

  // ---- body -------------------------------------------------------------------------------------------------------

  Status write_body() {
    std::vector<Offset<schema::ExecutionPlan>> plans;
    for (const Method& method : program_.methods) {
      TANDEM_TRY(const auto plan, write_method(writer_, FieldPath{"execution_plan", plans.size()}, method));
      plans.push_back(plan);
    }
    TANDEM_TRY(const auto constants, write_blobs("constant_buffer", constant_buffer_, schema::CreateBuffer));
    TANDEM_TRY(const auto payloads, write_blobs("backend_delegate_data", program_.inline_delegate_data,
                                                schema::CreateBackendDelegateInlineData));
    Offset<schema::SubsegmentOffsets> constant_segment;
    if (program_.constant_segment) constant_segment = write_offsets(*program_.constant_segment);
    std::vector<Offset<schema::SubsegmentOffsets>> initials;
    for (const SubsegmentOffsets& table : program_.mutable_segments) initials.push_back(write_offsets(table));
    std::vector<Offset<schema::NamedData>> named;
    for (const NamedDataEntry& entry : program_.named_data) {
      named.push_back(schema::CreateNamedData(builder_, writer_.text(entry.key), entry.segment));
      TANDEM_CHECK_OK(writer_.check_room(FieldPath{"named_data", named.size() - 1}));
    }
    const auto plan_list = writer_.tables(plans);
    const auto segments = writer_.segments(data_);
    // As exporters have it: these two are absent rather than empty.
    const auto initial_list = initials.empty() ? 0 : writer_.tables(initials);
    const auto named_list = named.empty() ? 0 : writer_.tables(named);
    TANDEM_CHECK_OK(writer_.check_room(FieldPath{"flatbuffer"}));
    const auto root = schema::CreateProgram(builder_, program_.version, plan_list, constants, payloads, segments,
                                            constant_segment, initial_list, named_list);
    return writer_.finish(FieldPath{"flatbuffer"}, root, kPteIdentifier);
  }

  Offset<schema::SubsegmentOffsets> write_offsets(const SubsegmentOffsets& table) {
    return schema::CreateSubsegmentOffsets(builder_, table.segment, writer_.list<std::uint64_t>(table.offsets));
  }

  /// A table with one list of bytes for each of `blobs`.
  template <class Table>
  Result<Offset<flatbuffers::Vector<Offset<Table>>>> write_blobs(
      std::string_view name, const std::vector<Bytes>& blobs,
      Offset<Table> (*create)(flatbuffers::FlatBufferBuilder&, Offset<flatbuffers::Vector<std::uint8_t>>)) {
    std::vector<Offset<Table>> out;
    for (const Bytes blob : blobs) {
      const auto bytes = writer_.bytes(blob, kFileAlignment);
      TANDEM_CHECK_OK(writer_.check_room(FieldPath{name, out.size()}));
      out.push_back(create(builder_, bytes));
    }
    return writer_.tables(out);
  }

  const FaultMaker& fault_;
  const Program& program_;
  SegmentWriter& data_;
  TableWriter writer_;
  flatbuffers::FlatBufferBuilder& builder_;
  std::vector<Bytes> constant_buffer_{};
};

}  // namespace

Result<std::vector<std::byte>> write_pte(const Program& program, const WriteOptions& options) {
  const FaultMaker fault{{}, ErrorCode::InvalidProgram};
  TANDEM_TRY(SegmentWriter data, SegmentWriter::create(fault, program.segments, options));
  TANDEM_TRY(auto file, ProgramWriter{fault, program, data}.write());
  TANDEM_CHECK_OK(check_read_back(read_pte(file)));
  return file;
}

}  // namespace tandem::format
