#include <tandem/custom_payload.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// What is accepted has one library and encodes to the same again; what is refused says where.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto payload = tandem::parse_custom_payload(bytes);
  if (!payload.ok()) {
    require(payload.error().code() == tandem::ErrorCode::InvalidProgram);
    require(!payload.error().site().field.empty());
    require(payload.error().site().offset.value_or(UINT64_MAX) <= size);
    return 0;
  }
  require(!payload->key.empty() + !payload->path.empty() + !payload->library.empty() == 1);
  const auto again = tandem::encode_custom_payload(*payload);
  require(again.ok() && again->size() == size);
  const auto same = tandem::parse_custom_payload(*again);
  require(same.ok() && same->key == payload->key && same->path == payload->path);
  require(std::ranges::equal(same->library, payload->library) && std::ranges::equal(same->blob, payload->blob));
  return 0;
}
