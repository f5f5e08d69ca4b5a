#pragma once

#include "cli/check_method.h"
#include "cli/json.h"

#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

/// All that `tandem check` found.
struct CheckReport {
  std::string file{};
  std::size_t data_files = 0;
  std::optional<Error> unsound{};  ///< Why the file is not sound; nothing else is known then.
  std::vector<MethodCheck> methods{};
  std::vector<std::string> undecided_buffers{};  ///< Names that several methods hold a buffer of.
  std::string picture{};                         ///< Empty: none was drawn.

  [[nodiscard]] bool good() const;
};

/// For people.
[[nodiscard]] std::string check_text(const CheckReport& report);
/// As docs/command-line.md has it.
[[nodiscard]] Json check_json(const CheckReport& report);

}  // namespace tandem::cli
