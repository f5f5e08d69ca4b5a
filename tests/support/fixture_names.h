#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tandem::testing {

/// Folders of tests/fixtures with a dump, sorted.
[[nodiscard]] inline std::vector<std::string> fixture_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator{TANDEM_FIXTURES}) {
    if (std::filesystem::exists(entry.path() / "dump.json")) out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tandem::testing
