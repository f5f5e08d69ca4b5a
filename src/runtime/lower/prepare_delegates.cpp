#include "runtime/lower/lower.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace tandem::runtime {
namespace {

/// Loading is dominated by the dynamic loader and page faults; more threads than this only contend for its lock.
constexpr std::size_t kMaxLoaders = 4;

OpAccess op_access(AccessMode mode) {
  switch (mode) {
    case AccessMode::None:
      return OpAccess::None;
    case AccessMode::Read:
      return OpAccess::Read;
    case AccessMode::Write:
      return OpAccess::Write;
    case AccessMode::Update:
      return OpAccess::Update;
  }
  return OpAccess::None;
}

/// The arguments of the first call of every delegate; empty if nobody calls it.
std::vector<std::vector<ArgumentSpec>> argument_specs(const Schedule& schedule) {
  std::vector<std::vector<ArgumentSpec>> specs(schedule.delegates.size());
  for (const Step& step : schedule.steps) {
    if (step.kind != Step::Kind::Delegate || !specs[step.target].empty()) continue;
    for (const std::uint32_t arg : schedule.args_of(step)) specs[step.target].push_back(schedule.values[arg].spec);
  }
  return specs;
}

Status prepare_one(const LowerInput& input, std::size_t index, std::span<const ArgumentSpec> arguments,
                   DelegatePlan& plan) {
  const format::Delegate& delegate = input.method.delegates[index];
  std::vector<CompileSpec> specs;
  for (const format::CompileSpec& spec : delegate.compile_specs) specs.push_back({spec.key, spec.value});
  LoadContext context;
  context.backend_id = delegate.id;
  context.method = input.method.name;
  context.delegate = static_cast<int>(index);
  context.device = input.device;
  context.compile_specs = specs;
  context.arguments = arguments;
  context.named_data = &input.named_data;
  context.folder = input.folder;
  if (input.backend_options != nullptr) context.options = input.backend_options->get_options(delegate.id);
  const std::shared_ptr<Backend> backend = input.backends.find(delegate.id);
  TANDEM_CHECK_OK(backend->available());
  TANDEM_TRY(auto prepared, backend->prepare(delegate.payload, context));
  plan.output_count = prepared->output_count();
  const DelegateCapabilities capabilities = prepared->capabilities();
  plan.on_host = capabilities.runs_on_host;
  plan.max_contexts = capabilities.max_contexts;
  plan.stateful = capabilities.stateful;
  plan.recordable = capabilities.recordable;
  plan.capturable = capabilities.capturable;
  plan.prefers_graph = capabilities.prefers_graph;
  plan.alignment = capabilities.alignment;
  if (!std::has_single_bit(plan.alignment)) {
    return Error{ErrorCode::BackendFailed, "the delegate declares an alignment that is no power of two"}.with_expected(
        "a power of two", std::to_string(plan.alignment));
  }
  plan.aliased_outputs = prepared->aliased_outputs();
  plan.buffers = prepared->buffers();
  plan.checks_sizes = capabilities.checks_sizes;
  plan.shares_buffers = capabilities.shares_buffers;
  if (!plan.buffers.empty() && !plan.stateful) {
    return Error{ErrorCode::BackendFailed, "the delegate has mutable buffers, but says that it keeps no state"};
  }
  plan.input_bounds = prepared->input_bounds();
  plan.delegate = std::move(prepared);
  return {};
}

/// Modes of the arguments of one call, as its delegate declares them.
Status declare_accesses(Schedule& schedule, const Step& step) {
  const DelegatePlan& plan = schedule.delegates[step.target];
  if (plan.output_count > step.arg_count) {
    return Error{ErrorCode::InvalidProgram, "the call has fewer arguments than the delegate has outputs"}.with_expected(
        "at least " + std::to_string(plan.output_count), std::to_string(step.arg_count));
  }
  const std::vector<AccessMode> accesses = plan.delegate->accesses(step.arg_count);
  if (accesses.size() != step.arg_count) {
    return Error{ErrorCode::BackendFailed, "the delegate declares another number of accesses than it has arguments"}
        .with_expected(std::to_string(step.arg_count), std::to_string(accesses.size()));
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const std::uint32_t value = schedule.args[step.first_arg + i];
    const Argument::Kind kind = schedule.stored[value].kind;
    const bool output = i >= step.arg_count - plan.output_count;
    const bool number = kind == Argument::Kind::Int || kind == Argument::Kind::Double || kind == Argument::Kind::Bool;
    if (output && !number && kind != Argument::Kind::Tensor && kind != Argument::Kind::None) {
      return Error{ErrorCode::InvalidProgram, "an output of a delegate is neither a tensor nor a number"}
          .with_argument(static_cast<int>(i))
          .with_value(static_cast<int>(value));
    }
    if (output && number) schedule.values[value].reset = true;
    schedule.modes[step.first_arg + i] = number ? (output ? OpAccess::Result : OpAccess::None) : op_access(accesses[i]);
  }
  const std::size_t inputs = step.arg_count - plan.output_count;
  for (const AliasedOutput& alias : plan.aliased_outputs) {
    const bool there = alias.output < plan.output_count && alias.input < inputs;
    if (there && accesses[alias.input] == AccessMode::Update) continue;
    return Error{ErrorCode::BackendFailed,
                 "the delegate declares an output as the alias of an input that it does not update"}
        .with_argument(static_cast<int>(inputs + alias.output));
  }
  return {};
}

}  // namespace

Status prepare_delegates(const LowerInput& input, Schedule& schedule) {
  const std::size_t count = schedule.delegates.size();
  const std::vector<std::vector<ArgumentSpec>> specs = argument_specs(schedule);
  std::vector<Status> results(count);
  std::atomic<std::size_t> next{0};
  const auto load_some = [&]() noexcept {
    for (std::size_t i = next++; i < count; i = next++) {
      results[i] = prepare_one(input, i, specs[i], schedule.delegates[i]);
    }
  };
  {
    const std::size_t threads =
        std::min({count, kMaxLoaders, std::size_t{std::max(1U, std::thread::hardware_concurrency())}});
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(load_some);
    load_some();
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (results[i].ok()) continue;
    return std::move(results[i])
        .error()
        .with_site({.method = std::string{input.method.name},
                    .backend = std::string{input.method.delegates[i].id},
                    .delegate = static_cast<int>(i)});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (schedule.delegates[i].on_host || schedule.device != DeviceId{}) continue;
    return Error{ErrorCode::NotSupported, "the delegate runs on a GPU, and the method was loaded for the host"}
        .with_expected("a GPU as MethodOptions::device", to_string(schedule.device))
        .with_site({.method = std::string{input.method.name},
                    .backend = std::string{input.method.delegates[i].id},
                    .delegate = static_cast<int>(i)});
  }
  for (const Step& step : schedule.steps) {
    if (step.kind != Step::Kind::Delegate) continue;
    if (Status declared = declare_accesses(schedule, step); !declared.ok()) {
      return std::move(declared).error().with_site(site_of(schedule, step));
    }
  }
  return {};
}

}  // namespace tandem::runtime
