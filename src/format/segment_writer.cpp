#include "format/segment_writer.h"

#include "base/checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tandem::format {
namespace {

// Far beyond any file, and low enough that sums of a few of them do not overflow.
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 60;

Status check_alignment(std::uint64_t alignment) {
  if (is_alignment(alignment)) return {};
  return Error{ErrorCode::InvalidArgument, "no alignment"}.with_expected(
      fmt::format("a power of two up to {}", kMaxAlignment), fmt::to_string(alignment));
}

}  // namespace

Result<SegmentWriter> SegmentWriter::create(const FaultMaker& fault, std::span<const Segment> segments,
                                            const WriteOptions& options) {
  const std::vector<std::uint64_t>& own = options.own_alignments;
  if (!own.empty() && own.size() != segments.size()) {
    return Error{ErrorCode::InvalidArgument, "not one alignment per segment"}.with_expected(
        fmt::to_string(segments.size()), fmt::to_string(own.size()));
  }
  TANDEM_CHECK_OK(check_alignment(options.segment_alignment));
  SegmentWriter out{fault};
  out.alignment_ = options.segment_alignment;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    std::uint64_t alignment = options.segment_alignment;
    if (!own.empty()) {
      TANDEM_CHECK_OK(check_alignment(own[i]));
      alignment = std::max(alignment, own[i]);
    }
    out.alignment_ = std::max(out.alignment_, alignment);
    const std::uint64_t offset = base::align_up(out.data_bytes_, alignment);
    if (!base::fits(offset, segments[i].bytes, kMaxFileBytes)) {
      return fault(FieldPath{"segments", i}, nullptr, "more bytes than a file can have")
          .with_expected(fmt::format("within {} bytes", kMaxFileBytes),
                         fmt::format("{} bytes at {}", segments[i].bytes, offset));
    }
    out.segments_.push_back({offset, segments[i].bytes});
    // Padding is between segments only, so an empty one at the end takes none.
    if (segments[i].bytes != 0) out.data_bytes_ = offset + segments[i].bytes;
  }
  // An empty segment must lie within the data too.
  for (Segment& segment : out.segments_) segment.offset = std::min(segment.offset, out.data_bytes_);
  return out;
}

Status SegmentWriter::check_index(const FieldPath& field, std::uint32_t index) const {
  if (index < segments_.size()) return {};
  return fault_(field, nullptr, "the index is out of range of the segments")
      .with_expected(fmt::format("less than {}", segments_.size()), fmt::to_string(index));
}

Status SegmentWriter::put(const FieldPath& field, std::uint32_t index, std::uint64_t offset, Bytes bytes) {
  TANDEM_CHECK_OK(check_index(field, index));
  const Segment& segment = segments_[index];
  if (!base::fits(offset, bytes.size(), segment.bytes)) {
    return fault_(field, nullptr, "the bytes do not lie within their segment")
        .with_expected(fmt::format("within {} bytes", segment.bytes),
                       fmt::format("{} bytes at {}", bytes.size(), offset));
  }
  if (!bytes.empty()) pieces_.push_back({segment.offset + offset, index, bytes});
  return {};
}

Status SegmentWriter::put_whole(const FieldPath& field, std::uint32_t index, Bytes bytes) {
  TANDEM_CHECK_OK(check_index(field, index));
  if (bytes.size() != segments_[index].bytes) {
    return fault_(field, nullptr, "the bytes are not as many as their segment has")
        .with_expected(fmt::to_string(segments_[index].bytes), fmt::to_string(bytes.size()));
  }
  return put(field, index, 0, bytes);
}

std::uint64_t SegmentWriter::base_behind(std::uint64_t body_bytes) const noexcept {
  return base::align_up(body_bytes, alignment_);
}

Status SegmentWriter::copy_to(std::span<std::byte> region) {
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.at < b.at; });
  std::uint64_t written = 0;  // all pieces so far end here or before
  for (const Piece& piece : pieces_) {
    // Segments and offsets may name bytes several times.
    const std::size_t known = piece.at < written ? std::min(piece.bytes.size(), written - piece.at) : 0;
    if (known != 0 && std::memcmp(region.data() + piece.at, piece.bytes.data(), known) != 0) {
      const std::uint64_t at = piece.at - segments_[piece.segment].offset;
      return fault_(FieldPath{"segments", piece.segment}, nullptr, "two contents for the same bytes")
          .with_expected("equal bytes", fmt::format("others in the {} bytes at {}", known, at));
    }
    if (const Bytes rest = piece.bytes.subspan(known); !rest.empty()) {
      std::memcpy(region.data() + piece.at + known, rest.data(), rest.size());
    }
    written = std::max(written, piece.at + piece.bytes.size());
  }
  return {};
}

}  // namespace tandem::format
