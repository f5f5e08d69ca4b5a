#include "ops/portable/reshape.h"

#include "base/checked.h"
#include "ops/portable/convert.h"
#include "ops/portable/walk.h"

#include <array>
#include <cstring>
#include <optional>

namespace tandem::ops::portable {
namespace {

Error bad_size(const char* why, const Shape& asked, std::int64_t numel) {
  return Error{ErrorCode::InvalidArgument, why}.with_expected(std::to_string(numel) + " elements",
                                                              text_of(asked.span()));
}

// Walks one view's elements in row-major order, one at a time.
class Cursor {
 public:
  explicit Cursor(const View& view) noexcept : view_{view}, at_{view.data} {}
  [[nodiscard]] std::byte* at() const noexcept { return at_; }
  void next() noexcept {
    const auto bytes = static_cast<std::int64_t>(item_bytes(view_.dtype));
    for (std::size_t d = view_.rank(); d-- > 0;) {
      at_ += view_.strides[d] * bytes;
      if (++index_[d] < view_.sizes[d]) return;
      at_ -= view_.sizes[d] * view_.strides[d] * bytes;
      index_[d] = 0;
    }
  }

 private:
  const View& view_;
  std::byte* at_;
  std::array<std::int64_t, kMaxRank> index_{};
};

}  // namespace

Result<Shape> inferred_size(const Shape& asked, std::int64_t numel) {
  Shape sizes = asked;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t d = 0; d < asked.rank(); ++d) {
    if (asked[d] == -1) {
      if (open) return bad_size("more than one size is -1", asked, numel);
      open = d;
      continue;
    }
    if (asked[d] < 0) return bad_size("size is negative", asked, numel);
    const auto product = base::checked_mul(known, asked[d]);
    if (!product) return bad_size("size overflows", asked, numel);
    known = *product;
  }
  if (!open) {
    if (known != numel) return bad_size("size has another number of elements", asked, numel);
    return sizes;
  }
  if (known == 0) return bad_size("-1 beside a size of 0 can be anything", asked, numel);
  if (numel % known != 0) return bad_size("size does not divide the number of elements", asked, numel);
  sizes[*open] = numel / known;
  return sizes;
}

bool is_dense(const View& view) noexcept {
  std::int64_t expected = 1;
  for (std::size_t d = view.rank(); d-- > 0;) {
    if (view.sizes[d] == 0) return true;
    if (view.sizes[d] == 1) continue;
    if (view.strides[d] != expected) return false;
    expected *= view.sizes[d];
  }
  return true;
}

void copy_in_order(const View& to, const View& from) noexcept {
  const std::int64_t count = to.numel();
  if (count == 0) return;
  const auto bytes = static_cast<std::int64_t>(item_bytes(to.dtype));
  const ConvertRow move = row_converter(to.dtype, to.dtype);
  if (is_dense(to)) {
    std::byte* next = to.data;
    const std::array<const View*, 1> views{&from};
    Walk{views, Walk::Order::Logical}.each_row({from.data}, [&](const Pointers& at, const Steps& step, std::int64_t n) {
      move(at[0], step[0], next, bytes, n);
      next += n * bytes;
    });
    return;
  }
  Cursor target{to};
  Cursor source{from};
  for (std::int64_t i = 0; i < count; ++i, target.next(), source.next()) {
    std::memcpy(target.at(), source.at(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace tandem::ops::portable
