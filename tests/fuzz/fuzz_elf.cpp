#include "backends/aoti/elf_image.h"

#include <cstdlib>
#include <span>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// What is accepted can be edited and read again; what is refused says where.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::aoti;
  auto image = ElfImage::parse(std::as_bytes(std::span{data, size}));
  if (!image.ok()) {
    require(!image.error().site().field.empty());
    require(image.error().site().offset.has_value());
    return 0;
  }
  require(image->bytes().size() == size && image->loaded_bytes().size() <= size);
  image->supply([](std::string_view name) { return name.starts_with("aoti_") ? std::uintptr_t{0x1000} : 0; });
  image->isolate();
  // Edits may damage each other where tables overlap, but never anything else than a table's entries.
  require(image->bytes().size() == size);
  for (const std::string_view name : image->missing_imports()) require(name.size() < size);
  for (const std::string_view name : image->needed()) require(name.size() < size);
  return 0;
}
