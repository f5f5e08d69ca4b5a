#include "format/table_reader.h"

#include "base/checked.h"

#include <utility>

namespace tandem::format {
namespace {

constexpr std::size_t kMaxRank = 16;

bool is_permutation(const std::vector<std::uint8_t>& axes) {
  std::uint32_t seen = 0;
  for (const std::uint8_t axis : axes) {
    if (axis >= axes.size() || (seen >> axis & 1U) != 0) return false;
    seen |= 1U << axis;
  }
  return true;
}

}  // namespace

Status TableReader::require(const FieldPath& field, const void* table, const void* value) const {
  if (value != nullptr) return {};
  return fault_(field, table, "required, but not there");
}

Result<std::string_view> TableReader::text(const FieldPath& field, const void* table,
                                           const flatbuffers::String* value) {
  TANDEM_CHECK_OK(require(field, table, value));
  return optional_text(field, value);
}

Result<std::string_view> TableReader::optional_text(const FieldPath& field, const flatbuffers::String* value) {
  if (value == nullptr) return std::string_view{};
  TANDEM_CHECK_OK(charge(field, value, value->size()));
  return value->string_view();
}

Result<TensorLayout> TableReader::layout(const FieldPath& parent, const void* table, int scalar_type,
                                         const flatbuffers::Vector<std::int32_t>* sizes,
                                         const flatbuffers::Vector<std::uint8_t>* dim_order) {
  TensorLayout out;
  if (!is_scalar_type(scalar_type)) {
    return fault_(parent.child("scalar_type"), table, "no such element type")
        .with_expected("0..29", fmt::to_string(scalar_type));
  }
  out.dtype = static_cast<ScalarType>(scalar_type);

  const FieldPath sizes_field = parent.child("sizes");
  TANDEM_CHECK_OK(require(sizes_field, table, sizes));
  if (sizes->size() > kMaxRank) {
    return fault_(sizes_field, sizes, "too many dimensions")
        .with_expected(fmt::format("at most {}", kMaxRank), fmt::to_string(sizes->size()));
  }
  TANDEM_TRY(out.sizes, list<std::int64_t>(sizes_field, table, sizes));
  for (std::size_t i = 0; i < out.sizes.size(); ++i) {
    if (out.sizes[i] >= 0) continue;
    return fault_(parent.child("sizes", i), sizes, "a negative size")
        .with_expected("at least 0", fmt::to_string(out.sizes[i]));
  }
  const auto bytes = base::checked_bytes(std::span<const std::int64_t>{out.sizes}, item_bytes(out.dtype));
  if (!bytes) {
    return fault_(sizes_field, sizes, "more bytes than 64 bits can count")
        .with_expected("a byte count below 2^63",
                       fmt::format("[{}] elements of {} bytes", fmt::join(out.sizes, ", "), item_bytes(out.dtype)));
  }
  out.bytes = *bytes;

  const FieldPath order_field = parent.child("dim_order");
  TANDEM_CHECK_OK(require(order_field, table, dim_order));
  if (dim_order->size() != out.sizes.size()) {
    return fault_(order_field, dim_order, "not as long as the list of sizes")
        .with_expected(fmt::to_string(out.sizes.size()), fmt::to_string(dim_order->size()));
  }
  TANDEM_TRY(out.dim_order, list<std::uint8_t>(order_field, table, dim_order));
  if (!is_permutation(out.dim_order)) {
    return fault_(order_field, dim_order, "not a permutation of the axes")
        .with_expected(fmt::format("each of 0..{} once", out.sizes.size() - 1),
                       fmt::format("[{}]", fmt::join(out.dim_order, ", ")));
  }
  return out;
}

Result<std::vector<Segment>> TableReader::segments(
    const flatbuffers::Vector<flatbuffers::Offset<schema::DataSegment>>* list, const SegmentRegion& region) {
  std::vector<Segment> out;
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (const schema::DataSegment* segment : *list) {
    if (!base::fits(segment->offset(), segment->size(), region.bytes)) {
      return fault_(FieldPath{"segments", out.size()}, segment,
                    "the segment does not lie within the file's segment data")
          .with_expected(fmt::format("within the {} bytes from offset {}", region.bytes, region.base),
                         fmt::format("{} bytes at {} of these", segment->size(), segment->offset()));
    }
    out.push_back({region.base + segment->offset(), segment->size()});
  }
  return out;
}

Status TableReader::charge(const FieldPath& field, const void* where, std::uint64_t amount) {
  if (amount > budget_) {
    return fault_(field, where, "lists and texts are shared by too many tables")
        .with_expected(fmt::format("at most {} uses of each byte", kBudgetPerByte), "more");
  }
  budget_ -= amount;
  return {};
}

Error TableReader::bad_index(const FieldPath& field, const void* where, std::string index, std::size_t count,
                             std::string_view things, std::size_t least) const {
  const std::string expected = count > least ? fmt::format("{}..{}", least, count - 1) : std::string{"no index"};
  return fault_(field, where, fmt::format("the index is out of range of the {}", things))
      .with_expected(expected, std::move(index));
}

}  // namespace tandem::format
