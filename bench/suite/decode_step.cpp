#include "bench/suite/scenario.h"

#include <cstring>
#include <numeric>

namespace tandem::suite {
namespace {

struct Sizes {
  std::int64_t tokens;  ///< That the cache has room for.
  std::int64_t width;
  std::int32_t heads;
};

/// One delegate projects the token, the second updates the caches and attends to them.
Model step(const Sizes& sizes) {
  Model model;
  const std::size_t x = model.add({.role = ModelValue::Role::Input, .sizes = {1, sizes.width}, .on_host = true});
  const std::size_t position =
      model.add({.role = ModelValue::Role::Input, .sizes = {1}, .dtype = ScalarType::Long, .on_host = true});
  const std::size_t keys = model.add({.role = ModelValue::Role::State, .sizes = {sizes.tokens, sizes.width}});
  const std::size_t values = model.add({.role = ModelValue::Role::State, .sizes = {sizes.tokens, sizes.width}});
  const std::size_t projected = model.add({.sizes = {1, 3 * sizes.width}});
  const std::size_t y = model.add({.role = ModelValue::Role::Output, .sizes = {1, sizes.width}, .on_host = true});
  KernelSpec project;
  project.call.op = Op::MatMul;
  project.call.columns = 3 * sizes.width;
  project.call.inner = sizes.width;
  project.in[0] = argument(0);
  project.in[1] = weight(0);
  project.out = argument(1);
  model.call({project}, {x, projected}, some_floats(static_cast<std::size_t>(3 * sizes.width * sizes.width), 9));
  KernelSpec attend;
  attend.call.op = Op::AttendCache;
  attend.call.rows = sizes.tokens;
  attend.call.columns = sizes.width;
  attend.call.heads = sizes.heads;
  for (std::uint32_t i = 0; i < 4; ++i) attend.in[i] = argument(i);
  attend.out = argument(4);
  model.call({attend}, {projected, keys, values, position, y});
  return model;
}

/// The inputs of the step at a position.
Inputs at_position(const Model& model, std::int64_t position) {
  Inputs inputs = some_inputs(model, static_cast<std::uint32_t>(position));
  std::memcpy(inputs[1].data(), &position, sizeof position);
  return inputs;
}

}  // namespace

/// Each call is the next position; behind the last one the first follows. What a step gives depends on the tokens
/// before it alone, so it is the same in every pass.
Status decode_step(const Context& context) {
  Machine& machine = context.machine;
  const Sizes sizes = machine.is_slow() ? Sizes{16, 32, 2} : Sizes{64, 256, 8};
  const Model model = step(sizes);
  std::vector<Inputs> inputs;
  for (std::int64_t p = 0; p < sizes.tokens; ++p) inputs.push_back(at_position(model, p));
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});

  Comparing comparing;
  Case& work = comparing.work;
  work.scenario = "decode_step";
  work.name = std::to_string(sizes.tokens) + " positions, host tensors";
  work.rounds = context.rounds;
  // Whole passes, so that every way is at the same position in every round.
  work.warmup = inputs.size();
  work.tolerance = 1e-3;
  {  // as the host does it, from an empty cache
    const std::unique_ptr<Machine> host = make_host_machine();
    TANDEM_TRY(RawModel raw, RawModel::create(*host, model));
    TANDEM_TRY(const std::unique_ptr<RawStream> stream, host->make_raw_stream());
    const std::vector<KernelCall> calls = raw.calls();
    const std::vector<std::size_t> values = model.inputs();
    for (const Inputs& one : inputs) {
      for (std::size_t i = 0; i < values.size(); ++i) TANDEM_CHECK_OK(raw.set(values[i], one[i]));
      TANDEM_CHECK_OK(stream->launch(calls));
      const auto* const y = static_cast<const float*>(raw.memory(model.output()));
      work.expected.insert(work.expected.end(), y, y + sizes.width);
    }
  }
  comparing.tandem = [&](const Mode& mode) -> Result<std::shared_ptr<Call>> {
    MethodOptions options;
    options.graphs = mode.graphs;
    TANDEM_TRY(auto method, context.load(model, options));
    std::vector<std::shared_ptr<Call>> calls;
    for (const Inputs& one : inputs) {
      TANDEM_TRY(auto call, TandemCall::create(machine, method, CallSpec{.model = model, .inputs = one}));
      calls.push_back(std::move(call));
    }
    return in_turn(std::move(calls), order);
  };
  comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
    TANDEM_TRY(auto stream, machine.make_raw_stream());
    TANDEM_TRY(RawModel made, RawModel::create(machine, model));
    const std::shared_ptr<RawStream> on = std::move(stream);
    const auto shared = std::make_shared<RawModel>(std::move(made));
    std::vector<std::shared_ptr<Call>> calls;
    for (const Inputs& one : inputs) {
      const CallSpec spec{.model = model, .inputs = one, .brings_inputs = true};
      TANDEM_TRY(auto call, RawCall::create(machine, on, shared, kind, spec));
      calls.push_back(std::move(call));
    }
    return in_turn(std::move(calls), order);
  };
  return compare_modes(context, std::move(comparing));
}

}  // namespace tandem::suite
