#include "base/strided_overlap.h"

#include <tandem/tensor.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::base {
namespace {

__extension__ typedef __int128 Wide;  // sums of products of extents and strides

Wide common_divisor(Wide a, Wide b) noexcept {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// How often the search may look before it gives up.
constexpr int kMaxLooks = 1 << 16;

/// Sums of `step` taken 0 to `times` times for each term.
class Sums {
 public:
  void add(std::int64_t times, Wide step) noexcept {
    if (times > 0 && step > 0) terms_[count_++] = {step, times};
  }

  /// Tells if one of the sums is in [low, high].
  Overlap reach(Wide low, Wide high) noexcept {
    const std::span<Term> terms{terms_.data(), count_};
    std::ranges::sort(terms, std::ranges::greater{}, &Term::step);
    rest_[count_] = {};
    for (std::size_t i = count_; i-- > 0;) {
      const Rest& next = rest_[i + 1];
      const Wide step = terms_[i].step;
      Rest& rest = rest_[i];
      rest.total = next.total + step * terms_[i].times;
      rest.divisor = next.divisor == 0 ? step : common_divisor(next.divisor, step);
      // Where a step leads no further than one divisor past what follows, nothing is left out.
      rest.is_gapless =
          next.divisor == 0 || (next.is_gapless && rest.divisor == next.divisor && step <= next.total + next.divisor);
    }
    looks_ = kMaxLooks;
    return search(0, low, high);
  }

 private:
  struct Term {
    Wide step = 0;
    std::int64_t times = 0;
  };
  /// Sum of the terms from one on.
  struct Rest {
    Wide total = 0;
    Wide divisor = 0;
    bool is_gapless = true;  ///< All multiples of the divisor up to the total.
  };

  // Precondition of both: divisor > 0.
  static Wide round_up(Wide number, Wide divisor) noexcept {
    return number <= 0 ? 0 : (number + divisor - 1) / divisor;
  }

  Overlap search(std::size_t first, Wide low, Wide high) noexcept {
    if (--looks_ < 0) return Overlap::Undecided;
    const Rest& rest = rest_[first];
    low = std::max<Wide>(low, 0);
    high = std::min(high, rest.total);
    if (low > high) return Overlap::None;
    if (low == 0 || high == rest.total) return Overlap::Some;
    if (round_up(low, rest.divisor) * rest.divisor > high) return Overlap::None;
    if (rest.is_gapless) return Overlap::Some;
    const auto& [step, times] = terms_[first];
    const Wide least = round_up(low - rest_[first + 1].total, step);
    for (Wide taken = std::min<Wide>(times, high / step); taken >= least; --taken) {
      const Overlap found = search(first + 1, low - taken * step, high - taken * step);
      if (found != Overlap::None) return found;
    }
    return Overlap::None;
  }

  std::array<Term, 2 * kMaxRank> terms_{};
  std::array<Rest, 2 * kMaxRank + 1> rest_{};
  std::size_t count_ = 0;
  int looks_ = 0;
};

bool is_empty(std::span<const std::int64_t> sizes) noexcept { return std::ranges::find(sizes, 0) != sizes.end(); }

}  // namespace

Overlap overlaps_itself(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) noexcept {
  if (is_empty(sizes)) return Overlap::None;
  struct Axis {
    std::int64_t size = 1;
    std::int64_t stride = 0;
  };
  std::array<Axis, kMaxRank> list{};
  std::size_t count = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (strides[d] == 0) return Overlap::Some;
    list[count++] = {sizes[d], strides[d]};
  }
  const std::span<Axis> axes{list.data(), count};
  std::ranges::sort(axes, {}, &Axis::stride);
  Wide reach = 0;  // of the axes before
  for (std::size_t k = 0; k < count; ++k) {
    const auto& [size, stride] = axes[k];
    if (stride <= reach) {
      // Two elements that differ along this axis, by 1 to size - 1, and by any steps along those before it:
      // the distances along them have to cancel. Counted from their lower ends, all steps are positive.
      Sums sums;
      for (const Axis& before : axes.first(k)) sums.add(2 * (before.size - 1), before.stride);
      sums.add(size - 2, stride);
      const Wide wanted = reach + Wide{size - 1} * stride;
      if (const Overlap found = sums.reach(wanted, wanted); found != Overlap::None) return found;
    }
    reach += Wide{size - 1} * stride;
  }
  return Overlap::None;
}

Overlap overlap(const StridedArray& a, const StridedArray& b) noexcept {
  if (is_empty(a.sizes) || is_empty(b.sizes)) return Overlap::None;
  const auto width = [](const StridedArray& array) { return static_cast<Wide>(array.item_bytes); };
  Sums sums;
  Wide reach = 0;  // of b
  for (std::size_t d = 0; d < a.sizes.size(); ++d) sums.add(a.sizes[d] - 1, width(a) * a.strides[d]);
  for (std::size_t d = 0; d < b.sizes.size(); ++d) {
    sums.add(b.sizes[d] - 1, width(b) * b.strides[d]);
    reach += width(b) * b.strides[d] * (b.sizes[d] - 1);
  }
  // Elements of a count from its first byte up, those of b from its last one down.
  const Wide between =
      reach - (Wide{reinterpret_cast<std::uintptr_t>(a.data)} - Wide{reinterpret_cast<std::uintptr_t>(b.data)});
  return sums.reach(between - width(a) + 1, between + width(b) - 1);
}

}  // namespace tandem::base
