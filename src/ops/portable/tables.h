#pragma once

#include "runtime/op.h"

#include <span>

/// One table per family; OperatorRegistry::builtin() collects them.
namespace tandem::ops::portable {

[[nodiscard]] std::span<const runtime::Operator> arithmetic_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> compare_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> copy_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> create_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> index_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> join_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> matmul_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> prim_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> reduce_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> shape_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> softmax_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> tensor_prim_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> unary_operators() noexcept;
[[nodiscard]] std::span<const runtime::Operator> upsample_operators() noexcept;

}  // namespace tandem::ops::portable
