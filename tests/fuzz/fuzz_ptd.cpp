#include "fuzz/fuzz_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tandem::testing::fuzz_reader(data, size, tandem::format::read_ptd, tandem::format::write_ptd);
  return 0;
}
