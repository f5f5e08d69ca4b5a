#include "ops/portable/walk.h"

#include <utility>

namespace tandem::ops::portable {

Walk::Walk(std::span<const View* const> views, Order order) noexcept : operands_{views.size()} {
  const Shape& sizes = views[0]->sizes;
  for (std::size_t d = sizes.rank(); d-- > 0;) {
    if (sizes[d] == 0) empty_ = true;
    if (sizes[d] == 1) continue;
    sizes_[rank_] = sizes[d];
    for (std::size_t k = 0; k < operands_; ++k) {
      steps_[rank_][k] = views[k]->strides[d] * static_cast<std::int64_t>(item_bytes(views[k]->dtype));
    }
    ++rank_;
  }
  if (rank_ == 0) {
    sizes_[0] = 1;
    rank_ = 1;
    return;
  }
  if (order == Order::Any) sort();
  coalesce();
}

void Walk::sort() noexcept {
  // By the first operand's steps, then the second's, ...; stable, so equal ones stay in logical order.
  for (std::size_t i = 1; i < rank_; ++i) {
    for (std::size_t j = i; j > 0 && steps_[j] < steps_[j - 1]; --j) {
      std::swap(steps_[j], steps_[j - 1]);
      std::swap(sizes_[j], sizes_[j - 1]);
    }
  }
}

void Walk::coalesce() noexcept {
  std::size_t last = 0;
  for (std::size_t d = 1; d < rank_; ++d) {
    bool joins = true;
    for (std::size_t k = 0; k < operands_; ++k) joins = joins && steps_[d][k] == steps_[last][k] * sizes_[last];
    if (joins) {
      sizes_[last] *= sizes_[d];
      continue;
    }
    ++last;
    sizes_[last] = sizes_[d];
    steps_[last] = steps_[d];
  }
  rank_ = last + 1;
}

}  // namespace tandem::ops::portable
