#pragma once

#include "format/ptd/ptd.h"
#include "format/pte/pte.h"

#include <string>

namespace tandem::testing {

/// Where two files say different things; empty if nowhere. Where the things lie in the files does not count: heads,
/// offsets of segments, and bytes of segments that nothing refers to.
[[nodiscard]] std::string difference(const format::Program& a, format::Bytes file_a, const format::Program& b,
                                     format::Bytes file_b);
[[nodiscard]] std::string difference(const format::DataFile& a, format::Bytes file_a, const format::DataFile& b,
                                     format::Bytes file_b);

}  // namespace tandem::testing
