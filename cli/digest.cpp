#include "cli/digest.h"

#include "cli/strided.h"

#include <bit>
#include <string>

namespace tandem::cli {
namespace {

class Fnv1a {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) hash_ = (hash_ ^ std::to_integer<std::uint64_t>(byte)) * 0x00000100000001B3;
  }
  void add(std::uint64_t number) noexcept { add(std::as_bytes(std::span{&number, 1})); }
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

Status add_tensor(Fnv1a& hash, const Tensor& tensor) {
  hash.add(static_cast<std::uint64_t>(tensor.dtype()));
  hash.add(tensor.rank());
  for (const std::int64_t size : tensor.sizes()) hash.add(static_cast<std::uint64_t>(size));
  TANDEM_TRY(const Tensor rows, contiguous(tensor));
  hash.add({rows.data_as<const std::byte>(), rows.nbytes()});
  return {};
}

}  // namespace

Result<std::uint64_t> digest_of(std::span<const Value> outputs) {
  Fnv1a hash;
  for (const Value& value : outputs) {
    hash.add(static_cast<std::uint64_t>(value.kind()));
    switch (value.kind()) {
      case Value::Kind::None:
        break;
      case Value::Kind::Tensor:
        TANDEM_CHECK_OK(add_tensor(hash, value.tensor()));
        break;
      case Value::Kind::Int:
        hash.add(static_cast<std::uint64_t>(value.to_int()));
        break;
      case Value::Kind::Double:
        hash.add(std::bit_cast<std::uint64_t>(value.to_double()));
        break;
      case Value::Kind::Bool:
        hash.add(static_cast<std::uint64_t>(value.to_bool()));
        break;
      case Value::Kind::String:
        hash.add(value.to_text().size());
        hash.add(std::as_bytes(std::span{value.to_text()}));
        break;
    }
  }
  return hash.value();
}

}  // namespace tandem::cli
