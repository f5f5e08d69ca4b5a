#include "backends/aoti/cuda_image.h"

#include <elf.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem::aoti {
namespace {

constexpr std::uint32_t kFatbinary = 0xBA55ED50U;
constexpr std::uint16_t kPtxEntry = 1;
/// From this version of the cubin ABI the number lies one byte further up.
constexpr unsigned char kWideFlags = 8;

template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string cubin_target(const std::byte* image) {
  const auto header = read<Elf64_Ehdr>(image);
  const unsigned shift = header.e_ident[EI_ABIVERSION] >= kWideFlags ? 8 : 0;
  return "sm_" + std::to_string((header.e_flags >> shift) & 0xFFU);
}

std::string fatbinary_targets(const std::byte* image) {
  constexpr std::size_t kHeaderBytes = 16;
  constexpr std::size_t kArchitectureAt = 28;
  const auto end = kHeaderBytes + read<std::uint64_t>(image + 8);
  std::string targets;
  for (std::size_t at = read<std::uint16_t>(image + 6); at + kArchitectureAt + 4 <= end;) {
    const std::byte* entry = image + at;
    const bool ptx = read<std::uint16_t>(entry) == kPtxEntry;
    targets += (targets.empty() ? "" : ", ") + std::string{ptx ? "compute_" : "sm_"} +
               std::to_string(read<std::uint32_t>(entry + kArchitectureAt));
    const std::uint64_t step = read<std::uint32_t>(entry + 4) + read<std::uint64_t>(entry + 8);
    if (step == 0 || step > end - at) break;
    at += step;
  }
  return targets;
}

std::string ptx_target(std::string_view text) {
  constexpr std::string_view kDirective = ".target ";
  const std::size_t at = text.find(kDirective);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + kDirective.size());
  return "PTX for " + std::string{rest.substr(0, rest.find_first_of(", \t\r\n"))};
}

}  // namespace

std::string targets_of(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  std::string targets;
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    targets = cubin_target(bytes);
  } else if (read<std::uint32_t>(bytes) == kFatbinary) {
    targets = fatbinary_targets(bytes);
  } else if (read<char>(bytes) == '/' || read<char>(bytes) == '.' || read<char>(bytes) == '\n') {
    targets = ptx_target(reinterpret_cast<const char*>(bytes));
  }
  return targets.empty() ? "an unknown target" : targets;
}

}  // namespace tandem::aoti
