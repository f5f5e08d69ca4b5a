#include "bench/suite/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::suite {
namespace {

/// Every sample loads anew.
Status loading(const Context& context) {
  Machine& machine = context.machine;
  const bool is_host = machine.is_host();
  const Model model = chain_of(25, 1, 0.25F);
  const Inputs inputs = some_inputs(model);
  TANDEM_TRY(const std::shared_ptr<const BuiltProgram> file, write_program(model, machine.device()));
  TANDEM_TRY(const Stream stream, machine.make_stream());
  MethodOptions options;
  options.graphs = is_host ? GraphPolicy::Off : GraphPolicy::On;
  std::shared_ptr<TandemCall> call;
  const auto load = [&]() -> Status {
    TANDEM_TRY(auto method, context.load(file, options));
    const CallSpec spec{.model = model, .inputs = inputs};
    TANDEM_TRY(call, TandemCall::create(machine, std::move(method), spec, is_host ? nullptr : &stream));
    return {};
  };
  const auto execute = [&]() -> Status {
    TANDEM_CHECK_OK(call->enqueue());
    return is_host ? Status{} : call->wait();
  };
  const auto unload = [&]() -> Status {
    call = nullptr;
    return {};
  };
  std::shared_ptr<LoadedMethod> loaded;
  Way only_load;
  only_load.name = "load";
  only_load.enqueue = [&]() -> Status {
    TANDEM_TRY(loaded, context.load(file, options));
    return {};
  };
  only_load.after = [&]() -> Status {
    loaded = nullptr;
    return {};
  };
  Way first;
  first.name = "first execution";
  first.before = load;
  first.enqueue = execute;
  first.after = unload;
  Case work{.scenario = "load_and_memory", .name = "25 delegates", .ways = {std::move(only_load), std::move(first)}};
  if (!is_host) {
    Way prepare;
    prepare.name = "prepare(), which makes the graph";
    prepare.before = [&]() -> Status {
      TANDEM_CHECK_OK(load());
      return execute();
    };
    prepare.enqueue = [&] { return call->prepare(); };
    prepare.after = unload;
    work.ways.push_back(std::move(prepare));
  }
  work.rounds = std::max<std::size_t>(context.rounds / 20, 10);
  work.warmup = 3;
  context.measure(std::move(work));
  return {};
}

/// Three branches of values that become smaller, and a join: a planner has to fit large holes and small values.
/// `unit`: the floats of the smallest, an eighth of the largest.
Model shrinking_branches(std::int64_t unit) {
  constexpr std::int64_t kLargest = 8;
  Model model;
  const std::size_t input = model.add({.role = ModelValue::Role::Input, .sizes = {1, kLargest * unit}});
  std::vector<std::size_t> ends;
  for (int branch = 0; branch < 3; ++branch) {
    std::size_t last = input;
    for (std::int64_t size = kLargest - branch; size > 0; --size) {
      const std::size_t next = model.add({.sizes = {1, size * unit}});
      KernelSpec spec = exact_kernel(size * unit, 1, static_cast<float>(branch) + 0.25F);
      spec.call.blocks = 256;
      model.call({spec}, {last, next});
      last = next;
    }
    ends.push_back(last);
  }
  const std::size_t output = model.add({.role = ModelValue::Role::Output, .sizes = {1, unit}});
  KernelSpec join;
  join.call.op = Op::Sum4;
  join.call.columns = unit;
  join.call.blocks = 256;
  for (std::uint32_t i = 0; i < 4; ++i) join.in[i] = argument(i);
  join.out = argument(4);
  model.call({join}, {ends[0], ends[1], ends[2], ends[2], output});
  return model;
}

/// What has to be kept at the same time at least, of values that are neither input nor output.
std::size_t peak_live_bytes(const Model& model) {
  const std::vector<ModelCall>& calls = model.calls();
  std::vector<std::size_t> first(model.values().size(), calls.size());
  std::vector<std::size_t> last(model.values().size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (const std::size_t value : calls[c].arguments) {
      first[value] = std::min(first[value], c);
      last[value] = c;
    }
  }
  std::size_t peak = 0;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    std::size_t live = 0;
    for (std::size_t v = 0; v < model.values().size(); ++v) {
      const bool is_between = model.values()[v].role == ModelValue::Role::Between;
      if (is_between && first[v] <= c && c <= last[v]) live += model.values()[v].bytes();
    }
    peak = std::max(peak, live);
  }
  return peak;
}

std::size_t arena_bytes(const runtime::Schedule& schedule) {
  std::size_t bytes = 0;
  for (const runtime::BufferPlan& buffer : schedule.buffers) {
    if (buffer.kind == runtime::BufferPlan::Kind::Arena) bytes += buffer.bytes;
  }
  return bytes;
}

Status memory(const Context& context) {
  Machine& machine = context.machine;
  const std::int64_t unit = machine.is_slow() ? 1 << 14 : 1 << 18;
  const Model model = shrinking_branches(unit);
  const Inputs inputs = some_inputs(model);
  const CallSpec spec{.model = model, .inputs = inputs};
  const std::size_t peak = peak_live_bytes(model);
  const double little_more = 1.03 * static_cast<double>(peak);
  constexpr double kSmallThings = 64 << 10;  // alignment
  constexpr double kGranule = 2 << 20;       // what the driver gives memory in
  MethodOptions options;
  options.graphs = machine.is_host() ? GraphPolicy::Off : GraphPolicy::On;
  // Twice: the driver keeps what the first use of anything brings in.
  for (const bool is_first : {true, false}) {
    const std::optional<std::size_t> before = machine.used_bytes();
    TANDEM_TRY(auto method, context.load(model, options));
    const std::optional<std::size_t> loaded = machine.used_bytes();
    TANDEM_TRY(const std::shared_ptr<TandemCall> call, TandemCall::create(machine, std::move(method), spec));
    const std::optional<std::size_t> with_tensors = machine.used_bytes();
    Case work{.scenario = "load_and_memory", .name = fmt::format("22 delegates, values of {} KiB and less", unit / 32)};
    work.ways = {way_of(modes_of(machine).front().name, call)};
    work.rounds = is_first ? 1 : std::max<std::size_t>(context.rounds / 20, 10);
    work.warmup = 5;
    TANDEM_TRY(work.expected, expected_of(model, inputs));
    if (is_first) {
      TANDEM_CHECK_OK(call->result());
      continue;
    }
    context.measure(std::move(work));
    const std::optional<std::size_t> after = machine.used_bytes();
    context.note({.scenario = "load_and_memory",
                  .name = "planned bytes between delegates",
                  .found = static_cast<double>(arena_bytes(call->method().schedule())),
                  .at_most = little_more + kSmallThings});
    context.note({.scenario = "load_and_memory", .name = "live bytes at the peak", .found = static_cast<double>(peak)});
    if (!before || !loaded || !with_tensors || !after) continue;
    // The caller's tensors are not Tandem's.
    const double used = static_cast<double>(*loaded) - static_cast<double>(*before) + static_cast<double>(*after) -
                        static_cast<double>(*with_tensors);
    context.note({.scenario = "load_and_memory",
                  .name = "bytes of the device since before loading",
                  .found = used,
                  .at_most = little_more + kGranule});
  }
  return {};
}

}  // namespace

Status load_and_memory(const Context& context) {
  TANDEM_CHECK_OK(loading(context));
  return memory(context);
}

}  // namespace tandem::suite
