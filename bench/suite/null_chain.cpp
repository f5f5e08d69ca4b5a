#include "bench/suite/scenario.h"

#include <fmt/format.h>

namespace tandem::suite {
namespace {

/// `count` delegates in a row, each with kernels or without.
Model chain(std::int64_t count, const std::vector<KernelSpec>& kernels) {
  const ModelValue value{.sizes = {1, 32}};
  Model model;
  ModelValue input = value;
  input.role = ModelValue::Role::Input;
  std::size_t last = model.add(input);
  for (std::int64_t i = 0; i < count; ++i) {
    ModelValue next = value;
    if (i + 1 == count) next.role = ModelValue::Role::Output;
    const std::size_t to = model.add(next);
    model.call(kernels, {last, to});
    last = to;
  }
  return model;
}

/// Delegates that do nothing at all beside a loop over function pointers, which is the least that a chain can cost.
Status on_host(const Context& context, std::int64_t count) {
  const Model model = chain(count, {});
  const Inputs inputs = some_inputs(model);
  TANDEM_TRY(auto method, context.load(model, {}));
  TANDEM_TRY(const std::shared_ptr<TandemCall> call,
             TandemCall::create(context.machine, std::move(method), CallSpec{.model = model, .inputs = inputs}));
  using Function = void (*)(const void*);
  const Function nothing = [](const void* data) { asm volatile("" : : "r"(data) : "memory"); };
  const auto functions = std::make_shared<std::vector<Function>>(static_cast<std::size_t>(count), nothing);
  Way pointers;
  pointers.name = "function pointers";
  pointers.enqueue = [functions]() -> Status {
    for (const Function function : *functions) function(functions.get());
    return {};
  };
  Way tandem = way_of("Tandem", call, pointers.name);
  tandem.result = {};  // nothing is computed
  if (count >= 25) tandem.goal.per_part = 0.040;
  Way again = pointers;
  again.name = "function pointers again";
  again.against = pointers.name;
  const std::string name = fmt::format("{} null delegates", count);
  context.measure({.scenario = "null_chain",
                   .name = name,
                   .ways = {std::move(tandem), std::move(pointers), std::move(again)},
                   .rounds = context.rounds,
                   .repeats = static_cast<std::size_t>(2000 / count),
                   .parts = static_cast<double>(count)});
  return context.count_costs("null_chain", name, *call);
}

}  // namespace

Status null_chain(const Context& context) {
  if (context.machine.is_host()) {
    for (const std::int64_t count : {1, 25, 1000}) TANDEM_CHECK_OK(on_host(context, count));
    return {};
  }
  KernelSpec add_one;
  add_one.call.columns = 32;
  add_one.call.amount = 1;
  add_one.in[0] = argument(0);
  add_one.out = argument(1);
  const Model model = chain(25, {add_one});
  return measure_plain(context, {.scenario = "null_chain",
                                 .name = "25 delegates, a short kernel each",
                                 .model = model,
                                 .goals = {{"graph", {.ratio = 1.03, .extra = 1, .host = 4}}},
                                 .parts = 25});
}

}  // namespace tandem::suite
