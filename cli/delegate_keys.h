#pragma once

#include "format/pte/pte.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli {

/// Something that a delegate needs: under a key of the named data, in a file, or in its payload.
struct KeyNeed {
  std::string_view purpose{};                    ///< "library", "weights", "constant", "blob".
  std::vector<std::string> keys{};               ///< The first that exists is used. Empty for the other places.
  bool required = true;                          ///< False for weights of no bytes.
  std::string path{};                            ///< The file, from the program's folder if it is relative.
  std::optional<std::uint64_t> payload_bytes{};  ///< How much of the payload it is.
};

/// What a delegate's payload names, without loading its backend; nothing if the payload has another form.
///
/// Shapes: library first.
/// Source: ExecuTorch's AOTInductor backends, 1.2.0 (empty payload), 1.4.1 (two keys as text), 1.5.1 (`ETCUDAFQN3`);
///   tandem/custom_payload.h.
[[nodiscard]] std::optional<std::vector<KeyNeed>> delegate_keys(const format::Delegate& delegate,
                                                                std::string_view method);

}  // namespace tandem::cli
