#pragma once

#include "support/file_bytes.h"

#include <tandem/result.h>

#include <gtest/gtest.h>

#include <string>

namespace tandem::testing {

/// Names the cases of a parametrised test by their member `name`.
inline constexpr auto kNameOfCase = [](const auto& info) { return std::string{info.param.name}; };

/// "InvalidProgram at execution_plan[0].values[3].sizes". Fails the test if the error has no message, or an offset that
/// is not within the file.
[[nodiscard]] inline std::string describe_fault(const Error& error, const FileBytes& file) {
  EXPECT_FALSE(error.message().empty());
  if (error.site().offset) {
    EXPECT_LE(*error.site().offset, file.bytes().size()) << error.to_string();
  }
  std::string text{name_of(error.code())};
  if (!error.site().field.empty()) text += " at " + error.site().field;
  return text;
}

/// As describe_fault(); "ok" for success.
template <class T>
[[nodiscard]] std::string fault_of(const Result<T>& result, const FileBytes& file) {
  return result.ok() ? std::string{"ok"} : describe_fault(result.error(), file);
}

}  // namespace tandem::testing
