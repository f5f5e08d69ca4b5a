#pragma once

#include "support/method_builder.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tandem::testing {

/// A method of `steps` steps that hand tensors on, by seed: delegates of three backends, operators, constants, values
/// that live long, and with `jumps` jumps forwards and back.
inline void add_random_steps(MethodBuilder& b, std::uint32_t seed, int steps, bool jumps) {
  std::mt19937 random{seed};
  const auto below = [&random](std::size_t n) { return random() % n; };
  std::int64_t offset = 0;
  const auto fresh = [&] { return b.tensor({4, 4}, offset += 64); };
  std::vector<std::int32_t> values{fresh(), fresh()};
  const std::int32_t condition = b.flag(true);
  b.inputs({values[0], values[1], condition});
  for (int i = 0; i < steps; ++i) {
    std::vector<std::int32_t> args;
    for (std::size_t n = below(3) + 1; n > 0; --n) args.push_back(values[below(values.size())]);
    if (below(6) == 0) args.push_back(b.constant({1, 2, 3}));
    const std::int32_t out = fresh();
    args.push_back(out);
    values.push_back(out);
    if (below(4) == 0) {
      b.kernel("my::operator" + std::to_string(i) + ".out", args);
    } else {
      b.delegate("Backend" + std::to_string(below(3)), args);
    }
    if (jumps && below(5) == 0) {
      const auto instructions = static_cast<std::uint32_t>(b.method().chains.back().instructions.size());
      const auto end = static_cast<std::uint32_t>(instructions + static_cast<std::uint32_t>(steps - i));
      b.jump_if_false(condition, below(2) == 0 ? static_cast<std::uint32_t>(below(instructions)) : end - 1);
    }
  }
  b.outputs({values.back(), values[below(values.size())]});
}

}  // namespace tandem::testing
