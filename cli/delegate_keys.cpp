#include "cli/delegate_keys.h"

#include <tandem/custom_payload.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace tandem::cli {
namespace {

constexpr std::string_view kTableMagic = "ETCUDAFQN3";
/// Keys start with the SHA-256 of the bytes; this is the one of no bytes.
constexpr std::string_view kNoWeightsKey =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855_weights_blob";

/// Little-endian fields of the `ETCUDAFQN3` table, one after another without padding. Once a field does not fit,
/// nothing fits any more.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) noexcept : left_{bytes} {}

  [[nodiscard]] bool good() const noexcept { return good_; }
  std::string_view take(std::size_t count) noexcept {
    good_ = good_ && count <= left_.size();
    if (!good_) return {};
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::uint32_t number() noexcept {
    std::uint32_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text() noexcept { return take(number()); }

 private:
  std::string_view left_;
  bool good_ = true;
};

std::optional<std::vector<KeyNeed>> keys_of_table(std::string_view bytes) {
  FieldReader reader{bytes};
  std::vector<KeyNeed> needs{{"library", {std::string{reader.text()}}}};
  const std::uint32_t count = reader.number();
  for (std::uint32_t i = 0; i < count && reader.good(); ++i) {
    reader.text();  // the constant's own name
    needs.push_back({"constant", {std::string{reader.text()}}});
    constexpr std::size_t kBytesBeforeRank = 8 + 4 + 4 + 8;  // storage_nbytes, dtype, device_type, storage_offset
    reader.take(kBytesBeforeRank);
    reader.take(std::size_t{reader.number()} * 2 * sizeof(std::int64_t));  // sizes, strides
  }
  if (!reader.good()) return std::nullopt;
  return needs;
}

std::optional<std::vector<KeyNeed>> needs_of_custom(std::span<const std::byte> bytes) {
  const auto payload = parse_custom_payload(bytes);
  if (!payload.ok()) return std::nullopt;
  std::vector<KeyNeed> needs;
  KeyNeed& library = needs.emplace_back(KeyNeed{.purpose = "library", .path = std::string{payload->path}});
  if (!payload->key.empty()) library.keys.emplace_back(payload->key);
  if (!payload->library.empty()) library.payload_bytes = payload->library.size();
  if (!payload->blob.empty()) needs.push_back({.purpose = "blob", .payload_bytes = payload->blob.size()});
  return needs;
}

std::vector<std::string> with_method(std::string_view method, std::string_view suffix) {
  return {std::string{method} + "_" + std::string{suffix}, std::string{suffix}};
}

}  // namespace

std::optional<std::vector<KeyNeed>> delegate_keys(const format::Delegate& delegate, std::string_view method) {
  if (delegate.id == "CustomBackend") return needs_of_custom(delegate.payload);
  const std::string_view payload{reinterpret_cast<const char*>(delegate.payload.data()), delegate.payload.size()};
  if (payload.empty()) {
    // Only the CUDA exporter of 1.2.0 left payloads empty and meant these keys.
    if (delegate.id != "CudaBackend") return std::nullopt;
    return std::vector<KeyNeed>{{"library", with_method(method, "so_blob")},
                                {"weights", with_method(method, "weights_blob")}};
  }
  if (payload.starts_with(kTableMagic)) return keys_of_table(payload.substr(kTableMagic.size()));
  const std::size_t newline = payload.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  const std::string_view library = payload.substr(0, newline);
  const std::string_view weights = payload.substr(newline + 1);
  if (!library.ends_with("_so_blob") || !weights.ends_with("_weights_blob")) return std::nullopt;
  return std::vector<KeyNeed>{{"library", {std::string{library}}},
                              {"weights", {std::string{weights}}, weights != kNoWeightsKey}};
}

}  // namespace tandem::cli
