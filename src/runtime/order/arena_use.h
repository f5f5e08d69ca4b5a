#pragma once

#include "runtime/order/value_lifetimes.h"
#include "runtime/schedule.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::runtime {

/// By step, and for the end of a run: the bytes of those of `values` that are in use, in the order of the program. No
/// plan can do with less than the most of them. Lifetimes are by value.
[[nodiscard]] std::vector<std::uint64_t> find_live_bytes(const Schedule& schedule, std::span<const Lifetime> lifetimes,
                                                         std::span<const std::uint32_t> values);

/// What lies where in an arena, and when.
struct ArenaUse {
  struct Value {
    std::uint32_t value = kNone;
    std::uint32_t first = kNone;  ///< Step; kNone: no step touches it.
    std::uint32_t last = kNone;   ///< The number of steps stands for the end.
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::uint32_t buffer = kNone;
  std::uint64_t bytes = 0;            ///< Of the arena.
  std::vector<std::uint64_t> live{};  ///< As find_live_bytes().
  std::uint64_t peak_bytes = 0;       ///< The most of them.
  std::uint32_t peak_step = 0;        ///< The first step with that many.
  std::vector<Value> values{};        ///< By value.
};

/// All arenas of a lowered schedule, by buffer.
[[nodiscard]] std::vector<ArenaUse> find_arena_use(const Schedule& schedule);

}  // namespace tandem::runtime
