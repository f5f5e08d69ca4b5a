#include "format/ptd/write.h"

#include "base/checked.h"
#include "format/ptd/head.h"
#include "format/read_back.h"
#include "format/table_writer.h"

#include <tandem_schema/flat_tensor_generated.h>

namespace tandem::format {
namespace {

using flatbuffers::Offset;

constexpr std::size_t kHeaderBytes = base::align_up(ptd_head::kMinLength, kFileAlignment);

Result<Offset<schema::FlatTensorEntry>> write_entry(TableWriter& writer, const FieldPath& field,
                                                    const DataEntry& entry) {
  Offset<schema::TensorLayout> layout;
  if (entry.layout) {
    TANDEM_TRY(const auto sizes, writer.sizes(field.child("tensor_layout"), entry.layout->sizes));
    layout = schema::CreateTensorLayout(writer.builder(), static_cast<std::int8_t>(entry.layout->dtype), sizes,
                                        writer.list<std::uint8_t>(entry.layout->dim_order));
  }
  return schema::CreateFlatTensorEntry(writer.builder(), writer.text(entry.key), entry.segment, layout);
}

Status write_body(TableWriter& writer, const DataFile& file, SegmentWriter& data) {
  std::vector<Offset<schema::FlatTensorEntry>> entries;
  for (const DataEntry& entry : file.entries) {
    const FieldPath field{"named_data", entries.size()};
    TANDEM_CHECK_OK(data.put_whole(field, entry.segment, entry.data));
    TANDEM_TRY(const auto written, write_entry(writer, field, entry));
    TANDEM_CHECK_OK(writer.check_room(field));
    entries.push_back(written);
  }
  const auto segments = writer.segments(data);
  const auto entry_list = writer.tables(entries);
  const FieldPath field{"flatbuffer"};
  TANDEM_CHECK_OK(writer.check_room(field));
  return writer.finish(field, schema::CreateFlatTensor(writer.builder(), file.version, segments, entry_list),
                       ptd_head::kIdentifier);
}

/// As exporters have it, the offset counts from byte 0 and skips the header, the size leaves the header out.
void put_header(std::span<std::byte> file, std::uint64_t body_bytes, const SegmentWriter& data) {
  put_magic(file, kHeaderOffset, ptd_head::kMagic);
  put_u32(file, ptd_head::kLengthOffset, ptd_head::kMinLength);
  put_u64(file, ptd_head::kFlatbufferOffsetOffset, kHeaderBytes);
  put_u64(file, ptd_head::kFlatbufferBytesOffset, body_bytes);
  put_u64(file, ptd_head::kSegmentBaseOffset, data.base_behind(body_bytes + kHeaderBytes));
  put_u64(file, ptd_head::kSegmentDataBytesOffset, data.data_bytes());
}

}  // namespace

Result<std::vector<std::byte>> write_ptd(const DataFile& data, const WriteOptions& options) {
  const FaultMaker fault{{}, ErrorCode::InvalidExternalData};
  TANDEM_TRY(SegmentWriter segments, SegmentWriter::create(fault, data.segments, options));
  TableWriter writer{fault};
  TANDEM_CHECK_OK(write_body(writer, data, segments));
  TANDEM_TRY(auto file, writer.file(kHeaderBytes, segments));
  put_header(file, writer.body_bytes(), segments);
  TANDEM_CHECK_OK(check_read_back(read_ptd(file)));
  return file;
}

}  // namespace tandem::format
