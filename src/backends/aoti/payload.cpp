#include "backends/aoti/payload.h"

#include "base/checked.h"

#include <tandem/tensor.h>

#include <cstring>
#include <optional>
#include <utility>

namespace tandem::aoti {
namespace {

constexpr std::string_view kMagic = "ETCUDAFQN3";

Error malformed(std::string message, std::string field, std::uint64_t offset) {
  return Error{ErrorCode::InvalidProgram, "delegate payload: " + std::move(message)}
      .with_field(std::move(field))
      .with_offset(offset);
}

Payload keys_by_method(std::string_view method) {
  Payload payload;
  Keys blobs;
  if (!method.empty()) {
    payload.library_keys.push_back(std::string{method} + "_so_blob");
    blobs.push_back(std::string{method} + "_weights_blob");
  }
  payload.library_keys.emplace_back("so_blob");
  blobs.emplace_back("weights_blob");
  payload.weights = std::move(blobs);
  return payload;
}

Result<Payload> keys_as_text(std::string_view text) {
  const std::size_t newline = text.find('\n');
  if (newline == std::string_view::npos) {
    return malformed("neither two keys on two lines nor an " + std::string{kMagic} + " table", "processed", 0);
  }
  const std::string_view library = text.substr(0, newline);
  const std::string_view weights = text.substr(newline + 1);
  if (library.empty()) return malformed("the library's key is empty", "so_key", 0);
  if (weights.empty()) return malformed("the weights' key is empty", "weights_key", newline + 1);
  if (weights.find('\n') != std::string_view::npos) return malformed("more than two lines", "weights_key", newline + 1);
  Payload payload;
  payload.library_keys.emplace_back(library);
  payload.weights = Keys{std::string{weights}};
  return payload;
}

/// Little-endian fields, one after another without padding.
class Reader {
 public:
  /// Precondition: start <= bytes.size().
  Reader(std::span<const std::byte> bytes, std::size_t start) noexcept : bytes_{bytes}, offset_{start} {}

  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - offset_; }

  template <class T>
  Result<T> number(const std::string& field) {
    if (left() < sizeof(T)) return malformed("ends within a number", field, offset_);
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof value);  // the format and x86-64 share the byte order
    offset_ += sizeof value;
    return value;
  }

  Result<std::string> text(const std::string& field) {
    TANDEM_TRY(const auto length, number<std::uint32_t>(field));
    if (left() < length) return malformed("ends within a text", field, offset_);
    std::string value{reinterpret_cast<const char*>(bytes_.data() + offset_), length};
    offset_ += length;
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_;
};

/// The bytes that an entry's elements reach over must lie within its storage.
Status check_extent(const ConstantEntry& entry, const std::string& field, std::size_t at) {
  const std::uint64_t item = item_bytes(entry.dtype);
  std::uint64_t last = static_cast<std::uint64_t>(entry.storage_offset);
  for (std::size_t d = 0; d < entry.sizes.size(); ++d) {
    if (entry.sizes[d] < 0) return malformed("negative size", field + ".sizes", at);
    if (entry.strides[d] < 0) return malformed("negative stride", field + ".strides", at);
  }
  for (std::size_t d = 0; d < entry.sizes.size(); ++d) {
    if (entry.sizes[d] == 0) return {};  // no elements, nothing to reach
    const auto step = base::checked_mul<std::uint64_t>(static_cast<std::uint64_t>(entry.sizes[d]) - 1,
                                                       static_cast<std::uint64_t>(entry.strides[d]));
    if (!step || __builtin_add_overflow(last, *step, &last)) return malformed("size overflows", field + ".sizes", at);
  }
  const auto end = base::checked_mul<std::uint64_t>(last + 1, item);
  if (last == UINT64_MAX || !end || *end > entry.storage_bytes) {
    return malformed("elements lie outside of the storage", field + ".storage_nbytes", at)
        .with_expected("at least " + (end ? std::to_string(*end) : std::string{"2^64"}) + " bytes",
                       std::to_string(entry.storage_bytes))
        .with_key(entry.storage_key);
  }
  return {};
}

Result<ConstantEntry> read_entry(Reader& reader, const std::string& field) {
  const std::size_t start = reader.offset();
  ConstantEntry entry;
  TANDEM_TRY(entry.fqn, reader.text(field + ".fqn"));
  TANDEM_TRY(entry.storage_key, reader.text(field + ".storage_key"));
  TANDEM_TRY(entry.storage_bytes, reader.number<std::uint64_t>(field + ".storage_nbytes"));
  const std::size_t dtype_at = reader.offset();
  TANDEM_TRY(const auto dtype, reader.number<std::int32_t>(field + ".dtype"));
  if (!is_scalar_type(dtype) || item_bytes(static_cast<ScalarType>(dtype)) == 0) {
    return malformed("no element type", field + ".dtype", dtype_at).with_expected("0 to 29", std::to_string(dtype));
  }
  entry.dtype = static_cast<ScalarType>(dtype);
  TANDEM_TRY(entry.device_type, reader.number<std::int32_t>(field + ".device_type"));
  TANDEM_TRY(entry.storage_offset, reader.number<std::int64_t>(field + ".storage_offset"));
  if (entry.storage_offset < 0) {
    return malformed("negative offset", field + ".storage_offset", reader.offset() - sizeof(std::int64_t));
  }
  TANDEM_TRY(const auto rank, reader.number<std::uint32_t>(field + ".ndim"));
  if (rank > kMaxRank) {
    return malformed("too many dimensions", field + ".ndim", reader.offset() - sizeof rank)
        .with_expected("at most " + std::to_string(kMaxRank), std::to_string(rank));
  }
  for (auto* list : {&entry.sizes, &entry.strides}) {
    const std::string name = field + (list == &entry.sizes ? ".sizes" : ".strides");
    for (std::uint32_t d = 0; d < rank; ++d) {
      TANDEM_TRY(const auto extent, reader.number<std::int64_t>(name));
      list->push_back(extent);
    }
  }
  TANDEM_CHECK_OK(check_extent(entry, field, start));
  return entry;
}

Result<Payload> keys_by_constant(std::span<const std::byte> bytes) {
  // The shortest entry: two empty texts, the numbers, no dimension.
  constexpr std::size_t kMinEntryBytes = 4 + 4 + 8 + 4 + 4 + 8 + 4;
  Reader reader{bytes, kMagic.size()};
  Payload payload;
  TANDEM_TRY(std::string library, reader.text("so_key"));
  if (library.empty()) return malformed("the library's key is empty", "so_key", kMagic.size());
  payload.library_keys.push_back(std::move(library));
  const std::size_t count_at = reader.offset();
  TANDEM_TRY(const auto count, reader.number<std::uint32_t>("count"));
  if (count > reader.left() / kMinEntryBytes) {
    return malformed("more constants than the bytes can hold", "count", count_at)
        .with_expected("at most " + std::to_string(reader.left() / kMinEntryBytes), std::to_string(count));
  }
  std::vector<ConstantEntry> entries;
  entries.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    TANDEM_TRY(ConstantEntry entry, read_entry(reader, "constant[" + std::to_string(i) + "]"));
    entries.push_back(std::move(entry));
  }
  if (reader.left() != 0) return malformed("bytes follow the last constant", "processed", reader.offset());
  payload.weights = std::move(entries);
  return payload;
}

}  // namespace

Result<Payload> parse_payload(std::span<const std::byte> payload, std::string_view method) {
  if (payload.empty()) return keys_by_method(method);
  const std::string_view text{reinterpret_cast<const char*>(payload.data()), payload.size()};
  if (text.starts_with(kMagic)) return keys_by_constant(payload);
  return keys_as_text(text);
}

Result<FoundBytes> find_first(const NamedData& named_data, const Keys& keys) {
  std::optional<Error> first;
  for (const std::string& key : keys) {
    auto bytes = named_data.find(key);
    if (bytes.ok()) return FoundBytes{key, *bytes};
    if (bytes.error().code() != ErrorCode::NotFound) return std::move(bytes).error();
    if (!first) first = std::move(bytes).error();
  }
  return *std::move(first);
}

}  // namespace tandem::aoti
