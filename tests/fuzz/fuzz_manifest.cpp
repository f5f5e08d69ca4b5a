#include "cli/pack/pack.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tandem;

/// A file whose name is a number has so many bytes; there are no others. Nothing outside of memory is opened.
Result<std::span<const std::byte>> made_up_file(const std::string& name) {
  static const std::vector<std::byte> kZeros(4096);
  std::size_t bytes = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), bytes);
  if (code != std::errc{} || end != name.data() + name.size() || bytes > kZeros.size()) {
    return Error{ErrorCode::NotFound, "no such file"}.with_file(name);
  }
  return std::span{kZeros}.first(bytes);
}

void expect_place(const Error& error) {
  const bool placed = error.message().starts_with("fuzz.json:") && error.site().file == "fuzz.json" &&
                      error.site().offset.has_value() && !error.to_string().empty();
  if (!placed) __builtin_trap();
}

}  // namespace

/// Whatever the text is, it ends with a program that can be read, or with an error that has a place in the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const Result<cli::Manifest> manifest = cli::parse_manifest(text, "fuzz.json");
  if (!manifest.ok()) {
    expect_place(manifest.error());
    return 0;
  }
  const Result<cli::PackedProgram> packed = cli::pack(*manifest, made_up_file);
  if (!packed.ok()) expect_place(packed.error());
  return 0;
}
