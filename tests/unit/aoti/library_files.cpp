#include "library_files.h"

#include "base/sha256.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tandem::aoti {

std::vector<std::byte> library_bytes(const std::string& name) {
  const std::string path = std::string{TANDEM_AOTI_LIBRARIES} + "/" + name + ".so";
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file.good()) << path;
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string library_key(std::span<const std::byte> bytes) {
  const auto digest = base::sha256_hex(bytes);
  EXPECT_TRUE(digest.ok());
  return *digest + "_so_blob";
}

std::vector<std::string> mappings(std::string_view word) {
  std::ifstream maps{"/proc/self/maps"};
  std::vector<std::string> found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(word) != std::string::npos) found.push_back(line);
  }
  return found;
}

Result<std::span<const std::byte>> Blobs::find(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return Error{ErrorCode::NotFound, "no such key"}.with_key(std::string{key});
  return std::span<const std::byte>{found->second};
}

}  // namespace tandem::aoti
