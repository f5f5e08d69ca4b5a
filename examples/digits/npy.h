#pragma once

#include <tandem/result.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

/// The numbers of a `.npy` file of version 1 in C order. `descr` is NumPy's name of T, "<f4" for example.
///
/// Errors: InvalidArgument, the file is missing or holds something else.
/// Source: numpy.lib.format, "Format Version 1.0".
template <class T>
tandem::Result<std::vector<T>> read_npy(const std::filesystem::path& path, std::string_view descr) {
  using tandem::Error;
  using tandem::ErrorCode;
  std::ifstream file{path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  constexpr std::size_t kPreamble = 10;
  if (bytes.size() < kPreamble || !bytes.starts_with("\x93NUMPY\x01")) {
    return Error{ErrorCode::InvalidArgument, "not a .npy file of version 1"}.with_file(path.string());
  }
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t begin = kPreamble + byte_at(8) + (byte_at(9) << 8U);
  const std::string_view header = std::string_view{bytes}.substr(kPreamble, begin - kPreamble);
  if (begin > bytes.size() || (bytes.size() - begin) % sizeof(T) != 0 ||
      header.find("'descr': '" + std::string{descr} + "'") == std::string_view::npos ||
      header.find("'fortran_order': False") == std::string_view::npos) {
    return Error{ErrorCode::InvalidArgument, "the .npy file holds something else"}
        .with_expected(std::string{descr} + " in C order", std::string{header})
        .with_file(path.string());
  }
  std::vector<T> numbers((bytes.size() - begin) / sizeof(T));
  std::copy_n(bytes.data() + begin, bytes.size() - begin, reinterpret_cast<char*>(numbers.data()));
  return numbers;
}
