#pragma once

#include "format/pte/pte.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace tandem::testing {

/// Bytes at a 16-byte aligned address of exactly their length, so that a sanitizer sees a read past the end.
class FileBytes {
 public:
  explicit FileBytes(format::Bytes bytes) : size_{bytes.size()}, data_{std::make_unique<std::byte[]>(bytes.size())} {
    std::copy(bytes.begin(), bytes.end(), data_.get());
  }
  explicit FileBytes(std::string_view text) : FileBytes{std::as_bytes(std::span{text})} {}

  [[nodiscard]] format::Bytes bytes() const noexcept { return {data_.get(), size_}; }
  [[nodiscard]] FileBytes first(std::size_t count) const { return FileBytes{bytes().first(count)}; }

  /// Overwrites a scalar.
  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(data_.get() + offset, &value, sizeof value);
  }
  void put_text(std::size_t offset, std::string_view text) {
    std::memcpy(data_.get() + offset, text.data(), text.size());
  }

  /// Makes the field of `table`, which lies in these bytes, absent. `slot` is one of the generated VT_ constants.
  template <class Table>
  void drop(const Table* table, flatbuffers::voffset_t slot) {
    const auto* generic = reinterpret_cast<const flatbuffers::Table*>(table);
    put(offset_of(generic->GetVTable() + slot), flatbuffers::voffset_t{0});
  }
  /// Overwrites a scalar field of `table`.
  template <class Table, class T>
  void poke(const Table* table, flatbuffers::voffset_t slot, T value) {
    put(offset_of(reinterpret_cast<const flatbuffers::Table*>(table)->GetAddressOf(slot)), value);
  }

 private:
  [[nodiscard]] std::size_t offset_of(const std::uint8_t* at) const {
    return static_cast<std::size_t>(at - reinterpret_cast<const std::uint8_t*>(data_.get()));
  }

  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

}  // namespace tandem::testing
