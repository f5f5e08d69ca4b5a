#include "bench/suite/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tandem::suite {
namespace {

constexpr std::int64_t kMost = 256;
constexpr int kLinks = 5;

Model dynamic_chain(std::int64_t columns, std::int32_t repeats) {
  Model model;
  std::size_t last = model.add({.role = ModelValue::Role::Input, .sizes = {kMost, columns}, .dynamic = true});
  for (int i = 0; i < kLinks; ++i) {
    const auto role = i + 1 == kLinks ? ModelValue::Role::Output : ModelValue::Role::Between;
    const std::size_t next = model.add({.role = role, .sizes = {kMost, columns}, .dynamic = true});
    KernelSpec spec = exact_kernel(columns, repeats, static_cast<float>(i * i));
    spec.call.blocks = 64;
    spec.call.rows = 0;  // the input's
    model.call({spec}, {last, next});
    last = next;
  }
  return model;
}

struct Shapes {
  std::string name{};
  std::vector<std::int64_t> rows{};
  std::vector<std::size_t> order{};
  std::uint32_t max_graphs = 16;
  bool has_goal = true;
};

/// One method for all shapes; raw, what belongs to a shape is made for it.
Status in_order(const Context& context, const Shapes& shapes) {
  Machine& machine = context.machine;
  const Model model = dynamic_chain(machine.is_slow() ? 16 : 64, context.repeats(201, 5));
  TANDEM_TRY(const Stream stream, machine.make_stream());
  Comparing comparing;
  Case& work = comparing.work;
  work.scenario = "shapes";
  work.name = shapes.name;
  work.rounds = context.rounds;
  // A graph is made at the third execution of a shape, and Auto needs 18 more to decide; a run that is for the results
  // alone does not wait for that.
  work.warmup = (context.rounds < 100 ? 4 : 24) * shapes.rows.size();
  std::vector<Inputs> inputs;
  for (const std::int64_t rows : shapes.rows) {
    inputs.push_back(some_inputs(model, static_cast<std::uint32_t>(rows), rows));
    TANDEM_TRY(const std::vector<float> one, expected_of(model, inputs.back(), rows));
    work.expected.insert(work.expected.end(), one.begin(), one.end());
  }
  comparing.tandem = [&](const Mode& mode) -> Result<std::shared_ptr<Call>> {
    MethodOptions options;
    options.graphs = mode.graphs;
    options.max_graphs = shapes.max_graphs;
    TANDEM_TRY(auto method, context.load(model, options));
    std::vector<std::shared_ptr<Call>> calls;
    for (std::size_t s = 0; s < shapes.rows.size(); ++s) {
      const CallSpec spec{.model = model, .inputs = inputs[s], .rows = shapes.rows[s]};
      TANDEM_TRY(auto call, TandemCall::create(machine, method, spec, machine.is_host() ? nullptr : &stream));
      calls.push_back(std::move(call));
    }
    return in_turn(std::move(calls), shapes.order);
  };
  comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
    TANDEM_TRY(auto made, machine.make_raw_stream());
    const std::shared_ptr<RawStream> on = std::move(made);
    std::vector<std::shared_ptr<Call>> calls;
    for (std::size_t s = 0; s < shapes.rows.size(); ++s) {
      const CallSpec spec{.model = model, .inputs = inputs[s], .rows = shapes.rows[s]};
      TANDEM_TRY(RawModel raw, RawModel::create(machine, model));
      TANDEM_TRY(auto call, RawCall::create(machine, on, std::make_shared<RawModel>(std::move(raw)), kind, spec));
      calls.push_back(std::move(call));
    }
    return in_turn(std::move(calls), shapes.order);
  };
  if (shapes.has_goal) comparing.goals = {{"graph", {.ratio = 1.03, .host_extra = 0.3}}};
  return compare_modes(context, std::move(comparing));
}

}  // namespace

Status shapes(const Context& context) {
  Shapes eight{.name = "8 in turn"};
  for (std::int64_t i = 1; i <= 8; ++i) eight.rows.push_back(i * kMost / 8);
  eight.order.resize(8);
  std::iota(eight.order.begin(), eight.order.end(), std::size_t{0});
  TANDEM_CHECK_OK(in_order(context, eight));

  Shapes hundred{.name = "100 in a random order, room for all graphs", .max_graphs = 128};
  for (std::int64_t i = 1; i <= 100; ++i) hundred.rows.push_back(2 * i + 50);
  // The same order everywhere; each shape comes up equally often, and few of them twice in a row.
  for (int pass = 0; pass < 4; ++pass) {
    std::vector<std::size_t> once(hundred.rows.size());
    std::iota(once.begin(), once.end(), std::size_t{0});
    std::uint32_t state = 12345U + static_cast<std::uint32_t>(pass);
    for (std::size_t i = once.size() - 1; i > 0; --i) {
      state = state * 1664525U + 1013904223U;
      std::swap(once[i], once[(state >> 8U) % (i + 1)]);
    }
    hundred.order.insert(hundred.order.end(), once.begin(), once.end());
  }
  TANDEM_CHECK_OK(in_order(context, hundred));
  if (context.machine.is_host()) return {};
  hundred.name = "100 in a random order, room for 16 graphs";
  hundred.max_graphs = 16;
  hundred.has_goal = false;
  return in_order(context, hundred);
}

}  // namespace tandem::suite
