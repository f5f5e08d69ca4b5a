#include "ops/portable/arguments.h"
#include "ops/portable/convert.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/wrapping.h"

#include <array>
#include <cmath>
#include <limits>

namespace tandem::ops::portable {
namespace {

template <class T>
Status fill(const View& out, const Argument& number) {
  TANDEM_TRY(const Math<T> value, number_as<T>(number));
  T element = store<T>(value);
  View repeated{reinterpret_cast<std::byte*>(&element), out.dtype, {}, {}};
  repeated.expand(out.sizes);
  return copy(out, repeated);
}

Status fill(TensorArg& out, Arguments arguments, std::size_t value, std::span<const std::int64_t> sizes) {
  TANDEM_TRY(const Argument* number, number_at(arguments, value));
  TANDEM_CHECK_OK(runtime::resize(out, sizes));
  const auto apply =
      for_dtype<kReal>(out.dtype, []<class T>() -> Status (*)(const View&, const Argument&) { return &fill<T>; });
  if (apply == nullptr) return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  return apply(view_of(out), *number);
}

/// Wire: size, fill_value, out, out.
Status accept_full(Specs specs) { return Accept{specs}.count(4).integers(0).number(1).output(2, kReal).done(); }
Status run_full(Arguments arguments) {
  TANDEM_TRY(const Shape sizes, integers_at(arguments, 0));
  return fill(arguments[2]->tensor, arguments, 1, sizes.span());
}

/// Wire: self, fill_value, memory_format, out, out.
Status accept_full_like(Specs specs) {
  return Accept{specs}.count(5).any_tensor(0).number(1).optional_integer(2).output(3, kReal).done();
}
Status run_full_like(Arguments arguments) {
  return fill(arguments[3]->tensor, arguments, 1, arguments[0]->tensor.size_span());
}

/// Wire: self, value, out, out.
Status accept_fill(Specs specs) {
  return Accept{specs}.count(4).any_tensor(0).number(1).output(2, kReal).same_dtype(2, 0).done();
}
Status run_fill(Arguments arguments) {
  return fill(arguments[2]->tensor, arguments, 1, arguments[0]->tensor.size_span());
}

/// Wire: s, out, out.
Status accept_scalar_tensor(Specs specs) { return Accept{specs}.count(3).number(0).output(1, kReal).rank(1, 0).done(); }
Status run_scalar_tensor(Arguments arguments) { return fill(arguments[1]->tensor, arguments, 0, {}); }

Error bad_range(const char* why) { return Error{ErrorCode::InvalidArgument, why}; }

// How many of start, start + step, ... lie before end.
Result<std::int64_t> range_size(std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) return bad_range("step is zero");
  if (start == end) return std::int64_t{0};
  if ((step > 0) != (end > start)) return bad_range("step leads away from the end");
  const auto distance = static_cast<std::uint64_t>(step > 0 ? wrapping_sub(end, start) : wrapping_sub(start, end));
  const auto pace = static_cast<std::uint64_t>(step > 0 ? step : wrapping_neg(step));
  const std::uint64_t count = (distance - 1) / pace + 1;
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return bad_range("range too long");
  return static_cast<std::int64_t>(count);
}

Result<std::int64_t> range_size(double start, double end, double step) {
  if (step == 0) return bad_range("step is zero");
  if (!std::isfinite(start) || !std::isfinite(end) || std::isnan(step)) return bad_range("range is not finite");
  if (start != end && (step > 0) != (end > start)) return bad_range("step leads away from the end");
  const double count = std::ceil((end - start) / step);
  if (!(count < 0x1p63)) return bad_range("range too long");
  return static_cast<std::int64_t>(count);
}

double as_double(const Argument& number) noexcept {
  if (number.kind == Argument::Kind::Double) return number.number;
  return number.kind == Argument::Kind::Int ? static_cast<double>(number.integer) : (number.flag ? 1.0 : 0.0);
}

struct Range {
  const Argument* start = nullptr;
  const Argument* end = nullptr;
  const Argument* step = nullptr;
};

// The size comes from the numbers as they are given, also where the output's elements cannot hold their fractions.
Result<std::int64_t> range_size(const Range& range) {
  const auto is_double = [](const Argument* number) { return number->kind == Argument::Kind::Double; };
  if (is_double(range.start) || is_double(range.end) || is_double(range.step)) {
    return range_size(as_double(*range.start), as_double(*range.end), as_double(*range.step));
  }
  TANDEM_TRY(const std::int64_t start, number_as<std::int64_t>(*range.start));
  TANDEM_TRY(const std::int64_t end, number_as<std::int64_t>(*range.end));
  TANDEM_TRY(const std::int64_t step, number_as<std::int64_t>(*range.step));
  return range_size(start, end, step);
}

template <class T>
Status arange(const View& out, const Range& range) {
  // As in PyTorch: the 16-bit floats count in float, the others in double.
  using Count =
      std::conditional_t<std::is_integral_v<T>, std::int64_t, std::conditional_t<kIsShortFloat<T>, float, double>>;
  TANDEM_TRY(const Count start, number_as<Count>(*range.start));
  TANDEM_TRY(const Count step, number_as<Count>(*range.step));
  T* elements = reinterpret_cast<T*>(out.data);
  for (std::int64_t i = 0; i < out.sizes[0]; ++i) {
    elements[i * out.strides[0]] = convert<T>(wrapping_add(start, wrapping_mul(step, static_cast<Count>(i))));
  }
  return {};
}

Status run_range(TensorArg& out, const Range& range) {
  TANDEM_TRY(const std::int64_t size, range_size(range));
  TANDEM_CHECK_OK(runtime::resize(out, std::array{size}));
  const auto apply = for_dtype<kNumbers>(out.dtype, []<class T>() { return &arange<T>; });
  if (apply == nullptr) return Error{ErrorCode::InvalidType, "no kernel for this element type"};
  return apply(view_of(out), range);
}

/// Wire: start, end, step, out, out.
Status accept_arange_start(Specs specs) {
  return Accept{specs}.count(5).number(0).number(1).number(2).output(3, kNumbers).rank(3, 1).done();
}
Status run_arange_start(Arguments arguments) {
  TANDEM_TRY(const Argument* start, number_at(arguments, 0));
  TANDEM_TRY(const Argument* end, number_at(arguments, 1));
  TANDEM_TRY(const Argument* step, number_at(arguments, 2));
  return run_range(arguments[3]->tensor, {start, end, step});
}

/// Wire: end, out, out.
Status accept_arange(Specs specs) { return Accept{specs}.count(3).number(0).output(1, kNumbers).rank(1, 1).done(); }
Status run_arange(Arguments arguments) {
  TANDEM_TRY(const Argument* end, number_at(arguments, 0));
  Argument zero;
  zero.kind = Argument::Kind::Int;
  Argument one = zero;
  one.integer = 1;
  return run_range(arguments[1]->tensor, {&zero, end, &one});
}

constexpr std::array kTable{
    runtime::Operator{"aten::full.out", "--w=", &accept_full, &run_full},
    runtime::Operator{"aten::full_like.out", "s--w=", &accept_full_like, &run_full_like},
    runtime::Operator{"aten::fill.Scalar_out", "s-w=", &accept_fill, &run_fill},
    runtime::Operator{"aten::scalar_tensor.out", "-w=", &accept_scalar_tensor, &run_scalar_tensor},
    runtime::Operator{"aten::arange.start_out", "---w=", &accept_arange_start, &run_arange_start},
    runtime::Operator{"aten::arange.out", "-w=", &accept_arange, &run_arange},
};

}  // namespace

std::span<const runtime::Operator> create_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
