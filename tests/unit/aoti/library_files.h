#pragma once

#include <tandem/backend.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// Bytes of a library that was built from libs/<name>.cpp.
[[nodiscard]] std::vector<std::byte> library_bytes(const std::string& name);
/// "<sha256>_so_blob".
[[nodiscard]] std::string library_key(std::span<const std::byte> bytes);

/// Lines of /proc/self/maps that have `word` in them.
[[nodiscard]] std::vector<std::string> mappings(std::string_view word);
/// What Tandem's libraries in memory are called there.
inline constexpr std::string_view kMapped = "memfd:tandem-library";

/// Named data that a test puts together.
class Blobs final : public NamedData {
 public:
  void add(const std::string& key, std::vector<std::byte> bytes) { entries_[key] = std::move(bytes); }
  [[nodiscard]] Result<std::span<const std::byte>> find(std::string_view key) const override;

 private:
  std::map<std::string, std::vector<std::byte>, std::less<>> entries_;
};

}  // namespace tandem::aoti
