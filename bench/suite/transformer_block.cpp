#include "bench/suite/scenario.h"

namespace tandem::suite {
namespace {

struct Sizes {
  std::int64_t tokens;
  std::int64_t width;
  std::int32_t heads;
};

KernelSpec kernel(Op op, const Sizes& sizes, std::int64_t columns, std::int64_t inner = 1) {
  KernelSpec spec;
  spec.call.op = op;
  spec.call.rows = sizes.tokens;
  spec.call.columns = columns;
  spec.call.inner = inner;
  spec.call.heads = sizes.heads;
  return spec;
}

/// Weights of a matrix product whose output is about as large as its input.
std::vector<float> matrix(std::int64_t inner, std::int64_t columns, std::uint32_t salt) {
  std::vector<float> weights = some_floats(static_cast<std::size_t>(inner * columns), salt);
  for (float& number : weights) number *= 4 / static_cast<float>(inner);
  return weights;
}

/// LayerNorm and one product after it.
void call_norm_and_product(Model& model, const Sizes& sizes, Op product, std::int64_t columns, std::size_t from,
                           std::size_t to, std::uint32_t salt) {
  KernelSpec norm = kernel(Op::LayerNorm, sizes, sizes.width);
  norm.in[0] = argument(0);
  norm.out = scratch(0);
  KernelSpec multiply = kernel(product, sizes, columns, sizes.width);
  multiply.in[0] = scratch(0);
  multiply.in[1] = weight(0);
  multiply.out = argument(1);
  model.call({norm, multiply}, {from, to}, matrix(sizes.width, columns, salt),
             static_cast<std::size_t>(sizes.tokens * sizes.width));
}

/// A product, and `residual` added to it.
void call_product(Model& model, const Sizes& sizes, std::int64_t inner, std::size_t from, std::size_t residual,
                  std::size_t to, std::uint32_t salt) {
  KernelSpec multiply = kernel(Op::MatMul, sizes, sizes.width, inner);
  multiply.in[0] = argument(0);
  multiply.in[1] = weight(0);
  multiply.in[2] = argument(1);
  multiply.out = argument(2);
  model.call({multiply}, {from, residual, to}, matrix(inner, sizes.width, salt));
}

}  // namespace

/// Five delegates: norm and projection, attention, output and residual, norm and the first half of the MLP, the second
/// half and residual.
Status transformer_block(const Context& context) {
  const Sizes sizes = context.machine.is_slow() ? Sizes{8, 16, 2} : Sizes{128, 256, 8};
  const std::int64_t wide = 4 * sizes.width;
  Model model;
  const auto between = [&](std::int64_t columns) { return model.add({.sizes = {sizes.tokens, columns}}); };
  const std::size_t x =
      model.add({.role = ModelValue::Role::Input, .sizes = {sizes.tokens, sizes.width}, .on_host = true});
  const std::size_t projected = between(3 * sizes.width);
  const std::size_t attended = between(sizes.width);
  const std::size_t middle = between(sizes.width);
  const std::size_t hidden = between(wide);
  const std::size_t y =
      model.add({.role = ModelValue::Role::Output, .sizes = {sizes.tokens, sizes.width}, .on_host = true});
  call_norm_and_product(model, sizes, Op::MatMul, 3 * sizes.width, x, projected, 1);
  KernelSpec attention = kernel(Op::Attention, sizes, sizes.width);
  attention.in[0] = argument(0);
  attention.out = argument(1);
  model.call({attention}, {projected, attended});
  call_product(model, sizes, sizes.width, attended, x, middle, 2);
  call_norm_and_product(model, sizes, Op::MatMulGelu, wide, middle, hidden, 3);
  call_product(model, sizes, wide, hidden, middle, y, 4);
  return measure_plain(context, {.scenario = "transformer_block",
                                 .name = "5 delegates, 7 kernels, host tensors",
                                 .model = model,
                                 .parts = 5,
                                 .repeats = context.machine.is_host() ? 4U : 1U,
                                 .tolerance = 1e-3});
}

}  // namespace tandem::suite
