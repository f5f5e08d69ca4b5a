#pragma once

// The kernels of these libraries: functions of the host for a simulated GPU, or what nvcc makes of kernels.cu, in the
// file that TANDEM_FATBIN names. Each gets out, in and the number of floats.
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

#ifdef TANDEM_FATBIN

asm(R"(
  .section .rodata
  .balign 64
  .globl tandem_test_kernels
  .hidden tandem_test_kernels
tandem_test_kernels:
  .incbin ")" TANDEM_FATBIN R"("
  .previous
)");
extern "C" __attribute__((visibility("hidden"))) const unsigned char tandem_test_kernels[];

inline const void* kernels() { return tandem_test_kernels; }

#else

#include "launch_order/fake_kernels.h"

inline const void* kernels() { return launch_order::kKernels; }

#endif

/// Passes a number where addresses are passed.
inline void* number(std::int64_t value) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(value)); }
