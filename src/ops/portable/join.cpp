#include "ops/portable/arguments.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"

#include "base/checked.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::ops::portable {
namespace {

// PyTorch lets an empty vector join anything.
bool is_skipped(const TensorArg& tensor) noexcept { return tensor.rank == 1 && tensor.sizes[0] == 0; }

Error bad_item(std::size_t item, const char* why, std::string expected, std::string found) {
  return Error{ErrorCode::InvalidArgument, "tensor " + std::to_string(item) + " of the list " + why}
      .with_expected(std::move(expected), std::move(found))
      .with_argument(0);
}

// All items' dtypes can be written to the output.
void accept_items(Accept& accept, std::size_t list, std::size_t out) {
  if (!accept.ok()) return;
  const ArgumentSpec& items = accept.at(list);
  if (items.item_count == 0) {
    accept.fail(list, ErrorCode::InvalidArgument, "list of tensors is empty", "at least one", "none");
  }
  ResultType type;
  bool mixed = false;
  for (std::size_t i = 0; i < items.item_count; ++i) {
    mixed = mixed || items.items[i]->dtype != accept.at(out).dtype;
    if (contains(kReal, items.items[i]->dtype)) type.add_tensor(items.items[i]->dtype, items.items[i]->sizes.size());
  }
  if (!mixed) return;
  for (std::size_t i = 0; accept.ok() && i < items.item_count; ++i) {
    if (!contains(kReal, items.items[i]->dtype) || !contains(kReal, accept.at(out).dtype)) {
      accept.fail(list, ErrorCode::InvalidType, "element types are not converted into each other",
                  std::string{name_of(accept.at(out).dtype)}, std::string{name_of(items.items[i]->dtype)});
    }
  }
  if (accept.ok()) accept.castable(type.dtype(), out);
}

/// Wire: tensors, dim, out, out.
Status accept_join(Specs specs) {
  Accept accept{specs};
  accept.count(4).tensors(0, 0).integer(1).any_output(2);
  accept_items(accept, 0, 2);
  return accept.done();
}

Status run_cat(Arguments arguments) {
  const std::span<Argument* const> tensors = arguments[0]->items;
  TensorArg& out = arguments[2]->tensor;
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  const auto joins = [](const Argument* item) { return !is_skipped(item->tensor); };
  const auto found = std::find_if(tensors.begin(), tensors.end(), joins);
  if (found == tensors.end()) return runtime::resize(out, std::array<std::int64_t, 1>{0});
  const TensorArg* first = &(*found)->tensor;
  if (first->rank == 0) {
    return bad_item(static_cast<std::size_t>(found - tensors.begin()), "has no axes", "an axis", "rank 0");
  }
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, first->rank));
  Shape sizes{first->size_span()};
  sizes[axis] = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorArg& tensor = tensors[i]->tensor;
    if (is_skipped(tensor)) continue;
    Shape rest{tensor.size_span()};
    if (rest.rank() != sizes.rank()) {
      return bad_item(i, "has another rank", std::to_string(sizes.rank()), std::to_string(rest.rank()));
    }
    rest[axis] = sizes[axis];
    if (!std::ranges::equal(rest.span(), sizes.span())) {
      return bad_item(i, "has another size on an axis that is not joined", text_of(first->size_span()),
                      text_of(tensor.size_span()));
    }
    const auto joined = base::checked_add(sizes[axis], tensor.sizes[axis]);
    if (!joined) return bad_item(i, "makes the result too large", "64 bits", "overflow");
    sizes[axis] = *joined;
  }
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  View place = view_of(out);
  for (const Argument* item : tensors) {
    if (is_skipped(item->tensor)) continue;
    place.sizes[axis] = item->tensor.sizes[axis];
    TANDEM_CHECK_OK(copy(place, view_of(item->tensor)));
    place.advance(axis, place.sizes[axis]);
  }
  return {};
}

Status run_stack(Arguments arguments) {
  const std::span<Argument* const> tensors = arguments[0]->items;
  TensorArg& out = arguments[2]->tensor;
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 1));
  const TensorArg& first = tensors[0]->tensor;
  if (first.rank == kMaxRank) return bad_item(0, "has too many axes", "at most 15", "16");
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, std::size_t{first.rank} + 1));
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (!std::ranges::equal(tensors[i]->tensor.size_span(), first.size_span())) {
      return bad_item(i, "has another size", text_of(first.size_span()), text_of(tensors[i]->tensor.size_span()));
    }
  }
  Shape sizes{first.size_span()};
  sizes.insert(axis, static_cast<std::int64_t>(tensors.size()));
  TANDEM_CHECK_OK(runtime::resize(out, sizes.span()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    View place = view_of(out);
    place.select(axis, static_cast<std::int64_t>(i));
    TANDEM_CHECK_OK(copy(place, view_of(tensors[i]->tensor)));
  }
  return {};
}

/// Wire: self, split_sizes, dim, out list, out list.
Status accept_split(Specs specs) {
  Accept accept{specs};
  accept.count(5).any_tensor(0).integers(1).integer(2).tensors(3, 0).tensors(4, 0);
  if (!accept.ok()) return accept.done();
  const ArgumentSpec& outs = accept.at(3);
  for (std::size_t i = 0; i < outs.item_count; ++i) {
    if (outs.items[i]->dtype == accept.at(0).dtype) continue;
    accept.fail(3, ErrorCode::InvalidType, "element type differs from that of argument 0",
                std::string{name_of(accept.at(0).dtype)}, std::string{name_of(outs.items[i]->dtype)});
  }
  return accept.done();
}

Status run_split(Arguments arguments) {
  View rest = view_of(arguments[0]->tensor);
  const std::span<Argument* const> pieces = arguments[1]->items;
  const std::span<Argument* const> outs = arguments[3]->items;
  TANDEM_TRY(const std::int64_t dim, integer_at(arguments, 2));
  if (rest.rank() == 0) {
    return Error{ErrorCode::InvalidArgument, "tensor without axes cannot be split"}.with_argument(0);
  }
  TANDEM_TRY(const std::size_t axis, wrap_axis(dim, rest.rank()));
  if (pieces.size() != outs.size()) {
    return Error{ErrorCode::InvalidArgument, "number of results differs from the number of sizes"}
        .with_expected(std::to_string(pieces.size()), std::to_string(outs.size()))
        .with_argument(3);
  }
  std::int64_t left = rest.sizes[axis];
  const auto bad_sizes = [&](std::int64_t size) {
    return Error{ErrorCode::InvalidArgument, "sizes do not add up to that of the axis"}
        .with_expected("a size within the " + std::to_string(left) + " that are left", std::to_string(size))
        .with_argument(1);
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto read = integer_at(pieces, i);
    if (!read.ok()) return std::move(read).error().with_argument(1);
    const std::int64_t size = *read;
    if (size < 0 || size > left) return bad_sizes(size);
    View piece = rest;
    piece.sizes[axis] = size;
    TANDEM_CHECK_OK(write(outs[i]->tensor, piece));
    rest.advance(axis, size);
    left -= size;
  }
  if (left != 0) return bad_sizes(0);
  return {};
}

constexpr std::array kTable{
    runtime::Operator{"aten::cat.out", "r-w=", &accept_join, &run_cat},
    runtime::Operator{"aten::stack.out", "r-w=", &accept_join, &run_stack},
    runtime::Operator{"aten::split_with_sizes_copy.out", "r--w=", &accept_split, &run_split},
};

}  // namespace

std::span<const runtime::Operator> join_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
