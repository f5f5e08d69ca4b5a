#include "backends/aoti/payload.h"

#include <cstdlib>
#include <span>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// What is accepted keeps its promises; what is refused says where.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::aoti;
  const auto payload = parse_payload(std::as_bytes(std::span{data, size}), "forward");
  if (!payload.ok()) {
    require(payload.error().code() == tandem::ErrorCode::InvalidProgram);
    require(!payload.error().site().field.empty());
    require(payload.error().site().offset.value_or(UINT64_MAX) <= size);
    return 0;
  }
  require(!payload->library_keys.empty());
  if (const auto* keys = std::get_if<Keys>(&payload->weights)) {
    require(!keys->empty());
    return 0;
  }
  for (const ConstantEntry& entry : *std::get_if<std::vector<ConstantEntry>>(&payload->weights)) {
    require(entry.sizes.size() == entry.strides.size());
    require(entry.storage_offset >= 0);
    unsigned __int128 last = static_cast<std::uint64_t>(entry.storage_offset);
    bool empty = false;
    for (std::size_t d = 0; d < entry.sizes.size(); ++d) {
      require(entry.sizes[d] >= 0 && entry.strides[d] >= 0);
      empty = empty || entry.sizes[d] == 0;
      if (!empty) {
        last += static_cast<unsigned __int128>(entry.sizes[d] - 1) * static_cast<std::uint64_t>(entry.strides[d]);
      }
    }
    require(empty || (last + 1) * tandem::item_bytes(entry.dtype) <= entry.storage_bytes);
  }
  return 0;
}
