#include "format/table_writer.h"

#include "format/head.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

namespace tandem::format {
namespace {

// Between two calls of check_room() no more than this is written besides lists and texts.
constexpr std::size_t kTableReserve = 1 << 16;
constexpr std::size_t kMaxBodyBytes = FLATBUFFERS_MAX_BUFFER_SIZE - kTableReserve;

}  // namespace

bool TableWriter::take(std::size_t bytes) noexcept {
  if (builder_.GetSize() >= kMaxBodyBytes || bytes >= kMaxBodyBytes - builder_.GetSize()) full_ = true;
  return !full_;
}

Status TableWriter::check_room(const FieldPath& field) {
  if (take(0)) return {};
  return fault_(field, nullptr, "the FlatBuffer would be too long")
      .with_expected(fmt::format("less than {} bytes", FLATBUFFERS_MAX_BUFFER_SIZE), "more");
}

flatbuffers::Offset<flatbuffers::String> TableWriter::text(std::string_view text) {
  if (!take(text.size())) return 0;
  return builder_.CreateString(text.data(), text.size());
}

flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> TableWriter::bytes(Bytes bytes, std::size_t alignment) {
  if (!take(bytes.size())) return 0;
  builder_.ForceVectorAlignment(bytes.size(), 1, alignment);
  return builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Result<flatbuffers::Offset<flatbuffers::Vector<std::int32_t>>> TableWriter::sizes(
    const FieldPath& parent, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (std::in_range<std::int32_t>(sizes[i])) continue;
    return fault_(parent.child("sizes", i), nullptr, "a size that its field cannot hold")
        .with_expected(fmt::format("at most {}", std::numeric_limits<std::int32_t>::max()), fmt::to_string(sizes[i]));
  }
  return list<std::int32_t>(sizes);
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::DataSegment>>> TableWriter::segments(
    const SegmentWriter& data) {
  std::vector<flatbuffers::Offset<schema::DataSegment>> out;
  for (const Segment& segment : data.segments()) {
    out.push_back(schema::CreateDataSegment(builder_, segment.offset, segment.bytes));
    if (!take(0)) break;
  }
  return tables(out);
}

Result<std::vector<std::byte>> TableWriter::file(std::size_t header_bytes, SegmentWriter& data) {
  const Bytes body = std::as_bytes(std::span{builder_.GetBufferPointer(), builder_.GetSize()});
  const std::uint64_t body_bytes = body.size() + header_bytes;
  const std::uint64_t base = header_bytes != 0 ? data.base_behind(body_bytes) : body_bytes;
  std::vector<std::byte> out(base + data.data_bytes());
  std::memcpy(out.data(), body.data(), kHeaderOffset);
  std::memcpy(out.data() + kHeaderOffset + header_bytes, body.data() + kHeaderOffset, body.size() - kHeaderOffset);
  put_u32(out, 0, read_u32(body, 0) + static_cast<std::uint32_t>(header_bytes));
  TANDEM_CHECK_OK(data.copy_to(std::span{out}.subspan(base)));
  return out;
}

}  // namespace tandem::format
