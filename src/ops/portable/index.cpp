#include "ops/portable/arguments.h"
#include "ops/portable/convert.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/walk.h"

#include <array>

namespace tandem::ops::portable {
namespace {

enum class Negative : std::uint8_t { CountsFromTheEnd, IsRefused };

// One tensor of indices and the axis that they run along.
struct Indices {
  View view{};
  std::size_t axis = 0;
};

std::int64_t read_index(const std::byte* at, ScalarType dtype) noexcept {
  return dtype == ScalarType::Int ? *reinterpret_cast<const std::int32_t*>(at)
                                  : *reinterpret_cast<const std::int64_t*>(at);
}

// self[..., indices, ...]: for each position of the (broadcast) indices, copies the slice that they name.
//
// `self` is indexed along the axes of `indices`, in ascending order; the axes of the indices stand in `out` from
// `place` on, between those of `self` that remain.
Status gather(const View& out, const View& self, std::span<const Indices> indices, const Shape& positions,
              std::size_t place, Negative negative) {
  View source = self;
  for (std::size_t k = indices.size(); k-- > 0;) source.erase_axis(indices[k].axis);
  View target = out;
  for (std::size_t d = 0; d < positions.rank(); ++d) target.erase_axis(place);
  if (out.numel() == 0) return {};

  const ConvertRow move = row_converter(self.dtype, self.dtype);
  const std::array<const View*, 2> views{&target, &source};
  const Walk slice{views, Walk::Order::Any};
  const auto bytes = static_cast<std::int64_t>(item_bytes(self.dtype));
  Shape at{positions};
  for (std::size_t d = 0; d < at.rank(); ++d) at[d] = 0;
  for (;;) {
    Pointers start{out.data, self.data};
    for (std::size_t d = 0; d < at.rank(); ++d) start[0] += at[d] * out.strides[place + d] * bytes;
    for (const Indices& index : indices) {
      const std::byte* element = index.view.data;
      const auto index_bytes = static_cast<std::int64_t>(item_bytes(index.view.dtype));
      for (std::size_t d = 0; d < at.rank(); ++d) element += at[d] * index.view.strides[d] * index_bytes;
      const std::int64_t value = read_index(element, index.view.dtype);
      const std::int64_t size = self.sizes[index.axis];
      if (negative == Negative::IsRefused && value < 0) {
        return Error{ErrorCode::InvalidArgument, "index is negative"}.with_expected("0 to " + std::to_string(size - 1),
                                                                                    std::to_string(value));
      }
      TANDEM_TRY(const std::int64_t wrapped, wrap_index(value, size, index.axis));
      start[1] += wrapped * self.strides[index.axis] * bytes;
    }
    slice.each_row(start, [&](const Pointers& p, const Steps& step, std::int64_t count) {
      move(p[1], step[1], p[0], step[0], count);
    });
    std::size_t d = at.rank();
    while (d > 0 && ++at[d - 1] == positions[d - 1]) at[--d] = 0;
    if (d == 0) return {};
  }
}

/// Wire: self, indices, out, out. Masks (bool and uint8 indices) are refused: their result's size is data.
Status accept_index(Specs specs) {
  Accept accept{specs};
  accept.count(4).any_tensor(0).optional_tensors(1, kIndices).any_output(2).same_dtype(2, 0);
  if (!accept.ok()) return accept.done();
  if (accept.at(1).item_count > accept.at(0).sizes.size()) {
    accept.fail(1, ErrorCode::InvalidArgument, "more indices than axes", std::to_string(accept.at(0).sizes.size()),
                std::to_string(accept.at(1).item_count));
  }
  return accept.done();
}

Status run_index(Arguments arguments) {
  const View self = view_of(arguments[0]->tensor);
  const std::span<Argument* const> items = arguments[1]->items;
  TensorArg& out = arguments[2]->tensor;

  std::array<Indices, kMaxRank> indices{};
  std::size_t count = 0;
  Shape positions;
  bool adjacent = true;
  for (std::size_t axis = 0; axis < items.size(); ++axis) {
    if (items[axis] == nullptr) continue;
    if (count > 0) adjacent = adjacent && indices[count - 1].axis + 1 == axis;
    indices[count] = {view_of(items[axis]->tensor), axis};
    TANDEM_TRY(positions, broadcast(positions, indices[count].view.sizes));
    ++count;
  }
  // Axes of adjacent indices stay where they are; those of separated ones come first.
  const std::size_t place = adjacent && count > 0 ? indices[0].axis : 0;
  Shape sizes = self.sizes;
  for (std::size_t k = count; k-- > 0;) sizes.erase(indices[k].axis);
  if (sizes.rank() + positions.rank() > kMaxRank) {
    return Error{ErrorCode::InvalidArgument, "result has too many axes"}.with_expected(
        "at most " + std::to_string(kMaxRank), std::to_string(sizes.rank() + positions.rank()));
  }
  for (std::size_t d = 0; d < positions.rank(); ++d) sizes.insert(place + d, positions[d]);
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  for (std::size_t k = 0; k < count; ++k) indices[k].view.expand(positions);
  return gather(view_of(out), self, std::span{indices}.first(count), positions, place, Negative::CountsFromTheEnd);
}

/// Wire: self, dim, index, out, out.
Status accept_index_select(Specs specs) {
  Accept accept{specs};
  accept.count(5).any_tensor(0).integer(1).tensor(2, kIndices).any_output(3).same_dtype(3, 0);
  if (!accept.ok()) return accept.done();
  if (accept.at(2).sizes.size() > 1) {
    accept.fail(2, ErrorCode::InvalidArgument, "index has another rank", "0 or 1",
                std::to_string(accept.at(2).sizes.size()));
  }
  return accept.rank(3, accept.at(0).sizes.size()).done();
}

Status run_index_select(Arguments arguments) {
  View self = view_of(arguments[0]->tensor);
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  View index = view_of(arguments[2]->tensor);
  TensorArg& out = arguments[3]->tensor;
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, self.rank()));
  if (index.rank() == 0) index.insert_axis(0);
  const bool scalar = self.rank() == 0;
  if (scalar && index.numel() != 1) {
    return Error{ErrorCode::InvalidArgument, "tensor without axes takes one index"}
        .with_expected("1", std::to_string(index.numel()))
        .with_argument(2);
  }
  Shape sizes = self.sizes;
  if (!scalar) sizes[axis] = index.sizes[0];
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  View target = view_of(out);
  if (scalar) {
    self.insert_axis(0);
    target.insert_axis(0);
  }
  const std::array<Indices, 1> indices{Indices{index, axis}};
  return gather(target, self, indices, index.sizes, axis, Negative::IsRefused);
}

/// Wire: weight, indices, padding_idx, scale_grad_by_freq, sparse, out, out. The three in the middle are for training.
Status accept_embedding(Specs specs) {
  Accept accept{specs};
  accept.count(7).any_tensor(0).rank(0, 2).tensor(1, kIndices).integer(2).boolean(3).boolean(4).any_output(5);
  accept.same_dtype(5, 0);
  return accept.ok() ? accept.rank(5, accept.at(1).sizes.size() + 1).done() : accept.done();
}

Status run_embedding(Arguments arguments) {
  const View weight = view_of(arguments[0]->tensor);
  const View index = view_of(arguments[1]->tensor);
  TensorArg& out = arguments[5]->tensor;
  if (index.rank() == kMaxRank) return Error{ErrorCode::InvalidArgument, "result has too many axes"};
  Shape sizes = index.sizes;
  sizes.push(weight.sizes[1]);
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  const std::array<Indices, 1> indices{Indices{index, 0}};
  return gather(view_of(out), weight, indices, index.sizes, 0, Negative::IsRefused);
}

constexpr std::array kTable{
    runtime::Operator{"aten::index.Tensor_out", "rrw=", &accept_index, &run_index},
    runtime::Operator{"aten::index_select.out", "r-rw=", &accept_index_select, &run_index_select},
    runtime::Operator{"aten::embedding.out", "rr---w=", &accept_embedding, &run_embedding},
};

}  // namespace

std::span<const runtime::Operator> index_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
