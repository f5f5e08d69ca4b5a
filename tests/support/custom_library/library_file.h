#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tandem::testing {

/// The path of a library that tandem_add_custom_library() builds.
[[nodiscard]] inline std::string custom_library_path(const std::string& name) {
  return std::string{TANDEM_CUSTOM_LIBRARIES} + "/" + name + ".so";
}

[[nodiscard]] inline std::vector<std::byte> custom_library_bytes(const std::string& name) {
  std::ifstream file{custom_library_path(name), std::ios::binary};
  EXPECT_TRUE(file.good()) << name;
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace tandem::testing
