#include "format/pte/pte.h"

#include "format/pte/head.h"
#include "format/pte/method_reader.h"
#include "format/verify.h"

#include <unordered_set>
#include <utility>

namespace tandem::format {
namespace {

class ProgramReader {
 public:
  ProgramReader(const FaultMaker& fault, const PteHead& head, const schema::Program& table)
      : fault_{fault}, head_{head}, table_{table}, reader_{fault, head.body.size()} {}

  Result<Program> read() {
    out_.version = table_.version();
    out_.root_offset = head_.root_offset;
    out_.header = head_.header;
    TANDEM_TRY(out_.segments, reader_.segments(table_.segments(), head_.segments));
    TANDEM_CHECK_OK(read_constants());
    TANDEM_CHECK_OK(read_initials());
    if (const auto* list = table_.backend_delegate_data(); list != nullptr) {
      for (const auto* payload : *list) out_.inline_delegate_data.push_back(bytes_of(payload->data()));
    }
    TANDEM_CHECK_OK(read_named_data());
    TANDEM_CHECK_OK(read_methods());
    return std::move(out_);
  }

 private:
  /// Reads one table of offsets. Appends to `entries` the bytes from each offset to the end of the segment; entry 0 is
  /// a placeholder, and a table with nothing else does not refer to its segment.
  Result<SubsegmentOffsets> read_offsets(const FieldPath& field, const schema::SubsegmentOffsets& table,
                                         std::vector<Bytes>& entries) {
    SubsegmentOffsets out;
    out.segment = table.segment_index();
    const auto* offsets = table.offsets();
    if (offsets == nullptr) return out;
    TANDEM_TRY(out.offsets, reader_.list<std::uint64_t>(field.child("offsets"), &table, offsets));
    if (out.offsets.size() <= 1) return out;
    TANDEM_CHECK_OK(
        reader_.check_index(field.child("segment_index"), &table, out.segment, out_.segments.size(), "segments"));
    const Bytes segment = bytes_of(fault_.file, out_.segments[out.segment]);
    entries.emplace_back();
    for (std::size_t i = 1; i < out.offsets.size(); ++i) {
      if (out.offsets[i] > segment.size()) {
        return fault_(field.child("offsets", i), offsets, "the offset is not in the segment")
            .with_expected(fmt::format("at most {}", segment.size()), fmt::to_string(out.offsets[i]));
      }
      entries.push_back(segment.subspan(out.offsets[i]));
    }
    return out;
  }

  Status read_constants() {
    if (const auto* table = table_.constant_segment(); table != nullptr) {
      TANDEM_TRY(out_.constant_segment, read_offsets(FieldPath{"constant_segment"}, *table, constants_));
    }
    // Files from before there were segments keep constants in the body.
    const auto* buffers = table_.constant_buffer();
    if (buffers == nullptr || buffers->size() == 0) return {};
    if (!constants_.empty()) {
      return fault_(FieldPath{"constant_buffer"}, buffers, "constants both in the body and in a segment")
          .with_expected("one of the two",
                         fmt::format("{} buffers and {} offsets", buffers->size(), constants_.size()));
    }
    for (const schema::Buffer* buffer : *buffers) constants_.push_back(bytes_of(buffer->storage()));
    return {};
  }

  Status read_initials() {
    const auto* tables = table_.mutable_data_segments();
    if (tables == nullptr) return {};
    std::vector<Bytes> unused;
    for (const schema::SubsegmentOffsets* table : *tables) {
      const std::size_t i = out_.mutable_segments.size();
      // Tensors refer to the first table only, whatever their own index says.
      TANDEM_TRY(SubsegmentOffsets offsets,
                 read_offsets(FieldPath{"mutable_data_segments", i}, *table, i == 0 ? initials_ : unused));
      out_.mutable_segments.push_back(std::move(offsets));
    }
    return {};
  }

  Status read_named_data() {
    const auto* list = table_.named_data();
    if (list == nullptr) return {};
    std::unordered_set<std::string_view> keys;
    for (const schema::NamedData* entry : *list) {
      const FieldPath field{"named_data", out_.named_data.size()};
      const FieldPath key_field = field.child("key");
      TANDEM_TRY(const auto key, reader_.text(key_field, entry, entry->key()));
      if (!keys.insert(key).second) {
        return fault_(key_field, entry->key(), "the key is there twice").with_key(std::string{key});
      }
      const std::uint32_t segment = entry->segment_index();
      TANDEM_CHECK_OK(
          reader_.check_index(field.child("segment_index"), entry, segment, out_.segments.size(), "segments"));
      out_.named_data.push_back({key, segment, bytes_of(fault_.file, out_.segments[segment])});
    }
    return {};
  }

  Status read_methods() {
    const auto* plans = table_.execution_plan();
    TANDEM_CHECK_OK(reader_.require(FieldPath{"execution_plan"}, &table_, plans));
    const ProgramParts parts{constants_, initials_, out_.segments, out_.inline_delegate_data};
    std::unordered_set<std::string_view> names;
    for (const schema::ExecutionPlan* plan : *plans) {
      const FieldPath field{"execution_plan", out_.methods.size()};
      TANDEM_TRY(Method method, read_method(reader_, field, *plan, parts));
      if (!names.insert(method.name).second) {
        return fault_(field.child("name"), plan->name(), "two methods of one name")
            .with_method(std::string{method.name});
      }
      out_.methods.push_back(std::move(method));
    }
    return {};
  }

  const FaultMaker& fault_;
  const PteHead& head_;
  const schema::Program& table_;
  TableReader reader_;
  std::vector<Bytes> constants_{};
  std::vector<Bytes> initials_{};
  Program out_{};
};

}  // namespace

Result<Program> read_pte(Bytes file) {
  const FaultMaker fault{file, ErrorCode::InvalidProgram};
  TANDEM_TRY(const PteHead head, read_pte_head(fault));
  TANDEM_TRY(const schema::Program* const table, verified_root<schema::Program>(fault, head.body));
  return ProgramReader{fault, head, *table}.read();
}

}  // namespace tandem::format
