#include "runtime/lower/fit_values.h"

#include "base/checked.h"
#include "base/host_memory.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tandem::runtime {
namespace {

enum class Gap : std::uint8_t { Lowest, Smallest };

/// Values placed one after the other.
class Block {
 public:
  Block(std::span<const FitValue> values, const Conflicts& conflicts) : values_{values}, conflicts_{conflicts} {
    fit_.offsets.resize(values.size());
  }

  Fit place(std::span<const std::uint32_t> order, Gap gap) && {
    for (const std::uint32_t value : order) {
      const std::uint64_t offset = find(value, gap);
      fit_.offsets[value] = offset;
      fit_.bytes = std::max(fit_.bytes, offset + values_[value].bytes);
      const auto at = std::ranges::upper_bound(placed_, offset, {}, [this](auto v) { return fit_.offsets[v]; });
      placed_.insert(at, value);
    }
    return std::move(fit_);
  }

 private:
  std::uint64_t find(std::uint32_t value, Gap gap) const {
    const std::uint64_t bytes = values_[value].bytes;
    const std::uint64_t alignment = std::max<std::uint64_t>(values_[value].alignment, base::kHostAlignment);
    std::uint64_t offset = 0;  // behind what was passed
    std::uint64_t best = UINT64_MAX;
    std::uint64_t best_room = UINT64_MAX;
    for (const std::uint32_t other : placed_) {
      if (!conflicts_.has(value, other)) continue;
      const std::uint64_t begin = fit_.offsets[other];
      if (begin >= offset && begin - offset >= bytes && begin - offset < best_room) {
        best = offset;
        best_room = begin - offset;
        if (gap == Gap::Lowest) return best;
      }
      offset = std::max(offset, base::align_up(begin + values_[other].bytes, alignment));
    }
    return best != UINT64_MAX ? best : offset;
  }

  std::span<const FitValue> values_;
  const Conflicts& conflicts_;
  std::vector<std::uint32_t> placed_{};  // by offset
  Fit fit_{};
};

/// Tries orders of the values, and keeps the smallest block.
class Fitter {
 public:
  Fitter(std::span<const FitValue> values, const Conflicts& conflicts, std::uint64_t enough)
      : values_{values}, conflicts_{conflicts}, enough_{enough} {}

  Fit run() && {
    try_descending([](const FitValue& v) { return v.bytes; });
    try_descending([](const FitValue& v) { return std::tuple{v.crowd, v.bytes}; });
    try_descending([](const FitValue& v) { return std::tuple{v.steps, v.bytes}; });
    try_descending([](const FitValue& v) { return static_cast<double>(v.steps) * static_cast<double>(v.bytes); });
    improve();
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool done() const { return best_.offsets.size() == values_.size() && best_.bytes <= enough_; }

  template <class Key>
  void try_descending(Key key) {
    if (done()) return;
    std::vector<std::uint32_t> order(values_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t v) { return key(values_[v]); });
    for (const Gap gap : {Gap::Lowest, Gap::Smallest}) {
      Fit fit = Block{values_, conflicts_}.place(order, gap);
      if (fit.bytes >= best_.bytes) continue;
      best_ = std::move(fit);
      order_ = order;
      gap_ = gap;
    }
  }

  /// Places what ended on top of all others first, again and again.
  void improve() {
    constexpr std::size_t kMaxRounds = 32;
    constexpr std::size_t kMaxWork = std::size_t{1} << 25;  // pairs of values; some 50 ms
    const std::size_t rounds = std::min(kMaxRounds, kMaxWork / (values_.size() * values_.size() + 1));
    Fit last = best_;
    for (std::size_t round = 0; round < rounds && !done(); ++round) {
      const auto top =
          std::ranges::max_element(order_, {}, [&](std::uint32_t v) { return last.offsets[v] + values_[v].bytes; });
      std::rotate(order_.begin(), top, top + 1);
      last = Block{values_, conflicts_}.place(order_, gap_);
      if (last.bytes < best_.bytes) best_ = last;
    }
  }

  std::span<const FitValue> values_;
  const Conflicts& conflicts_;
  std::uint64_t enough_;
  Fit best_{.bytes = UINT64_MAX};
  std::vector<std::uint32_t> order_{};  // that best_ came from
  Gap gap_ = Gap::Lowest;
};

}  // namespace

Fit fit_values(std::span<const FitValue> values, const Conflicts& conflicts, std::uint64_t enough) {
  return Fitter{values, conflicts, enough}.run();
}

}  // namespace tandem::runtime
