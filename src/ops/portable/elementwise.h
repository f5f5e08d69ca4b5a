#pragma once

#include "ops/portable/dtype.h"
#include "ops/portable/view.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::ops::portable {

/// Computes `count` elements from dense operands into a dense result. Each operand has the dtype asked for in Operand.
using Kernel = void (*)(const void* context, const std::byte* const* operands, std::byte* result, std::int64_t count);

struct Operand {
  View view{};
  ScalarType as = ScalarType::Float;  ///< The dtype that the kernel reads.
};

struct Computation {
  Kernel kernel = nullptr;
  const void* context = nullptr;          ///< Handed to the kernel.
  ScalarType result = ScalarType::Float;  ///< The dtype that the kernel writes.
};

/// Runs a kernel over operands of any dtype and strides, which broadcast to `out`, and converts the result to its
/// dtype. What is dense and of the right dtype goes to the kernel as it is, the rest through small buffers.
///
/// Shapes: one to three operands.
/// Errors: InvalidType, a dtype that cannot be converted, or no kernel for it.
[[nodiscard]] Status compute(const View& out, std::span<const Operand> operands, const Computation& computation);

/// A kernel out of a stateless function object on Math<T>.
template <class T, class Result, class Function>
void unary_kernel(const void* /*context*/, const std::byte* const* operands, std::byte* result, std::int64_t count) {
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  auto* out = reinterpret_cast<Result*>(result);
  for (std::int64_t i = 0; i < count; ++i) out[i] = store<Result>(Function{}(load(a[i])));
}

/// Operands of types A and B, which load as the same Math type.
template <class A, class Result, class Function, class B = A>
void binary_kernel(const void* /*context*/, const std::byte* const* operands, std::byte* result, std::int64_t count) {
  const auto* a = reinterpret_cast<const A*>(operands[0]);
  const auto* b = reinterpret_cast<const B*>(operands[1]);
  auto* out = reinterpret_cast<Result*>(result);
  for (std::int64_t i = 0; i < count; ++i) out[i] = store<Result>(Function{}(load(a[i]), load(b[i])));
}

}  // namespace tandem::ops::portable
