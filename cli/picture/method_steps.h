#pragma once

#include "format/pte/pte.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

inline constexpr std::uint32_t kNoStep = UINT32_MAX;

/// One instruction of a parsed method, and what it does with values. Items of lists are listed one by one.
struct MethodStep {
  std::uint32_t chain = 0;
  std::uint32_t instruction = 0;
  const format::Instruction* what = nullptr;
  std::vector<std::int32_t> reads{};
  std::vector<std::int32_t> writes{};
  std::uint32_t jump = kNoStep;  ///< Step to continue at if the condition is false; the number of steps: the end.
  bool always_jumps = false;     ///< The condition is a stored `false` that no step computes.
};

/// By value: whether it has contents before the first step, as inputs, constants, mutable buffers and stored numbers
/// do.
[[nodiscard]] std::vector<bool> first_contents(const format::Method& method);

/// All chains of a method, one after the other, with what each step reads and writes.
///
/// Operators that this build has say it themselves; for others the last argument, the wire's return value, is what
/// they write. The file does not tell a delegate's inputs from its outputs. They are inferred: inputs come first, and
/// the first tensor that is no input, has no first contents, and that no earlier step has written on any path without
/// jumps back, is the first output.
///
/// Lifetime: points into `method`.
/// Errors: NotSupported, more than 2,000 steps or 100,000 values, or steps, inputs and outputs that name more than
///   20,000: nobody could read the picture.
[[nodiscard]] Result<std::vector<MethodStep>> infer_steps(const format::Method& method);

/// "aten::add.out".
[[nodiscard]] std::string full_name(const format::Operator& op);

}  // namespace tandem::cli
