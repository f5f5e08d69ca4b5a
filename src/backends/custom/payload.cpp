#include <tandem/custom_payload.h>

#include "base/checked.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace tandem {
namespace {

constexpr std::string_view kMagic = "TCU1";
constexpr std::size_t kBlobAlignment = 16;

/// Little-endian in the file, as on x86-64.
struct Head {
  std::array<char, 4> magic{};
  std::uint32_t kind = 0;
  std::uint64_t library_bytes = 0;  ///< Or those of the key or path.
  std::uint64_t blob_bytes = 0;
};
static_assert(sizeof(Head) == 24 && std::is_trivially_copyable_v<Head>);

enum Kind : std::uint32_t { kKey = 0, kPath = 1, kLibrary = 2 };

Error malformed(std::string message, std::string field, std::uint64_t offset) {
  return Error{ErrorCode::InvalidProgram, "delegate payload: " + std::move(message)}
      .with_field(std::move(field))
      .with_offset(offset);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

Result<std::vector<std::byte>> encode_custom_payload(const CustomPayload& payload) {
  const std::array<std::span<const std::byte>, 3> places{bytes_of(payload.key), bytes_of(payload.path),
                                                         payload.library};
  std::size_t set = 0;
  Head head;
  for (std::uint32_t kind = 0; kind < places.size(); ++kind) {
    if (places[kind].empty()) continue;
    ++set;
    head.kind = kind;
  }
  if (set != 1) {
    return Error{ErrorCode::InvalidArgument, "a custom delegate has one library"}.with_expected(
        "one of key, path and library", std::to_string(set));
  }
  const std::span<const std::byte> place = places[head.kind];
  if (head.kind != kLibrary && text_of(place).find('\0') != std::string_view::npos) {
    return Error{ErrorCode::InvalidArgument, "a library's key or path has a zero byte"}.with_field(
        head.kind == kKey ? "key" : "path");
  }
  std::memcpy(head.magic.data(), kMagic.data(), kMagic.size());
  head.library_bytes = place.size();
  head.blob_bytes = payload.blob.size();
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span{&head, 1}));
  append(bytes, place);
  bytes.resize(base::align_up(bytes.size(), kBlobAlignment));
  append(bytes, payload.blob);
  return bytes;
}

Result<CustomPayload> parse_custom_payload(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) {
    return malformed("shorter than its head", "processed", 0)
        .with_expected("at least " + std::to_string(sizeof head) + " bytes", std::to_string(bytes.size()));
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view{head.magic.data(), head.magic.size()} != kMagic) {
    return malformed("not a custom delegate's", "magic", 0).with_expected("\"" + std::string{kMagic} + "\"", "other");
  }
  if (head.kind > kLibrary) {
    return malformed("no such place of a library", "kind", offsetof(Head, kind))
        .with_expected("0 to 2", std::to_string(head.kind));
  }
  std::span<const std::byte> rest = bytes.subspan(sizeof head);
  if (head.library_bytes == 0 || head.library_bytes > rest.size()) {
    return malformed("the library, its key or its path is empty or ends behind the payload", "library_bytes",
                     offsetof(Head, library_bytes))
        .with_expected("1 to " + std::to_string(rest.size()), std::to_string(head.library_bytes));
  }
  const std::span<const std::byte> place = rest.first(static_cast<std::size_t>(head.library_bytes));
  const std::size_t blob_at = base::align_up(sizeof head + place.size(), kBlobAlignment);
  if (blob_at > bytes.size() || head.blob_bytes != bytes.size() - blob_at) {
    return malformed("the blob does not end where the payload does", "blob_bytes", offsetof(Head, blob_bytes))
        .with_expected(std::to_string(bytes.size() - std::min(blob_at, bytes.size())), std::to_string(head.blob_bytes));
  }
  CustomPayload payload;
  payload.blob = bytes.subspan(blob_at);
  if (head.kind == kLibrary) {
    payload.library = place;
    return payload;
  }
  if (const std::size_t zero = text_of(place).find('\0'); zero != std::string_view::npos) {
    return malformed("a zero byte in a text", head.kind == kKey ? "key" : "path", sizeof head + zero);
  }
  (head.kind == kKey ? payload.key : payload.path) = text_of(place);
  return payload;
}

}  // namespace tandem
