#pragma once

#include "format/pte/pte.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli {

/// Something that a delegate needs under a key of the named data.
struct KeyNeed {
  std::string_view purpose{};       ///< "library", "weights", "constant".
  std::vector<std::string> keys{};  ///< The first that exists is used.
  bool required = true;             ///< False for weights of no bytes.
};

/// The keys that a delegate's payload names, without loading its backend; nothing if the payload has another form.
///
/// Shapes: library first.
/// Source: ExecuTorch's AOTInductor backends, 1.2.0 (empty payload), 1.4.1 (two keys as text), 1.5.1 (`ETCUDAFQN3`).
[[nodiscard]] std::optional<std::vector<KeyNeed>> delegate_keys(const format::Delegate& delegate,
                                                                std::string_view method);

}  // namespace tandem::cli
