#pragma once

#include "support/aoti_library/fake_kernel.h"

#include <cstdint>

/// kernels.cu on a simulated GPU.
namespace launch_order {

template <class Operation>
void each(void** args, Operation operation) {
  const auto count = reinterpret_cast<std::intptr_t>(fake_kernel::argument<void>(args, 2));
  for (std::intptr_t i = 0; i < count; ++i) {
    fake_kernel::argument<float>(args, 0)[i] = operation(fake_kernel::argument<float>(args, 1)[i]);
  }
}
inline void twice(void** args) {
  each(args, [](float x) { return 2 * x; });
}
inline void plus_one(void** args) {
  each(args, [](float x) { return x + 1; });
}

inline constexpr fake_kernel::Kernel kKernels[] = {{.name = "slow_double", .run = twice},
                                                   {.name = "add_early", .run = plus_one},
                                                   {.name = "add_after", .run = plus_one, .waits = true},
                                                   {}};

}  // namespace launch_order
