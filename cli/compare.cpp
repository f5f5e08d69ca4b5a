#include "cli/compare.h"

#include "cli/elements.h"
#include "cli/strided.h"
#include "cli/text.h"
#include "cli/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace tandem::cli {
namespace {

constexpr double kNoSize = std::numeric_limits<double>::infinity();

/// |found - expected| and whether it is allowed.
struct Difference {
  double size = 0;
  bool allowed = true;
};

Difference difference(double found, double expected, const Tolerance& tolerance) noexcept {
  // Equality first: inf - inf would be NaN.
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return {};
  const double size = std::abs(found - expected);
  if (!std::isfinite(size)) return {kNoSize, false};
  return {size, size <= tolerance.atol + tolerance.rtol * std::abs(expected)};
}
template <int kExponentBits, int kFractionBits>
Difference difference(SmallFloat<kExponentBits, kFractionBits> found, SmallFloat<kExponentBits, kFractionBits> expected,
                      const Tolerance& tolerance) noexcept {
  return difference(double{found.value()}, double{expected.value()}, tolerance);
}
template <class T>
Difference difference(std::complex<T> found, std::complex<T> expected, const Tolerance& tolerance) noexcept {
  const Difference real = difference(double{found.real()}, double{expected.real()}, {0, 0});
  const Difference imag = difference(double{found.imag()}, double{expected.imag()}, {0, 0});
  if (real.allowed && imag.allowed) return {};
  const double size = std::hypot(real.size, imag.size);
  return {size, std::isfinite(size) && size <= tolerance.atol + tolerance.rtol * std::abs(expected)};
}
template <std::integral T>
Difference difference(T found, T expected, const Tolerance& /*exact*/) noexcept {
  if (found == expected) return {};
  // The distance of two int64 may need 64 unsigned bits.
  const auto [low, high] = std::minmax(found, expected);
  return {static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)), false};
}
Difference difference(Truth found, Truth expected, const Tolerance& /*exact*/) noexcept {
  return (found.byte != 0) == (expected.byte != 0) ? Difference{} : Difference{1, false};
}
Difference difference(RawByte found, RawByte expected, const Tolerance& /*exact*/) noexcept {
  return found.byte == expected.byte ? Difference{} : Difference{kNoSize, false};
}

Comparison mismatch(std::string reason, double size = kNoSize) { return {false, size, std::move(reason)}; }

/// "[1, 0, 3]" of an element counted in row-major order.
std::string position_text(std::span<const std::int64_t> sizes, std::size_t element) {
  std::vector<std::size_t> index(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(sizes[axis]);
    index[axis] = element % size;
    element /= size;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

Comparison compare_tensors(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  if (found.dtype() != expected.dtype() || !std::ranges::equal(found.sizes(), expected.sizes())) {
    return mismatch(fmt::format("expected {}, found {}", type_text(expected), type_text(found)));
  }
  const Result<Tensor> found_rows = contiguous(found);
  const Result<Tensor> expected_rows = contiguous(expected);
  if (!found_rows.ok() || !expected_rows.ok()) return mismatch("no memory to compare in");
  return visit_element(found.dtype(), [&]<class T>(T) {
    const T* a = found_rows->data_as<T>();
    const T* b = expected_rows->data_as<T>();
    const std::size_t count = found_rows->nbytes() / sizeof(T);
    Comparison result;
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Difference step = difference(a[i], b[i], tolerance);
      result.max_abs_error = std::max(result.max_abs_error, step.size);
      if (!step.allowed && wrong++ == 0) first = i;
    }
    if (wrong != 0) {
      result.matched = false;
      result.reason = fmt::format("{} of {} elements differ, first at {}: expected {}, found {}", wrong, count,
                                  position_text(found.sizes(), first * sizeof(T) / item_bytes(found.dtype())),
                                  element_text(b[first]), element_text(a[first]));
    }
    return result;
  });
}

}  // namespace

void Comparison::merge(const Comparison& other) {
  if (matched && !other.matched) reason = other.reason;
  matched = matched && other.matched;
  max_abs_error = std::max(max_abs_error, other.max_abs_error);
}

Comparison compare(const Value& found, const Value& expected, const Tolerance& tolerance) {
  if (found.kind() != expected.kind()) {
    return mismatch(fmt::format("expected {}, found {}", type_text(expected), type_text(found)));
  }
  Difference difference_of_numbers;
  switch (found.kind()) {
    case Value::Kind::None:
      return {};
    case Value::Kind::Tensor:
      return compare_tensors(found.tensor(), expected.tensor(), tolerance);
    case Value::Kind::String:
      if (found.to_text() == expected.to_text()) return {};
      difference_of_numbers = {kNoSize, false};
      break;
    case Value::Kind::Int:
      difference_of_numbers = difference(found.to_int(), expected.to_int(), tolerance);
      break;
    case Value::Kind::Bool:
      difference_of_numbers = difference(Truth{found.to_bool()}, Truth{expected.to_bool()}, tolerance);
      break;
    case Value::Kind::Double:
      difference_of_numbers = difference(found.to_double(), expected.to_double(), tolerance);
      break;
  }
  if (difference_of_numbers.allowed) return {true, difference_of_numbers.size, {}};
  return mismatch(fmt::format("expected {}, found {}", short_text(expected), short_text(found)),
                  difference_of_numbers.size);
}

}  // namespace tandem::cli
