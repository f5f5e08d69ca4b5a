#include "format/ptd/ptd.h"

#include "base/checked.h"
#include "format/ptd/head.h"
#include "format/table_reader.h"
#include "format/verify.h"

#include <tandem_schema/flat_tensor_generated.h>

#include <unordered_set>
#include <utility>

namespace tandem::format {
namespace {

using namespace ptd_head;

/// The header, its ranges checked against each other and the file.
Result<DataHeader> read_header(const FaultMaker& fault) {
  const Bytes file = fault.file;
  const FieldPath field{"header"};
  if (const std::string_view magic = read_magic(file, kHeaderOffset); magic != kMagic) {
    return fault(field.child("magic"), file.data() + kHeaderOffset, "the header is missing")
        .with_expected(fmt::format("{:?}", kMagic), fmt::format("{:?}", magic));
  }
  if (file.size() < kHeaderOffset + kMinLength) {
    return fault(field, file.data() + kHeaderOffset, "the file ends within the header")
        .with_expected(fmt::format("at least {} bytes", kHeaderOffset + kMinLength),
                       fmt::format("{} bytes", file.size()));
  }
  const DataHeader header{read_u32(file, kLengthOffset), read_u64(file, kFlatbufferOffsetOffset),
                          read_u64(file, kFlatbufferBytesOffset), read_u64(file, kSegmentBaseOffset),
                          read_u64(file, kSegmentDataBytesOffset)};
  if (header.length < kMinLength) {
    return fault(field.child("length"), file.data() + kLengthOffset, "the header is too short")
        .with_expected(fmt::format("at least {}", kMinLength), fmt::to_string(header.length));
  }
  const std::uint64_t header_end = kHeaderOffset + std::uint64_t{header.length};
  if (header.flatbuffer_offset < header_end || header.flatbuffer_offset > file.size()) {
    return fault(field.child("flatbuffer_offset"), file.data() + kFlatbufferOffsetOffset,
                 "the FlatBuffer does not start behind the header and within the file")
        .with_expected(fmt::format("{}..{}", header_end, file.size()), fmt::to_string(header.flatbuffer_offset));
  }
  if (!base::fits(header.flatbuffer_offset, header.flatbuffer_bytes, file.size())) {
    return fault(field.child("flatbuffer_size"), file.data() + kFlatbufferBytesOffset,
                 "the FlatBuffer does not end within the file")
        .with_expected(fmt::format("at most {}", file.size() - header.flatbuffer_offset),
                       fmt::to_string(header.flatbuffer_bytes));
  }
  const std::uint64_t flatbuffer_end = header.flatbuffer_offset + header.flatbuffer_bytes;
  if (header.segment_base_offset < flatbuffer_end || header.segment_base_offset > file.size()) {
    return fault(field.child("segment_base_offset"), file.data() + kSegmentBaseOffset,
                 "segments do not start behind the FlatBuffer and within the file")
        .with_expected(fmt::format("{}..{}", flatbuffer_end, file.size()), fmt::to_string(header.segment_base_offset));
  }
  if (!base::fits(header.segment_base_offset, header.segment_data_bytes, file.size())) {
    return fault(field.child("segment_data_size"), file.data() + kSegmentDataBytesOffset,
                 "the segments do not end within the file")
        .with_expected(fmt::format("at most {}", file.size() - header.segment_base_offset),
                       fmt::to_string(header.segment_data_bytes));
  }
  return header;
}

/// Checks the entry's layout against its bytes.
Result<TensorLayout> read_layout(TableReader& reader, const FieldPath& entry, const schema::TensorLayout& table,
                                 Bytes data) {
  const FieldPath field = entry.child("tensor_layout");
  TANDEM_TRY(TensorLayout layout, reader.layout(field, &table, table.scalar_type(), table.sizes(), table.dim_order()));
  if (layout.bytes > data.size()) {
    return reader.fault()(field, &table, "the segment is shorter than the layout needs")
        .with_expected(fmt::format("at least {} bytes", layout.bytes), fmt::format("{} bytes", data.size()));
  }
  return layout;
}

Result<std::vector<DataEntry>> read_entries(TableReader& reader, const schema::FlatTensor& table,
                                            std::span<const Segment> segments) {
  const FaultMaker& fault = reader.fault();
  TANDEM_CHECK_OK(reader.require(FieldPath{"named_data"}, &table, table.named_data()));
  std::vector<DataEntry> out;
  std::unordered_set<std::string_view> keys;
  for (const schema::FlatTensorEntry* stored : *table.named_data()) {
    const FieldPath field{"named_data", out.size()};
    const FieldPath key_field = field.child("key");
    DataEntry entry;
    TANDEM_TRY(entry.key, reader.text(key_field, stored, stored->key()));
    if (!keys.insert(entry.key).second) {
      return fault(key_field, stored->key(), "the key is there twice").with_key(std::string{entry.key});
    }
    entry.segment = stored->segment_index();
    TANDEM_CHECK_OK(
        reader.check_index(field.child("segment_index"), stored, entry.segment, segments.size(), "segments"));
    entry.data = bytes_of(fault.file, segments[entry.segment]);
    if (const auto* layout = stored->tensor_layout(); layout != nullptr) {
      auto read = read_layout(reader, field, *layout, entry.data);
      if (!read.ok()) return std::move(read).error().with_key(std::string{entry.key});
      entry.layout = *std::move(read);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

Result<DataFile> read_ptd(Bytes file) {
  const FaultMaker fault{file, ErrorCode::InvalidExternalData};
  TANDEM_CHECK_OK(check_identifier(fault, kIdentifier));
  DataFile out;
  TANDEM_TRY(out.header, read_header(fault));
  // The root offset counts from byte 0, so the body does too.
  const Bytes body = file.first(out.header.flatbuffer_offset + out.header.flatbuffer_bytes);
  TANDEM_TRY(const schema::FlatTensor* const table, verified_root<schema::FlatTensor>(fault, body));
  out.version = table->version();
  out.root_offset = read_u32(file, 0);
  TableReader reader{fault, body.size()};
  TANDEM_CHECK_OK(reader.require(FieldPath{"segments"}, table, table->segments()));
  TANDEM_TRY(out.segments,
             reader.segments(table->segments(), {out.header.segment_base_offset, out.header.segment_data_bytes}));
  TANDEM_TRY(out.entries, read_entries(reader, *table, out.segments));
  return out;
}

}  // namespace tandem::format
