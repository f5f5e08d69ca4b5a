#include "ops/portable/convert.h"

#include "ops/portable/dtype.h"

#include <cstring>

namespace tandem::ops::portable {
namespace {

template <class To, class From>
void convert_row(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                 std::int64_t count) {
  constexpr auto kFromBytes = static_cast<std::int64_t>(sizeof(From));
  constexpr auto kToBytes = static_cast<std::int64_t>(sizeof(To));
  if (from_step == kFromBytes && to_step == kToBytes) {  // constant steps are what lets the compiler vectorise
    const auto* source = reinterpret_cast<const From*>(from);
    auto* target = reinterpret_cast<To*>(to);
    for (std::int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    *reinterpret_cast<To*>(to) = convert<To>(*reinterpret_cast<const From*>(from));
  }
}

template <std::size_t kBytes>
void move_row(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step, std::int64_t count) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  if (from_step == kStep && to_step == kStep) {
    // memmove: an exporter may well plan the result of a copy onto its operand.
    std::memmove(to, from, kBytes * static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) std::memcpy(to, from, kBytes);
}

template <class To>
ConvertRow converter_to(ScalarType from) noexcept {
  return for_dtype<kReal>(from, []<class From>() -> ConvertRow { return &convert_row<To, From>; });
}

}  // namespace

ConvertRow row_converter(ScalarType from, ScalarType to) noexcept {
  if (from == to) {
    switch (item_bytes(from)) {
      case 1:
        return &move_row<1>;
      case 2:
        return &move_row<2>;
      case 4:
        return &move_row<4>;
      case 8:
        return &move_row<8>;
      case 16:
        return &move_row<16>;
      default:
        return nullptr;
    }
  }
  return for_dtype<kReal>(to, [from]<class To>() -> ConvertRow { return converter_to<To>(from); });
}

}  // namespace tandem::ops::portable
