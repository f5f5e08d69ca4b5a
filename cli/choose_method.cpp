#include "cli/choose_method.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::cli {

Result<std::string> choose_method(std::span<const std::string> names, const std::string& wanted,
                                  const std::string& file) {
  const auto has = [names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (wanted.empty() && names.size() == 1) return names.front();
  const std::string name = wanted.empty() ? "forward" : wanted;
  if (has(name)) return name;
  const std::string there = fmt::format("one of: {}", fmt::join(names, ", "));
  if (!wanted.empty()) {
    return Error{ErrorCode::MethodNotFound, "no such method"}.with_expected(there, wanted).with_file(file);
  }
  return Error{ErrorCode::InvalidArgument, "the program has several methods and none is called forward"}
      .with_expected("--method with " + there, "no --method")
      .with_file(file);
}

}  // namespace tandem::cli
