#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::runtime {

/// Which of some values may be in use at the same time.
class Conflicts {
 public:
  explicit Conflicts(std::size_t values) : words_{(values + 63) / 64}, bits_(values * words_) {}
  void add(std::size_t a, std::size_t b) noexcept {
    set(a, b);
    set(b, a);
  }
  [[nodiscard]] bool has(std::size_t a, std::size_t b) const noexcept {
    return ((bits_[a * words_ + b / 64] >> (b % 64)) & 1U) != 0;
  }

 private:
  void set(std::size_t a, std::size_t b) noexcept { bits_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64); }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// A value to place.
struct FitValue {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;  ///< Of its offset, at least.
  std::uint64_t steps = 0;      ///< How long it lives.
  std::uint64_t crowd = 0;      ///< The most bytes in use while it lives.
};

/// Where values lie in one block of memory.
struct Fit {
  std::vector<std::uint64_t> offsets{};
  std::uint64_t bytes = 0;  ///< Of the block.
};

/// Places values so that those in conflict share no bytes, in as small a block as it finds: tries several orders, each
/// value in the lowest or the smallest gap that holds it. Offsets are multiples of base::kHostAlignment, too. The same
/// answer every time; the work grows with the square of the number of values.
///
/// `enough`: stops at a block of no more than these bytes. The sum of all aligned bytes must not overflow.
[[nodiscard]] Fit fit_values(std::span<const FitValue> values, const Conflicts& conflicts, std::uint64_t enough);

}  // namespace tandem::runtime
