#include "support/built_programs.h"

#include <array>
#include <span>

namespace tandem::testing {
namespace {

TensorSpec planned(std::vector<std::int64_t> sizes, std::uint64_t offset, ScalarType dtype = ScalarType::Float) {
  return {.sizes = std::move(sizes), .dtype = dtype, .memory = PlannedMemory{.arena = 1, .offset = offset}};
}

constexpr std::array<float, 6> kSix = {1, 2, 3, 4, 5, 6};

}  // namespace

ProgramBuilder sum_program() {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor(planned({2, 3}, 0));
  const auto y = m.tensor(planned({2, 3}, 32));
  const auto c = m.constant({2, 3}, {kSix.begin(), kSix.end()});
  m.kernel("aten::add.out", {x, c, m.number(2), y, y}).inputs({x}).outputs({y});
  return program;
}

ProgramBuilder loop_program(int times) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor(planned({3}, 0));
  const auto total = m.tensor(planned({3}, 16));
  const auto none = m.none();
  const auto zero = m.number(0);
  const auto one = m.number(1);
  const auto count = m.number(times);
  const auto i = m.number(0);
  const auto done = m.flag(false);
  // ExecuTorch keeps numbers from run to run.
  m.move(zero, i).kernel("aten::clone.out", {x, none, total, total});
  const auto loop = m.here();
  m.kernel("aten::add.out", {total, x, one, total, total})
      .kernel("executorch_prim::add.Scalar", {i, one, i})
      .kernel("executorch_prim::ge.Scalar", {i, count, done})
      .jump_if_false(done, loop)
      .inputs({x})
      .outputs({total});
  return program;
}

ProgramBuilder branch_program() {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor(planned({1}, 0));
  const auto y = m.tensor(planned({1}, 16));
  const auto positive = m.tensor(planned({1}, 32, ScalarType::Bool));
  const auto never = m.flag(false);
  const auto otherwise = m.label();
  const auto end = m.label();
  m.kernel("aten::gt.Scalar_out", {x, m.number(0), positive, positive})
      .jump_if_false(positive, otherwise)
      .kernel("aten::add.out", {x, x, m.number(1), y, y})
      .jump_if_false(never, end)
      .place(otherwise)
      .kernel("aten::mul.out", {x, x, y, y})
      .place(end)
      .inputs({x})
      .outputs({y});
  return program;
}

ProgramBuilder state_program() {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor(planned({1}, 0));
  const auto y = m.tensor(planned({1}, 16));
  const auto total = m.state({1}, {100});
  m.kernel("aten::add.out", {total, x, m.number(1), y, y})
      .kernel("aten::copy_", {total, y, m.flag(false), total})
      .inputs({x})
      .outputs({y});
  return program;
}

ProgramBuilder dynamic_program() {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  TensorSpec x_spec = planned({4, 2}, 0);
  TensorSpec y_spec = planned({4, 3}, 32);
  x_spec.dynamic = y_spec.dynamic = true;
  const auto x = m.tensor(x_spec);
  const auto y = m.tensor(y_spec);
  const auto weight = m.external({.sizes = {2, 3}, .name = "weight"});
  m.kernel("aten::mm.out", {x, weight, y, y}).inputs({x}).outputs({y});
  program.external_data("weight", std::as_bytes(std::span{kSix}));
  return program;
}

ProgramBuilder shared_state_program() {
  ProgramBuilder program;
  for (const char* name : {"add", "set"}) {
    MethodBuilder& m = program.method(name);
    const auto x = m.tensor(planned({1}, 0));
    const auto y = m.tensor(planned({1}, 16));
    const auto total = m.state({.sizes = {1}, .memory = PlannedMemory{.arena = 2, .offset = 64}, .name = "total"});
    if (std::string_view{name} == "add") {
      m.kernel("aten::add.out", {total, x, m.number(1), y, y});
    } else {
      m.kernel("aten::clone.out", {x, m.none(), y, y});
    }
    m.kernel("aten::copy_", {total, y, m.flag(false), total}).inputs({x}).outputs({y});
  }
  return program;
}

}  // namespace tandem::testing
