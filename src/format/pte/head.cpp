#include "format/pte/head.h"

#include <fmt/format.h>

namespace tandem::format {
namespace {

constexpr std::string_view kHeaderMagic = "eh00";
constexpr std::size_t kLengthOffset = kHeaderOffset + 4;
constexpr std::size_t kProgramBytesOffset = kHeaderOffset + 8;
constexpr std::size_t kSegmentBaseOffset = kHeaderOffset + 16;
constexpr std::size_t kSegmentDataBytesOffset = kHeaderOffset + 24;
constexpr std::uint32_t kMinLength = 24;
constexpr std::uint32_t kLengthWithSegmentDataBytes = 32;

Result<ExtendedHeader> read_header(const FaultMaker& fault) {
  const Bytes file = fault.file;
  const FieldPath header_field{"extended_header"};
  if (file.size() < kHeaderOffset + kMinLength) {
    return fault(header_field, file.data() + kHeaderOffset, "the file ends within the header")
        .with_expected(fmt::format("at least {} bytes", kHeaderOffset + kMinLength),
                       fmt::format("{} bytes", file.size()));
  }
  ExtendedHeader header;
  header.length = read_u32(file, kLengthOffset);
  header.program_bytes = read_u64(file, kProgramBytesOffset);
  header.segment_base_offset = read_u64(file, kSegmentBaseOffset);
  if (header.length < kMinLength) {
    return fault(header_field.child("length"), file.data() + kLengthOffset, "the header is too short")
        .with_expected(fmt::format("at least {}", kMinLength), fmt::to_string(header.length));
  }
  const std::uint64_t header_end = kHeaderOffset + std::uint64_t{header.length};
  if (header.program_bytes < header_end || header.program_bytes > file.size()) {
    return fault(header_field.child("program_size"), file.data() + kProgramBytesOffset,
                 "the program does not end behind the header and within the file")
        .with_expected(fmt::format("{}..{}", header_end, file.size()), fmt::to_string(header.program_bytes));
  }
  if (header.length >= kLengthWithSegmentDataBytes) header.segment_data_bytes = read_u64(file, kSegmentDataBytesOffset);
  return header;
}

Result<SegmentRegion> segment_region(const FaultMaker& fault, const ExtendedHeader& header) {
  const std::uint64_t file_bytes = fault.file.size();
  const FieldPath header_field{"extended_header"};
  const std::uint64_t base = header.segment_base_offset;
  const bool has_segments = base != 0;
  if (has_segments && (base < header.program_bytes || base > file_bytes)) {
    return fault(header_field.child("segment_base_offset"), fault.file.data() + kSegmentBaseOffset,
                 "segments do not start behind the program and within the file")
        .with_expected(fmt::format("{}..{}", header.program_bytes, file_bytes), fmt::to_string(base));
  }
  const std::uint64_t limit = has_segments ? file_bytes - base : 0;
  if (header.segment_data_bytes > limit) {
    return fault(header_field.child("segment_data_size"), fault.file.data() + kSegmentDataBytesOffset,
                 "the segments do not end within the file")
        .with_expected(fmt::format("at most {}", limit), fmt::to_string(header.segment_data_bytes));
  }
  // Old writers leave the size at 0; then the file's end has to do.
  return SegmentRegion{base, header.segment_data_bytes != 0 ? header.segment_data_bytes : limit};
}

}  // namespace

Result<PteHead> read_pte_head(const FaultMaker& fault) {
  TANDEM_CHECK_OK(check_identifier(fault, kPteIdentifier));
  PteHead head;
  head.root_offset = read_u32(fault.file, 0);
  head.body = fault.file;
  if (read_magic(fault.file, kHeaderOffset) == kHeaderMagic) {
    TANDEM_TRY(head.header, read_header(fault));
    TANDEM_TRY(head.segments, segment_region(fault, *head.header));
    head.body = fault.file.first(head.header->program_bytes);
  }
  return head;
}

void put_pte_header(std::span<std::byte> file, const ExtendedHeader& header) noexcept {
  static_assert(kPteHeaderBytes == kLengthWithSegmentDataBytes);
  put_magic(file, kHeaderOffset, kHeaderMagic);
  put_u32(file, kLengthOffset, kPteHeaderBytes);
  put_u64(file, kProgramBytesOffset, header.program_bytes);
  put_u64(file, kSegmentBaseOffset, header.segment_base_offset);
  put_u64(file, kSegmentDataBytesOffset, header.segment_data_bytes);
}

}  // namespace tandem::format
