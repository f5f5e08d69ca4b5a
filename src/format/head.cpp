#include "format/head.h"

#include <flatbuffers/base.h>
#include <fmt/format.h>

#include <cstring>

namespace tandem::format {
namespace {

template <class Integer>
Integer read(Bytes file, std::size_t offset) noexcept {
  Integer value{};
  std::memcpy(&value, file.data() + offset, sizeof value);
  return flatbuffers::EndianScalar(value);
}

template <class Integer>
void put(std::span<std::byte> file, std::size_t offset, Integer value) noexcept {
  value = flatbuffers::EndianScalar(value);
  std::memcpy(file.data() + offset, &value, sizeof value);
}

}  // namespace

std::uint32_t read_u32(Bytes file, std::size_t offset) noexcept { return read<std::uint32_t>(file, offset); }
std::uint64_t read_u64(Bytes file, std::size_t offset) noexcept { return read<std::uint64_t>(file, offset); }

void put_u32(std::span<std::byte> file, std::size_t offset, std::uint32_t value) noexcept { put(file, offset, value); }
void put_u64(std::span<std::byte> file, std::size_t offset, std::uint64_t value) noexcept { put(file, offset, value); }
void put_magic(std::span<std::byte> file, std::size_t offset, std::string_view magic) noexcept {
  std::memcpy(file.data() + offset, magic.data(), magic.size());
}

std::string_view read_magic(Bytes file, std::size_t offset) noexcept {
  if (file.size() < offset + kIdentifierBytes) return {};
  return {reinterpret_cast<const char*>(file.data()) + offset, kIdentifierBytes};
}

Status check_identifier(const FaultMaker& fault, std::string_view identifier) {
  const Bytes file = fault.file;
  if (const auto address = reinterpret_cast<std::uintptr_t>(file.data()); address % kFileAlignment != 0) {
    return Error{ErrorCode::InvalidArgument, "a file's bytes must start at an aligned address"}.with_expected(
        fmt::format("a multiple of {}", kFileAlignment), fmt::format("{:#x}", address));
  }
  const FieldPath field{"identifier"};
  if (file.size() < kHeaderOffset) {
    return fault(field, file.data() + file.size(), "the file ends before its identifier")
        .with_expected(fmt::format("at least {} bytes", kHeaderOffset), fmt::format("{} bytes", file.size()));
  }
  if (const std::string_view found = read_magic(file, kIdentifierOffset); found != identifier) {
    return fault(field, found.data(), "another kind of file, or another version of the format")
        .with_expected(fmt::format("{:?}", identifier), fmt::format("{:?}", found));
  }
  return {};
}

}  // namespace tandem::format
