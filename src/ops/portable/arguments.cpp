#include "ops/portable/arguments.h"

#include "ops/portable/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace tandem::ops::portable {
namespace {

using Kind = Argument::Kind;

Error kind_error(std::size_t index, std::string expected, Kind found) {
  return Error{ErrorCode::InvalidType, "argument has another kind"}
      .with_expected(std::move(expected), std::string{name_of(found)})
      .with_argument(static_cast<int>(index));
}

bool is_number(Kind kind) noexcept { return kind == Kind::Int || kind == Kind::Double || kind == Kind::Bool; }

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::None:
      return "none";
    case Kind::Tensor:
      return "tensor";
    case Kind::Int:
      return "int";
    case Kind::Double:
      return "double";
    case Kind::Bool:
      return "bool";
    case Kind::String:
      return "string";
    case Kind::IntList:
      return "list of int";
    case Kind::DoubleList:
      return "list of double";
    case Kind::BoolList:
      return "list of bool";
    case Kind::TensorList:
      return "list of tensors";
    case Kind::OptionalTensorList:
      return "list of optional tensors";
  }
  return "unknown";
}

std::string names_of(DtypeSet dtypes) {
  std::string names;
  for (int number = 0; number < 32; ++number) {
    if (!is_scalar_type(number) || !contains(dtypes, static_cast<ScalarType>(number))) continue;
    if (!names.empty()) names += ", ";
    names += name_of(static_cast<ScalarType>(number));
  }
  return names;
}

bool is_row_major(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> order, bool dynamic) noexcept {
  int last = -1;
  for (const std::uint8_t axis : order) {
    if (axis >= sizes.size() || (sizes[axis] == 1 && !dynamic)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Accept& Accept::fail(std::size_t index, ErrorCode code, std::string message, std::string expected, std::string found) {
  if (ok()) {
    error_ = Error{code, std::move(message)}
                 .with_expected(std::move(expected), std::move(found))
                 .with_argument(static_cast<int>(index));
  }
  return *this;
}

Status Accept::done() {
  if (error_) return *std::move(error_);
  return {};
}

Accept& Accept::count(std::size_t wanted) {
  if (ok() && specs_.size() != wanted) {
    error_ = Error{ErrorCode::InvalidProgram, "operator call has another number of arguments"}.with_expected(
        std::to_string(wanted), std::to_string(specs_.size()));
  }
  return *this;
}

Accept& Accept::kind(std::size_t index, Kind wanted, bool optional) {
  if (!ok()) return *this;
  const Kind found = at(index).kind;
  if (found == wanted || (optional && found == Kind::None)) return *this;
  error_ = kind_error(index, std::string{name_of(wanted)} + (optional ? " or none" : ""), found);
  return *this;
}

Accept& Accept::elements(std::size_t index, const ArgumentSpec& spec, DtypeSet dtypes) {
  if (spec.sizes.size() > kMaxRank) {
    return fail(index, ErrorCode::NotSupported, "tensor has too many axes", "at most " + std::to_string(kMaxRank),
                std::to_string(spec.sizes.size()));
  }
  const bool known = dtypes == 0 ? row_converter(spec.dtype, spec.dtype) != nullptr : contains(dtypes, spec.dtype);
  if (known) return *this;
  return fail(index, ErrorCode::InvalidType, "element type is not served",
              dtypes == 0 ? "any of whole bytes" : names_of(dtypes), std::string{name_of(spec.dtype)});
}

Accept& Accept::tensor(std::size_t index, DtypeSet dtypes) {
  kind(index, Kind::Tensor, false);
  return ok() ? elements(index, at(index), dtypes) : *this;
}

Accept& Accept::any_tensor(std::size_t index) { return tensor(index, 0); }

Accept& Accept::output(std::size_t index, DtypeSet dtypes) {
  return tensor(index, dtypes).kind(index + 1, Kind::Tensor, false);
}

Accept& Accept::any_output(std::size_t index) { return output(index, 0); }

Accept& Accept::list(std::size_t index, DtypeSet dtypes, bool optional) {
  if (!ok()) return *this;
  const ArgumentSpec& spec = at(index);
  if (spec.kind != Kind::TensorList && !(optional && spec.kind == Kind::OptionalTensorList)) {
    error_ = kind_error(index, std::string{name_of(optional ? Kind::OptionalTensorList : Kind::TensorList)}, spec.kind);
    return *this;
  }
  for (std::size_t i = 0; ok() && i < spec.item_count; ++i) {
    const Kind found = spec.items[i] == nullptr ? Kind::None : spec.items[i]->kind;
    if (found == Kind::Tensor) {
      elements(index, *spec.items[i], dtypes);
    } else if (found != Kind::None) {
      error_ = kind_error(index, "list of tensors", found);
    } else if (!optional) {
      error_ = kind_error(index, std::string{name_of(Kind::TensorList)}, Kind::OptionalTensorList);
    }
  }
  return *this;
}

Accept& Accept::optional_tensors(std::size_t index, DtypeSet dtypes) { return list(index, dtypes, true); }
Accept& Accept::tensors(std::size_t index, DtypeSet dtypes) { return list(index, dtypes, false); }

Accept& Accept::number(std::size_t index) {
  if (ok() && !is_number(at(index).kind)) error_ = kind_error(index, "int, double or bool", at(index).kind);
  return *this;
}

Accept& Accept::optional_number(std::size_t index) {
  return ok() && at(index).kind == Kind::None ? *this : number(index);
}

Accept& Accept::integer(std::size_t index) { return kind(index, Kind::Int, false); }
Accept& Accept::optional_integer(std::size_t index) { return kind(index, Kind::Int, true); }
Accept& Accept::boolean(std::size_t index) { return kind(index, Kind::Bool, false); }
Accept& Accept::text(std::size_t index) { return kind(index, Kind::String, false); }
Accept& Accept::integers(std::size_t index) { return kind(index, Kind::IntList, false); }
Accept& Accept::optional_integers(std::size_t index) { return kind(index, Kind::IntList, true); }
Accept& Accept::optional_doubles(std::size_t index) { return kind(index, Kind::DoubleList, true); }

Accept& Accept::rank(std::size_t index, std::size_t wanted) {
  if (!ok() || at(index).sizes.size() == wanted) return *this;
  return fail(index, ErrorCode::InvalidArgument, "tensor has another rank", std::to_string(wanted),
              std::to_string(at(index).sizes.size()));
}

Accept& Accept::convertible(std::size_t from, std::size_t to) {
  if (!ok() || row_converter(at(from).dtype, at(to).dtype) != nullptr) return *this;
  return fail(from, ErrorCode::InvalidType, "element type is not converted to the result's",
              std::string{name_of(at(to).dtype)}, std::string{name_of(at(from).dtype)});
}

Accept& Accept::same_dtype(std::size_t index, std::size_t as) {
  if (!ok() || at(index).dtype == at(as).dtype) return *this;
  return fail(index, ErrorCode::InvalidType, "element type differs from that of argument " + std::to_string(as),
              std::string{name_of(at(as).dtype)}, std::string{name_of(at(index).dtype)});
}

Accept& Accept::castable(ScalarType from, std::size_t to) {
  if (!ok() || can_cast(from, at(to).dtype)) return *this;
  return fail(to, ErrorCode::InvalidType, "result cannot be written to this element type", std::string{name_of(from)},
              std::string{name_of(at(to).dtype)});
}

Accept& Accept::contiguous(std::size_t index) {
  if (!ok() || is_row_major(at(index).sizes, at(index).dim_order, at(index).dynamic)) return *this;
  return fail(index, ErrorCode::NotSupported, "layout is not served", "row-major", "another dim_order");
}

Accept& Accept::dim_order(std::size_t index, std::size_t tensor) {
  optional_integers(index);
  if (!ok() || at(index).kind == Kind::None || at(index).stored == nullptr) return *this;
  const std::span<Argument* const> wanted = at(index).stored->items;
  const std::span<const std::uint8_t> planned = at(tensor).dim_order;
  const bool agrees = wanted.empty() || std::equal(wanted.begin(), wanted.end(), planned.begin(), planned.end(),
                                                   [](const Argument* axis, std::uint8_t p) {
                                                     return axis->kind == Kind::Int && axis->integer == p;
                                                   });
  if (agrees) return *this;
  Shape order;
  for (std::size_t i = 0; i < std::min(wanted.size(), kMaxRank); ++i) order.push(wanted[i]->integer);
  Shape plan;
  for (const std::uint8_t axis : planned) plan.push(axis);
  return fail(index, ErrorCode::NotSupported, "dim_order differs from the layout that the program plans",
              text_of(plan.span()), text_of(order.span()));
}

Result<std::int64_t> integer_at(Arguments arguments, std::size_t index) {
  const Argument& argument = *arguments[index];
  if (argument.kind != Kind::Int) return kind_error(index, "int", argument.kind);
  return argument.integer;
}

Result<std::optional<std::int64_t>> optional_integer_at(Arguments arguments, std::size_t index) {
  if (arguments[index]->kind == Kind::None) return std::optional<std::int64_t>{};
  TANDEM_TRY(const std::int64_t number, integer_at(arguments, index));
  return std::optional<std::int64_t>{number};
}

Result<bool> boolean_at(Arguments arguments, std::size_t index) {
  const Argument& argument = *arguments[index];
  if (argument.kind != Kind::Bool) return kind_error(index, "bool", argument.kind);
  return argument.flag;
}

Result<const Argument*> number_at(Arguments arguments, std::size_t index) {
  const Argument* argument = arguments[index];
  if (!is_number(argument->kind)) return kind_error(index, "int, double or bool", argument->kind);
  return argument;
}

Result<Shape> integers_at(Arguments arguments, std::size_t index) {
  const Argument& list = *arguments[index];
  if (list.kind != Kind::IntList) return kind_error(index, std::string{name_of(Kind::IntList)}, list.kind);
  if (list.items.size() > kMaxRank) {
    return Error{ErrorCode::InvalidArgument, "list is longer than a tensor has axes"}
        .with_expected("at most " + std::to_string(kMaxRank), std::to_string(list.items.size()))
        .with_argument(static_cast<int>(index));
  }
  Shape numbers;
  for (const Argument* item : list.items) {
    if (item->kind != Kind::Int) return kind_error(index, std::string{name_of(Kind::IntList)}, item->kind);
    numbers.push(item->integer);
  }
  return numbers;
}

namespace {

// The largest finite values of the floats, which their memory types do not tell.
template <class T>
constexpr double kLargest = std::is_same_v<T, Half>       ? 65504.0
                            : std::is_same_v<T, BFloat16> ? 0x1.FEp127
                            : std::is_same_v<T, float>    ? std::numeric_limits<float>::max()
                                                          : std::numeric_limits<double>::max();

template <class T>
bool holds(std::int64_t value) noexcept {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return value >= -255 && value <= 255;  // negative numbers wrap, as in PyTorch
  } else if constexpr (std::is_integral_v<T>) {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  } else {
    return std::fabs(static_cast<double>(value)) <= kLargest<T>;
  }
}

template <class T>
bool holds(double value) noexcept {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return false;
    constexpr auto kTop = static_cast<double>(std::numeric_limits<T>::max());
    // 2^63 - 1 is no double; the next one up does not fit.
    const bool below = sizeof(T) == sizeof(std::int64_t) ? value < kTop : value <= kTop;
    return below && value >= static_cast<double>(std::numeric_limits<T>::min());
  } else {
    return !std::isfinite(value) || std::fabs(value) <= kLargest<T>;
  }
}

}  // namespace

template <class T>
Result<Math<T>> number_as(const Argument& number) {
  if (number.kind == Kind::Bool) return static_cast<Math<T>>(number.flag);
  if constexpr (std::is_same_v<T, Bool>) {
    return number.kind == Kind::Int ? number.integer != 0 : number.number != 0;
  } else {
    const bool fits = number.kind == Kind::Int ? holds<T>(number.integer) : holds<T>(number.number);
    if (!fits) {
      return Error{ErrorCode::InvalidArgument, "number does not fit the element type"}.with_expected(
          "a number within the range",
          number.kind == Kind::Int ? std::to_string(number.integer) : std::to_string(number.number));
    }
    return number.kind == Kind::Int ? load(convert<T>(number.integer)) : load(convert<T>(number.number));
  }
}

template Result<std::uint8_t> number_as<std::uint8_t>(const Argument&);
template Result<std::int8_t> number_as<std::int8_t>(const Argument&);
template Result<std::int16_t> number_as<std::int16_t>(const Argument&);
template Result<std::int32_t> number_as<std::int32_t>(const Argument&);
template Result<std::int64_t> number_as<std::int64_t>(const Argument&);
template Result<float> number_as<float>(const Argument&);
template Result<double> number_as<double>(const Argument&);
template Result<bool> number_as<Bool>(const Argument&);
template Result<float> number_as<Half>(const Argument&);
template Result<float> number_as<BFloat16>(const Argument&);

Result<std::size_t> wrap_axis(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (axis < -axes || axis >= axes) {
    return Error{ErrorCode::InvalidArgument, "axis is out of range"}.with_expected(
        std::to_string(-axes) + " to " + std::to_string(axes - 1), std::to_string(axis));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

Result<std::int64_t> wrap_index(std::int64_t index, std::int64_t size, std::size_t axis) {
  if (index < -size || index >= size) {
    return Error{ErrorCode::InvalidArgument, "index is out of bounds on axis " + std::to_string(axis)}.with_expected(
        std::to_string(-size) + " to " + std::to_string(size - 1), std::to_string(index));
  }
  return index < 0 ? index + size : index;
}

}  // namespace tandem::ops::portable
