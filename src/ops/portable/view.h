#pragma once

#include "base/text.h"

#include <tandem/argument.h>
#include <tandem/result.h>
#include <tandem/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tandem::ops::portable {

/// Up to kMaxRank extents, without the heap.
class Shape {
 public:
  Shape() noexcept = default;
  /// Precondition: at most kMaxRank entries.
  explicit Shape(std::span<const std::int64_t> sizes) noexcept;

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::span<const std::int64_t> span() const noexcept { return {sizes_.data(), rank_}; }
  [[nodiscard]] std::int64_t& operator[](std::size_t axis) noexcept { return sizes_[axis]; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return sizes_[axis]; }
  /// Precondition of push() and insert(): rank() < kMaxRank; of erase(): axis < rank().
  void push(std::int64_t size) noexcept { sizes_[rank_++] = size; }
  void insert(std::size_t axis, std::int64_t size) noexcept;
  void erase(std::size_t axis) noexcept;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

using base::text_of;

/// A window on a tensor's elements: plain values, so that shape operators are arithmetic on them.
///
/// Units: strides in elements; 0 repeats an element.
struct View {
  std::byte* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  Shape sizes{};
  std::array<std::int64_t, kMaxRank> strides{};

  [[nodiscard]] std::size_t rank() const noexcept { return sizes.rank(); }
  [[nodiscard]] std::int64_t numel() const noexcept;

  /// Preconditions: axes are below rank(), indices within bounds, no more than kMaxRank axes.
  void advance(std::size_t axis, std::int64_t index) noexcept;
  void narrow(std::size_t axis, std::int64_t start, std::int64_t size) noexcept;
  void select(std::size_t axis, std::int64_t index) noexcept;
  void insert_axis(std::size_t axis) noexcept;
  void erase_axis(std::size_t axis) noexcept;
  void swap_axes(std::size_t a, std::size_t b) noexcept;
  /// Precondition: broadcasts (see broadcast()) to `wanted`.
  void expand(const Shape& wanted) noexcept;
};

[[nodiscard]] View view_of(const TensorArg& tensor) noexcept;
/// A rank-0 view of the number itself: int64, float64 or bool. Precondition: kind Int, Double or Bool.
[[nodiscard]] View view_of_number(const Argument& number) noexcept;

/// The common shape of two, by NumPy's rule.
/// Errors: InvalidArgument, they do not fit; expected() and found() are the two shapes.
[[nodiscard]] Result<Shape> broadcast(const Shape& a, const Shape& b);

/// Copies the elements of `from` to `to`, which has the same sizes, and converts them to its dtype.
/// Errors: InvalidType, there is no such conversion.
[[nodiscard]] Status copy(const View& to, const View& from);

}  // namespace tandem::ops::portable
