#pragma once

#include "format/ptd/ptd.h"
#include "format/pte/pte.h"

#include <string>

namespace tandem::testing {

/// Checks what read_pte() and read_ptd() promise of their results, on its own, and reads the first and last byte of
/// every view, so that a sanitizer sees one that is out of bounds.
///
/// Returns the first broken promise; empty if all are kept.
[[nodiscard]] std::string broken_promise(const format::Program& program, format::Bytes file);
[[nodiscard]] std::string broken_promise(const format::DataFile& data, format::Bytes file);

}  // namespace tandem::testing
