#pragma once

#include "cli/picture/method_steps.h"

#include <tandem/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

/// A box of the picture. Texts are as the file has them: not escaped, any length.
struct GraphNode {
  enum class Kind : std::uint8_t { Input, Output, Stored, Delegate, Operator, Move, Jump, Free };
  Kind kind = Kind::Operator;
  std::string title{};
  std::string detail{};
  std::string backend{};         ///< Delegate: its id.
  std::uint32_t step = kNoStep;  ///< Index into infer_steps(); inputs, outputs and stored values have none.
  std::string number{};          ///< Step: "#3", or "#1:3" where there are several chains.
};

/// One value on its way from the step that writes it to those that read it, or a jump.
struct GraphNet {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> to{};
  std::string label{};  ///< "f32[64,64]".
  std::string value{};  ///< "v7"; empty for jumps.
  bool jump = false;
};

struct MethodGraph {
  std::vector<GraphNode> nodes{};  ///< All steps first, in order.
  std::vector<GraphNet> nets{};
  std::uint32_t steps = 0;
  std::vector<std::uint32_t> stretches{};  ///< First step of each stretch without jumps into or out of it, ascending.
};

/// Who hands which value to whom, along all paths through jumps. Constants and mutable buffers get a box at every
/// reader, so that they draw no lines through the picture.
/// Errors: NotSupported, as infer_steps().
[[nodiscard]] Result<MethodGraph> make_graph(const format::Method& method);

/// "f32[64,64]", "int", "f32[<=8,64]" (upper bounds).
[[nodiscard]] std::string short_type(const format::ValueSpec& value);

}  // namespace tandem::cli
