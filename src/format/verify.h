#pragma once

#include "format/fault.h"
#include "format/head.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

namespace tandem::format {

/// Runs the FlatBuffers verifier: afterwards every offset, vector and string that can be reached from the root lies
/// within `body`. Indices and numbers mean nothing to it.
template <class Root>
[[nodiscard]] Result<const Root*> verified_root(const FaultMaker& fault, Bytes body) {
  if (body.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fault(FieldPath{"flatbuffer"}, nullptr, "a FlatBuffer cannot be that long")
        .with_expected(fmt::format("less than {} bytes", FLATBUFFERS_MAX_BUFFER_SIZE),
                       fmt::format("{} bytes", body.size()));
  }
  if (const std::uint32_t root = read_u32(body, 0); root < kHeaderOffset || root > body.size() - sizeof root) {
    return fault(FieldPath{"root_offset"}, body.data(), "the root table is not in the FlatBuffer")
        .with_expected(fmt::format("{}..{}", kHeaderOffset, body.size() - sizeof root), fmt::to_string(root));
  }
  flatbuffers::Verifier::Options options;
  // A table takes four bytes. Without a bound in proportion to the body, lists of references to one table make the
  // verifier's time exponential in their depth.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(body.size() / 4);
  const auto* data = reinterpret_cast<const std::uint8_t*>(body.data());
  if (flatbuffers::Verifier verifier{data, body.size(), options}; !verifier.VerifyBuffer<Root>(nullptr)) {
    return fault(FieldPath{"flatbuffer"}, nullptr, "a table, list or text reaches out of the FlatBuffer");
  }
  return flatbuffers::GetRoot<Root>(data);
}

}  // namespace tandem::format
