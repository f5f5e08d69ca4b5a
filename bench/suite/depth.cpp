#include "bench/suite/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::suite {

/// One stream, one instance, a tensor for each execution that may be under way. Not on the host, whose stream is the
/// calling thread.
Status depth(const Context& context) {
  Machine& machine = context.machine;
  if (machine.is_host()) return {};
  const Model model = chain_of(10, context.repeats(1001, 11), 0.25F);
  const Inputs inputs = some_inputs(model);
  const CallSpec spec{.model = model, .inputs = inputs};
  constexpr std::size_t kCalls = 32;
  TANDEM_TRY(const std::vector<float> one, expected_of(model, inputs));
  for (std::size_t depth = 1; depth <= RawStream::kMarks; ++depth) {
    TANDEM_TRY(const Stream stream, machine.make_stream());
    Comparing comparing;
    Case& work = comparing.work;
    work.scenario = "depth";
    work.name = fmt::format("{} under way", depth);
    work.rounds = std::max<std::size_t>(context.rounds / 20, 10);
    work.warmup = 3;
    for (std::size_t i = 0; i < depth; ++i) work.expected.insert(work.expected.end(), one.begin(), one.end());
    comparing.tandem = [&](const Mode& mode) -> Result<std::shared_ptr<Call>> {
      MethodOptions options;
      options.graphs = mode.graphs;
      options.max_in_flight = static_cast<std::uint32_t>(depth);
      TANDEM_TRY(auto method, context.load(model, options));
      std::vector<std::shared_ptr<Call>> calls;
      for (std::size_t i = 0; i < depth; ++i) {
        TANDEM_TRY(auto call, TandemCall::create(machine, method, spec, &stream));
        calls.push_back(std::move(call));
      }
      return back_to_back(std::move(calls), kCalls);
    };
    comparing.raw = [&](RawKind kind) -> Result<std::shared_ptr<Call>> {
      TANDEM_TRY(auto made, machine.make_raw_stream());
      const std::shared_ptr<RawStream> on = std::move(made);
      std::vector<std::shared_ptr<Call>> calls;
      for (std::size_t i = 0; i < depth; ++i) {
        TANDEM_TRY(RawModel raw, RawModel::create(machine, model));
        TANDEM_TRY(auto call, RawCall::create(machine, on, std::make_shared<RawModel>(std::move(raw)), kind, spec, i));
        calls.push_back(std::move(call));
      }
      return back_to_back(std::move(calls), kCalls);
    };
    TANDEM_CHECK_OK(compare_modes(context, std::move(comparing)));
  }
  return {};
}

}  // namespace tandem::suite
