#include "runtime/op.h"

#include "base/checked.h"
#include "base/text.h"

#include <algorithm>
#include <string>

namespace tandem::runtime {
namespace {

bool name_less(const Operator* op, std::string_view name) noexcept { return op->name < name; }

}  // namespace

Status OperatorRegistry::add(const Operator& op) {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), op.name, name_less);
  if (at != sorted_.end() && (*at)->name == op.name) {
    return Error{ErrorCode::InvalidState, "operator is already registered"}.with_op(std::string{op.name});
  }
  owned_.push_back(std::make_unique<const Operator>(op));
  sorted_.insert(at, owned_.back().get());
  return {};
}

const Operator* OperatorRegistry::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), name, name_less);
  return at != sorted_.end() && (*at)->name == name ? *at : nullptr;
}

Status resize(TensorArg& tensor, std::span<const std::int64_t> sizes) {
  const std::span<std::int64_t> current = tensor.size_span();
  if (std::equal(sizes.begin(), sizes.end(), current.begin(), current.end())) return {};
  if (sizes.size() != current.size()) {
    return Error{ErrorCode::InvalidArgument, "result has another rank than the program plans"}.with_expected(
        std::to_string(current.size()), std::to_string(sizes.size()) + " " + base::text_of(sizes));
  }
  if (!tensor.resizable) {
    return Error{ErrorCode::InvalidArgument, "result has another size than the program fixes"}.with_expected(
        base::text_of(current), base::text_of(sizes));
  }
  const auto bytes = base::checked_bytes(sizes, item_bytes(tensor.dtype));
  if (!bytes || *bytes > tensor.capacity_bytes) {
    return Error{ErrorCode::InvalidArgument, "result is larger than the program's bound"}.with_expected(
        "at most " + std::to_string(tensor.capacity_bytes) + " bytes", base::text_of(sizes));
  }
  std::copy(sizes.begin(), sizes.end(), current.begin());
  strides_from_dim_order(current, tensor.order_span(), tensor.stride_span());
  return {};
}

}  // namespace tandem::runtime
