#include "backends/tensorrt/blob.h"

#include <cstdlib>
#include <span>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// What is accepted keeps its promises; what is refused says where.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::tensorrt;
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto blob = parse_blob(bytes);
  if (!blob.ok()) {
    require(blob.error().code() == tandem::ErrorCode::InvalidProgram);
    require(!blob.error().site().field.empty());
    require(blob.error().site().offset.value_or(UINT64_MAX) <= size);
    return 0;
  }
  require(!blob->engine.empty());
  require(blob->engine.data() >= bytes.data() && blob->engine.data() + blob->engine.size() <= bytes.data() + size);
  require(blob->device_id >= 0);
  for (const auto* names : {&blob->inputs, &blob->outputs}) {
    for (const std::string& name : *names) require(!name.empty());
  }
  return 0;
}
