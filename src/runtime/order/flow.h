#pragma once

#include "runtime/schedule.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::runtime {

/// A straight-line stretch of steps: entered at its first, left after its last.
struct Block {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  /// Blocks that may follow; the number of blocks stands for the end of the method.
  std::vector<std::uint32_t> next{};
};

/// The stretches of a schedule, in step order. An empty schedule has one empty block.
[[nodiscard]] std::vector<Block> find_blocks(const Schedule& schedule);

/// One set of values per block.
class ValueSets {
 public:
  ValueSets(std::size_t blocks, std::size_t values) : words_{(values + 63) / 64}, bits_(blocks * words_) {}
  [[nodiscard]] bool has(std::size_t block, std::size_t value) const noexcept {
    return ((bits_[block * words_ + value / 64] >> (value % 64)) & 1U) != 0;
  }
  void add(std::size_t block, std::size_t value) noexcept {
    bits_[block * words_ + value / 64] |= std::uint64_t{1} << (value % 64);
  }
  void remove(std::size_t block, std::size_t value) noexcept {
    bits_[block * words_ + value / 64] &= ~(std::uint64_t{1} << (value % 64));
  }
  [[nodiscard]] std::uint64_t* row(std::size_t block) noexcept { return bits_.data() + block * words_; }
  [[nodiscard]] const std::uint64_t* row(std::size_t block) const noexcept { return bits_.data() + block * words_; }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// What each step does to the definedness of values, and what follows for whole blocks.
///
/// A value is *defined* once a step has written it or made it a view. `inputs` and constants are defined from the
/// start.
struct Definitions {
  ValueSets must;  ///< Per block, at its entry: defined on every path.
  ValueSets may;   ///< Per block, at its entry: defined on some path.
};

/// Errors: NotSupported, more blocks times values than fit in memory.
[[nodiscard]] Result<Definitions> find_definitions(const Schedule& schedule, const std::vector<Block>& blocks);

/// Per block, at its exit: values that some later step may read before they are written again.
/// Errors: as find_definitions().
[[nodiscard]] Result<ValueSets> find_live_out(const Schedule& schedule, const std::vector<Block>& blocks);

}  // namespace tandem::runtime
