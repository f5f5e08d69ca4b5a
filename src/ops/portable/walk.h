#pragma once

#include "ops/portable/view.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::ops::portable {

inline constexpr std::size_t kMaxOperands = 4;
using Pointers = std::array<std::byte*, kMaxOperands>;
using Steps = std::array<std::int64_t, kMaxOperands>;  ///< Bytes.

/// Visits the elements of several views of equal sizes together, in rows that are as long as the strides allow.
class Walk {
 public:
  enum class Order : std::uint8_t {
    Any,      ///< Axes may be swapped: the fastest in memory comes last, so dense tensors of any layout are one row.
    Logical,  ///< Row-major order of the indices.
  };

  /// Precondition: 1 to kMaxOperands views of equal sizes.
  Walk(std::span<const View* const> views, Order order) noexcept;

  /// `row(pointers, steps, count)` for every row; `start` holds the addresses of the first elements.
  template <class Row>
  void each_row(Pointers start, Row&& row) const {
    if (empty_) return;
    std::array<std::int64_t, kMaxRank> index{};
    for (;;) {
      row(start, steps_[0], sizes_[0]);
      std::size_t axis = 1;
      for (; axis < rank_; ++axis) {
        const bool carries = ++index[axis] == sizes_[axis];
        const std::int64_t moves = carries ? 1 - sizes_[axis] : 1;
        for (std::size_t k = 0; k < operands_; ++k) start[k] += moves * steps_[axis][k];
        if (!carries) break;
        index[axis] = 0;
      }
      if (axis >= rank_) return;
    }
  }

  /// `element(pointers)` for every element.
  template <class Element>
  void each(const Pointers& start, Element&& element) const {
    each_row(start, [&](Pointers at, const Steps& step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        element(at);
        for (std::size_t k = 0; k < operands_; ++k) at[k] += step[k];
      }
    });
  }

 private:
  void sort() noexcept;
  void coalesce() noexcept;

  // Axis 0 is the innermost.
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::array<Steps, kMaxRank> steps_{};
  std::size_t rank_ = 0;
  std::size_t operands_ = 0;
  bool empty_ = false;
};

}  // namespace tandem::ops::portable
