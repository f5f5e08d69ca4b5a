#include "cli/npy.h"
#include "cli/strided.h"
#include "cli/value_text.h"

#include <cstddef>
#include <cstdint>
#include <span>

/// Whatever the bytes are, reading ends with an array of which every element can be read, or an error that names the
/// file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem;
  const auto bytes = std::as_bytes(std::span{data, size});
  for (const auto wanted : {std::optional<ScalarType>{}, std::optional{ScalarType::BFloat16}}) {
    const Result<Tensor> read = cli::parse_npy(bytes, {}, "fuzz.npy", wanted);
    if (!read.ok()) {
      if (read.error().site().file != "fuzz.npy") __builtin_trap();
      continue;
    }
    const Result<Tensor> rows = cli::contiguous(*read);
    if (rows.ok() && cli::short_text(*rows, SIZE_MAX).empty() != (rows->nbytes() == 0)) __builtin_trap();
  }
  return 0;
}
