#pragma once

#include "support/file_bytes.h"
#include "support/promises.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tandem::testing {

/// Empty if the error says what and where.
inline std::string spelt_out(const Error& error) {
  return error.message().empty() || error.to_string().empty() ? "an error without a message" : "";
}

/// Reads the input as a file and checks what comes of it: a result that keeps the reader's promises, or an error that
/// can be spelt out.
template <class Read>
void fuzz_reader(const std::uint8_t* data, std::size_t size, Read read) {
  const FileBytes file{std::as_bytes(std::span{data, size})};
  const auto result = read(file.bytes());
  const std::string complaint = result.ok() ? broken_promise(*result, file.bytes()) : spelt_out(result.error());
  if (complaint.empty()) return;
  std::fprintf(stderr, "%s\n", complaint.c_str());
  std::abort();
}

}  // namespace tandem::testing
