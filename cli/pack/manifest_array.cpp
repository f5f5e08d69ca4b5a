#include "cli/pack/manifest_array.h"

#include "base/checked.h"
#include "cli/npy.h"
#include "cli/strided.h"
#include "cli/text.h"

#include <tandem/tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace tandem::cli {
namespace {

Result<std::vector<std::uint8_t>> read_dim_order(const ManifestNode& object, std::size_t rank) {
  std::vector<std::uint8_t> identity(rank);
  std::iota(identity.begin(), identity.end(), std::uint8_t{0});
  const std::optional<ManifestNode> node = object.find("dim_order");
  if (!node) return identity;
  TANDEM_TRY(const std::vector<ManifestNode> items, node->list("a list of axes"));
  std::vector<std::uint8_t> order;
  for (const ManifestNode& item : items) {
    TANDEM_TRY(const std::int64_t axis, item.integer(0, static_cast<std::int64_t>(kMaxRank) - 1));
    order.push_back(static_cast<std::uint8_t>(axis));
  }
  if (!std::is_permutation(order.begin(), order.end(), identity.begin(), identity.end())) {
    return node->error("dim_order is no permutation of the axes")
        .with_expected(fmt::format("each of 0..{} once", static_cast<std::int64_t>(rank) - 1),
                       fmt::format("{}", fmt::join(order, ", ")));
  }
  return order;
}

/// One element of type T, exactly, but that floats are rounded.
template <class T>
Result<T> read_element(const ManifestNode& node) {
  if constexpr (std::same_as<T, bool>) {
    return node.truth();
  } else if constexpr (std::integral<T>) {
    constexpr auto kHigh = static_cast<std::int64_t>(
        std::min<std::uint64_t>(std::numeric_limits<T>::max(), std::numeric_limits<std::int64_t>::max()));
    TANDEM_TRY(const std::int64_t number, node.integer(std::numeric_limits<T>::min(), kHigh));
    return static_cast<T>(number);
  } else {
    TANDEM_TRY(const double number, node.number());
    if (std::isfinite(number) && std::abs(number) > std::numeric_limits<T>::max()) {
      return node.unexpected("a number within the element type's range");
    }
    return static_cast<T>(number);
  }
}

/// Appends the elements of `node`, which has the sizes from axis `axis` on.
template <class T>
Status append_elements(const ManifestNode& node, std::span<const std::int64_t> sizes, std::vector<std::byte>& out) {
  if (sizes.empty()) {
    TANDEM_TRY(const T element, read_element<T>(node));
    const auto* bytes = reinterpret_cast<const std::byte*>(&element);
    out.insert(out.end(), bytes, bytes + sizeof element);
    return {};
  }
  TANDEM_TRY(const std::vector<ManifestNode> items, node.list(fmt::format("a list of {}", sizes.front())));
  if (static_cast<std::int64_t>(items.size()) != sizes.front()) {
    return node.unexpected(fmt::format("a list of {} (sizes {})", sizes.front(), shape_text(sizes)));
  }
  for (const ManifestNode& item : items) TANDEM_CHECK_OK(append_elements<T>(item, sizes.subspan(1), out));
  return {};
}

template <class T>
Result<std::vector<std::byte>> rows_of(const ManifestNode& node, const ManifestArray& array) {
  std::vector<std::byte> out;
  const bool flat = array.sizes.size() > 1 && node.kind() == JsonNode::Kind::List &&
                    (node.json().items.empty() || node.json().items.front().kind != JsonNode::Kind::List);
  const auto count = static_cast<std::int64_t>(array.bytes / item_bytes(array.dtype));
  const std::span<const std::int64_t> sizes{array.sizes};
  TANDEM_CHECK_OK(append_elements<T>(node, flat ? std::span{&count, 1} : sizes, out));
  return out;
}

Result<std::vector<std::byte>> rows_of(const ManifestNode& node, const ManifestArray& array) {
  switch (array.dtype) {
    case ScalarType::Byte:
      return rows_of<std::uint8_t>(node, array);
    case ScalarType::Char:
      return rows_of<std::int8_t>(node, array);
    case ScalarType::Short:
      return rows_of<std::int16_t>(node, array);
    case ScalarType::Int:
      return rows_of<std::int32_t>(node, array);
    case ScalarType::Long:
      return rows_of<std::int64_t>(node, array);
    case ScalarType::UInt16:
      return rows_of<std::uint16_t>(node, array);
    case ScalarType::UInt32:
      return rows_of<std::uint32_t>(node, array);
    case ScalarType::UInt64:
      return rows_of<std::uint64_t>(node, array);
    case ScalarType::Float:
      return rows_of<float>(node, array);
    case ScalarType::Double:
      return rows_of<double>(node, array);
    case ScalarType::Bool:
      return rows_of<bool>(node, array);
    default:
      return node.error(fmt::format("elements of {} cannot be written as numbers; name a file", name_of(array.dtype)));
  }
}

/// `tensor` in the layout of `array`, as bytes.
Result<std::vector<std::byte>> laid_out(const Tensor& tensor, const ManifestArray& array) {
  TANDEM_TRY(const Tensor placed, in_layout(tensor, array.dim_order));
  const auto* data = placed.data_as<std::byte>();
  return std::vector<std::byte>(data, data + placed.nbytes());
}

bool is_row_major(const ManifestArray& array) { return std::is_sorted(array.dim_order.begin(), array.dim_order.end()); }

}  // namespace

Result<ManifestArray> read_array(const ManifestNode& object) {
  ManifestArray array;
  TANDEM_TRY(const ManifestNode dtype, object.require("dtype"));
  TANDEM_TRY(const std::string name, dtype.text());
  const std::optional<ScalarType> known = scalar_type_from_name(name);
  if (!known || item_bytes(*known) == 0) return dtype.unexpected("an element type, for example \"float32\"");
  array.dtype = *known;
  TANDEM_TRY(const ManifestNode sizes, object.require("sizes"));
  TANDEM_TRY(const std::vector<ManifestNode> items, sizes.list("a list of sizes"));
  if (items.size() > kMaxRank) return sizes.unexpected(fmt::format("at most {} sizes", kMaxRank));
  for (const ManifestNode& item : items) {
    TANDEM_TRY(const std::int64_t size, item.integer(0, INT32_MAX));
    array.sizes.push_back(size);
  }
  const auto bytes = base::checked_bytes(std::span<const std::int64_t>{array.sizes}, item_bytes(array.dtype));
  if (!bytes) return sizes.error(fmt::format("the sizes overflow: {} {}", shape_text(array.sizes), name));
  array.bytes = *bytes;
  TANDEM_TRY(array.dim_order, read_dim_order(object, array.sizes.size()));
  return array;
}

Result<FileReference> read_file_reference(const ManifestNode& node) {
  TANDEM_TRY(std::string name, node.text());
  return FileReference{std::move(name), node.spot()};
}

Result<std::vector<std::byte>> read_numbers(const ManifestNode& node, const ManifestArray& array) {
  TANDEM_TRY(std::vector<std::byte> rows, rows_of(node, array));
  if (is_row_major(array)) return rows;
  Result<Tensor> tensor = Tensor::from_blob(rows.data(), array.dtype, array.sizes);
  if (!tensor.ok()) return node.spot().error(tensor.error());
  return laid_out(*tensor, array);
}

Result<ArraySource> read_array_source(const ManifestNode& node, const ManifestArray& array) {
  if (node.kind() == JsonNode::Kind::Object) {
    static constexpr std::string_view kKeys[] = {"file"};
    TANDEM_CHECK_OK(node.check_keys(kKeys));
    TANDEM_TRY(const ManifestNode name, node.require("file"));
    TANDEM_TRY(FileReference file, read_file_reference(name));
    return ArraySource{std::move(file)};
  }
  TANDEM_TRY(std::vector<std::byte> numbers, read_numbers(node, array));
  return ArraySource{std::move(numbers)};
}

Result<std::span<const std::byte>> load_bytes(const FileReference& file, const ReadFile& files) {
  Result<std::span<const std::byte>> bytes = files(file.name);
  if (!bytes.ok()) return file.spot.error(bytes.error());
  return bytes;
}

Result<std::vector<std::byte>> load_array(const FileReference& file, const ManifestArray& array,
                                          const ReadFile& files) {
  TANDEM_TRY(const std::span<const std::byte> bytes, load_bytes(file, files));
  if (!file.name.ends_with(".npy")) {
    if (bytes.size() == array.bytes) return std::vector<std::byte>(bytes.begin(), bytes.end());
    return file.spot.error(ErrorCode::InvalidArgument, fmt::format("'{}' has another length", printable(file.name)))
        .with_expected(fmt::format("{} bytes ({} {})", array.bytes, name_of(array.dtype), shape_text(array.sizes)),
                       fmt::format("{} bytes", bytes.size()));
  }
  Result<Tensor> tensor = parse_npy(bytes, {}, file.name, array.dtype);
  if (!tensor.ok()) return file.spot.error(tensor.error());
  if (tensor->dtype() != array.dtype || !std::ranges::equal(tensor->sizes(), array.sizes)) {
    return file.spot.error(ErrorCode::InvalidArgument, fmt::format("'{}' is another array", printable(file.name)))
        .with_expected(fmt::format("{} {}", name_of(array.dtype), shape_text(array.sizes)),
                       fmt::format("{} {}", name_of(tensor->dtype()), shape_text(tensor->sizes())));
  }
  return laid_out(*tensor, array);
}

}  // namespace tandem::cli
