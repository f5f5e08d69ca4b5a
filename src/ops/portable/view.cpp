#include "ops/portable/view.h"

#include "ops/portable/convert.h"
#include "ops/portable/walk.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::ops::portable {

Shape::Shape(std::span<const std::int64_t> sizes) noexcept : rank_{sizes.size()} {
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

void Shape::insert(std::size_t axis, std::int64_t size) noexcept {
  for (std::size_t d = rank_++; d > axis; --d) sizes_[d] = sizes_[d - 1];
  sizes_[axis] = size;
}

void Shape::erase(std::size_t axis) noexcept {
  for (std::size_t d = axis + 1; d < rank_; ++d) sizes_[d - 1] = sizes_[d];
  --rank_;
}

std::int64_t View::numel() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes.span()) count *= size;
  return count;
}

void View::advance(std::size_t axis, std::int64_t index) noexcept {
  // An empty tensor may have no memory, and arithmetic on null is undefined.
  if (data != nullptr) data += index * strides[axis] * static_cast<std::int64_t>(item_bytes(dtype));
}

void View::narrow(std::size_t axis, std::int64_t start, std::int64_t size) noexcept {
  advance(axis, start);
  sizes[axis] = size;
}

void View::select(std::size_t axis, std::int64_t index) noexcept {
  advance(axis, index);
  erase_axis(axis);
}

void View::insert_axis(std::size_t axis) noexcept {
  for (std::size_t d = rank(); d > axis; --d) strides[d] = strides[d - 1];
  strides[axis] = 0;
  sizes.insert(axis, 1);
}

void View::erase_axis(std::size_t axis) noexcept {
  for (std::size_t d = axis + 1; d < rank(); ++d) strides[d - 1] = strides[d];
  sizes.erase(axis);
}

void View::swap_axes(std::size_t a, std::size_t b) noexcept {
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
}

void View::expand(const Shape& wanted) noexcept {
  while (rank() < wanted.rank()) insert_axis(0);
  for (std::size_t d = 0; d < rank(); ++d) {
    if (sizes[d] != wanted[d]) strides[d] = 0;
    sizes[d] = wanted[d];
  }
}

View view_of(const TensorArg& tensor) noexcept {
  View view{static_cast<std::byte*>(tensor.data), tensor.dtype, Shape{tensor.size_span()}, {}};
  std::copy_n(tensor.strides, tensor.rank, view.strides.begin());
  return view;
}

View view_of_number(const Argument& number) noexcept {
  // Views are writable for the sake of outputs; a number is only ever read.
  auto& source = const_cast<Argument&>(number);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  if (number.kind == Argument::Kind::Int) {
    return View{reinterpret_cast<std::byte*>(&source.integer), ScalarType::Long, {}, {}};
  }
  if (number.kind == Argument::Kind::Double) {
    return View{reinterpret_cast<std::byte*>(&source.number), ScalarType::Double, {}, {}};
  }
  return View{reinterpret_cast<std::byte*>(&source.flag), ScalarType::Bool, {}, {}};
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape wide = a.rank() >= b.rank() ? a : b;
  const Shape& narrow = a.rank() >= b.rank() ? b : a;
  const std::size_t missing = wide.rank() - narrow.rank();
  for (std::size_t d = 0; d < narrow.rank(); ++d) {
    std::int64_t& size = wide[missing + d];
    if (size == narrow[d] || narrow[d] == 1) continue;
    if (size != 1) {
      return Error{ErrorCode::InvalidArgument, "shapes do not broadcast"}.with_expected(text_of(a.span()),
                                                                                        text_of(b.span()));
    }
    size = narrow[d];
  }
  return wide;
}

Status copy(const View& to, const View& from) {
  const ConvertRow convert_row = row_converter(from.dtype, to.dtype);
  if (convert_row == nullptr) {
    return Error{ErrorCode::InvalidType, "no conversion between these element types"}.with_expected(
        std::string{name_of(to.dtype)}, std::string{name_of(from.dtype)});
  }
  const std::array<const View*, 2> views{&to, &from};
  Walk{views, Walk::Order::Any}.each_row({to.data, from.data},
                                         [&](const Pointers& at, const Steps& step, std::int64_t count) {
                                           convert_row(at[1], step[1], at[0], step[0], count);
                                         });
  return {};
}

}  // namespace tandem::ops::portable
