#pragma once

#include "format/fault.h"
#include "format/segment_writer.h"

#include <tandem_schema/data_segment_generated.h>

#include <string_view>
#include <vector>

namespace tandem::format {

/// Builds a FlatBuffer body and joins it with header and segments.
///
/// A body must stay below 2 GiB, which FlatBuffers does not report. A list or text that is too much is left out;
/// check_room(), asked after every few tables, then fails.
class TableWriter {
 public:
  explicit TableWriter(const FaultMaker& fault) : fault_{fault} {}

  [[nodiscard]] flatbuffers::FlatBufferBuilder& builder() noexcept { return builder_; }
  [[nodiscard]] const FaultMaker& fault() const noexcept { return fault_; }

  [[nodiscard]] flatbuffers::Offset<flatbuffers::String> text(std::string_view text);
  [[nodiscard]] flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> bytes(Bytes bytes, std::size_t alignment = 1);
  /// Precondition: every item can be an `Out`.
  template <class Out, class In>
  [[nodiscard]] flatbuffers::Offset<flatbuffers::Vector<Out>> list(const std::vector<In>& items) {
    if (!take(items.size() * sizeof(Out))) return 0;
    return builder_.CreateVector(std::vector<Out>(items.begin(), items.end()));
  }
  template <class Table>
  [[nodiscard]] flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Table>>> tables(
      const std::vector<flatbuffers::Offset<Table>>& items) {
    if (!take(items.size() * sizeof(flatbuffers::uoffset_t))) return 0;
    return builder_.CreateVector(items);
  }
  /// Errors: the format's code at "sizes" of `parent`, a size that its field cannot hold.
  [[nodiscard]] Result<flatbuffers::Offset<flatbuffers::Vector<std::int32_t>>> sizes(
      const FieldPath& parent, const std::vector<std::int64_t>& sizes);
  [[nodiscard]] flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::DataSegment>>> segments(
      const SegmentWriter& data);

  /// Errors: the format's code at `field`, the body is too long.
  [[nodiscard]] Status check_room(const FieldPath& field);

  /// Errors: as check_room(). The body ends with `root`.
  template <class Root>
  [[nodiscard]] Status finish(const FieldPath& field, flatbuffers::Offset<Root> root, const char* identifier) {
    TANDEM_CHECK_OK(check_room(field));
    builder_.Finish(root, identifier);
    return {};
  }

  /// Of the finished body.
  [[nodiscard]] std::size_t body_bytes() const noexcept { return builder_.GetSize(); }
  /// The finished file: the body with room for a header behind its identifier, then the segments.
  ///
  /// Shapes: `header_bytes` is a multiple of 16, so that the body stays aligned; 0 only if there is no segment data.
  /// Errors: as SegmentWriter::copy_to().
  [[nodiscard]] Result<std::vector<std::byte>> file(std::size_t header_bytes, SegmentWriter& data);

 private:
  [[nodiscard]] bool take(std::size_t bytes) noexcept;

  FaultMaker fault_;
  flatbuffers::FlatBufferBuilder builder_{};
  bool full_ = false;
};

}  // namespace tandem::format
