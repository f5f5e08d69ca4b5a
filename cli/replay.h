#pragma once

#include "cli/case_folder.h"
#include "cli/exit_code.h"
#include "cli/json.h"

#include <tandem/method.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

enum class Verdict : std::uint8_t {
  Pass,
  Fail,   ///< A result differs, or a bad input was accepted.
  Error,  ///< Something could not be read, loaded or run.
};

/// What became of one case, or of one input that must be refused.
struct CaseReport {
  std::string label{};  ///< "forward[2]", "forward.failures[0]".
  Verdict verdict = Verdict::Pass;
  std::uint64_t runs = 0;
  double max_abs_error = 0;
  Tolerance tolerance{};
  std::string detail{};          ///< First mismatch, or how a bad input was refused.
  std::optional<Error> error{};  ///< Verdict Error.
};

struct FolderReport {
  std::filesystem::path folder{};
  std::vector<CaseReport> cases{};
  std::optional<Error> error{};  ///< The folder or its program could not be loaded; there are no cases then.
  bool interrupted = false;

  [[nodiscard]] Verdict verdict() const noexcept;
};

/// Runs every case of `folder` in its order on one loaded program, then every input that must be refused; after each
/// of these the method must still run. `on_case` sees each report as soon as it is known.
///
/// A case that fails does not stop the others; Ctrl-C does.
[[nodiscard]] FolderReport replay(const std::filesystem::path& folder, const MethodOptions& options,
                                  const std::function<void(const CaseReport&)>& on_case);

/// folder, error, verdict, cases.
[[nodiscard]] Json folder_json(const FolderReport& report);

/// "PASS  forward[2]   1 run   max abs error 1.2e-07".
[[nodiscard]] std::string case_line(const CaseReport& report);

/// "PASS", "FAIL", "ERROR".
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

}  // namespace tandem::cli
