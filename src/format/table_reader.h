#pragma once

#include "format/fault.h"
#include "format/head.h"
#include "format/ptd/ptd.h"

#include <tandem_schema/data_segment_generated.h>

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::format {

/// Copies lists and texts out of a FlatBuffer body that the FlatBuffers verifier has passed, checking what it cannot
/// know: presence, ranges of indices, shapes.
///
/// A body may point at one list from many tables, so that a small file asks for a huge result. Everything copied or
/// hashed is therefore charged to a budget in proportion to the body.
class TableReader {
 public:
  TableReader(const FaultMaker& fault, std::size_t body_bytes)
      : fault_{fault}, budget_{std::uint64_t{kBudgetPerByte} * body_bytes} {}

  [[nodiscard]] const FaultMaker& fault() const noexcept { return fault_; }

  /// Fails if `value`, a list, text or table within `table`, is absent.
  [[nodiscard]] Status require(const FieldPath& field, const void* table, const void* value) const;

  /// Both may be empty; only optional_text() may be absent, and is then empty.
  [[nodiscard]] Result<std::string_view> text(const FieldPath& field, const void* table,
                                              const flatbuffers::String* value);
  [[nodiscard]] Result<std::string_view> optional_text(const FieldPath& field, const flatbuffers::String* value);

  /// Copies a list that must be there.
  template <class Out, class In>
  [[nodiscard]] Result<std::vector<Out>> list(const FieldPath& field, const void* table,
                                              const flatbuffers::Vector<In>* value) {
    TANDEM_CHECK_OK(require(field, table, value));
    TANDEM_CHECK_OK(charge(field, value, value->size()));
    std::vector<Out> out;
    out.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
      // Not through the list's own access: the verifier lets lists of 8-byte items start at a multiple of 4.
      In item{};
      std::memcpy(&item, value->Data() + i * sizeof item, sizeof item);
      out.push_back(static_cast<Out>(flatbuffers::EndianScalar(item)));
    }
    return out;
  }

  /// A number that must be at least `least` and less than `count`. `things` names what it counts, in the plural.
  template <std::integral Integer>
  [[nodiscard]] Status check_index(const FieldPath& field, const void* where, Integer index, std::size_t count,
                                   std::string_view things, std::size_t least = 0) const {
    if (std::cmp_greater_equal(index, least) && std::cmp_less(index, count)) return {};
    return bad_index(field, where, fmt::to_string(index), count, things, least);
  }

  /// Copies a list of indices, checking each.
  template <class Integer>
  [[nodiscard]] Result<std::vector<std::int32_t>> indices(const FieldPath& parent, std::string_view name,
                                                          const void* table, const flatbuffers::Vector<Integer>* value,
                                                          std::size_t count, std::string_view things) {
    TANDEM_TRY(auto out, list<Integer>(parent.child(name), table, value));
    for (std::size_t i = 0; i < out.size(); ++i) {
      TANDEM_CHECK_OK(check_index(parent.child(name, i), value, out[i], count, things));
    }
    return std::vector<std::int32_t>(out.begin(), out.end());
  }

  /// Dtype, sizes and dim_order of `table`, checked: a known dtype, at most 16 dimensions, none negative, a byte count
  /// that fits, and a permutation.
  [[nodiscard]] Result<TensorLayout> layout(const FieldPath& parent, const void* table, int scalar_type,
                                            const flatbuffers::Vector<std::int32_t>* sizes,
                                            const flatbuffers::Vector<std::uint8_t>* dim_order);

  /// Every segment of the list, based and within `region`. Segments may overlap; an absent list is an empty one.
  [[nodiscard]] Result<std::vector<Segment>> segments(
      const flatbuffers::Vector<flatbuffers::Offset<schema::DataSegment>>* list, const SegmentRegion& region);

 private:
  // Writers may share equal lists and texts; sixteen uses of every byte is far beyond what any does.
  static constexpr unsigned kBudgetPerByte = 16;

  [[nodiscard]] Status charge(const FieldPath& field, const void* where, std::uint64_t amount);
  [[nodiscard]] Error bad_index(const FieldPath& field, const void* where, std::string index, std::size_t count,
                                std::string_view things, std::size_t least) const;

  FaultMaker fault_;
  std::uint64_t budget_;
};

/// Bytes of a segment. Precondition: it lies within `file`.
[[nodiscard]] inline Bytes bytes_of(Bytes file, const Segment& segment) noexcept {
  return file.subspan(segment.offset, segment.bytes);
}

/// Bytes of a list in the body; an absent one is empty.
[[nodiscard]] inline Bytes bytes_of(const flatbuffers::Vector<std::uint8_t>* list) noexcept {
  if (list == nullptr) return {};
  return std::as_bytes(std::span{list->data(), list->size()});
}

}  // namespace tandem::format
