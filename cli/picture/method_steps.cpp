#include "cli/picture/method_steps.h"

#include "runtime/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tandem::cli {
namespace {

using runtime::OpAccess;

constexpr std::size_t kMaxSteps = 2'000;
constexpr std::size_t kMaxAccesses = 20'000;
constexpr std::size_t kMaxValues = 100'000;

class StepInference {
 public:
  explicit StepInference(const format::Method& method) : method_{method} {}

  Result<std::vector<MethodStep>> run() {
    std::size_t count = 0;
    for (const format::Chain& chain : method_.chains) count += chain.instructions.size();
    if (count > kMaxSteps) return too_large(kMaxSteps, count, "steps");
    if (method_.values.size() > kMaxValues) return too_large(kMaxValues, method_.values.size(), "values");
    for (std::size_t c = 0; c < method_.chains.size(); ++c) add_chain(static_cast<std::uint32_t>(c));
    accesses_ = method_.inputs.size() + method_.outputs.size();
    if (accesses_ > kMaxAccesses) return too_large(kMaxAccesses, accesses_, "inputs and outputs");
    find_computed();
    const std::vector<bool> start = first_contents(method_);
    // Per step that is jumped to: what some path that ends there has written.
    std::vector<std::vector<bool>> jumped(steps_.size() + 1);
    written_ = start;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      merge(written_, jumped[i]);
      std::visit([this, i](const auto& call) { infer(steps_[i], call); }, *steps_[i].what);
      if (accesses_ > kMaxAccesses) return too_large(kMaxAccesses, accesses_, "values in steps");
      for (const std::int32_t value : steps_[i].writes) written_[static_cast<std::size_t>(value)] = true;
      if (steps_[i].jump != kNoStep && steps_[i].jump > i) merge(jumped[steps_[i].jump], written_);
      steps_[i].always_jumps = always_jumps(steps_[i]);
      if (steps_[i].always_jumps) written_ = start;  // what follows is reached from elsewhere
    }
    return std::move(steps_);
  }

 private:
  Error too_large(std::size_t limit, std::size_t found, std::string_view what) const {
    return Error{ErrorCode::NotSupported, "the method is too large to draw"}
        .with_expected(fmt::format("at most {} {}", limit, what), std::to_string(found))
        .with_method(std::string{method_.name});
  }

  void add_chain(std::uint32_t chain) {
    const auto first = static_cast<std::uint32_t>(steps_.size());
    const std::vector<format::Instruction>& instructions = method_.chains[chain].instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      MethodStep step{.chain = chain, .instruction = i, .what = &instructions[i]};
      if (const auto* jump = std::get_if<format::JumpFalseCall>(step.what)) step.jump = first + jump->destination;
      steps_.push_back(std::move(step));
    }
  }

  static void merge(std::vector<bool>& into, const std::vector<bool>& from) {
    if (into.empty()) into.resize(from.size());
    for (std::size_t v = 0; v < from.size(); ++v) into[v] = into[v] || from[v];
  }

  /// An unconditional jump is a conditional one on a stored `false`.
  bool always_jumps(const MethodStep& step) const {
    if (step.jump == kNoStep) return false;
    const std::int32_t condition = std::get<format::JumpFalseCall>(*step.what).condition;
    const auto* stored = std::get_if<bool>(&method_.values[static_cast<std::size_t>(condition)]);
    if (stored == nullptr || *stored) return false;
    return !computed_[static_cast<std::size_t>(condition)];
  }

  /// Numbers that a step moves or computes.
  void find_computed() {
    computed_.resize(method_.values.size());
    for (const MethodStep& step : steps_) {
      if (const auto* move = std::get_if<format::MoveCall>(step.what)) {
        computed_[static_cast<std::size_t>(move->to)] = true;
      }
      const auto* call = std::get_if<format::KernelCall>(step.what);
      if (call != nullptr && !call->args.empty()) computed_[static_cast<std::size_t>(call->args.back())] = true;
    }
  }

  /// `value`, or the items of the list that it is.
  std::vector<std::int32_t> parts(std::int32_t value) const {
    const format::ValueSpec& spec = method_.values[static_cast<std::size_t>(value)];
    std::vector<std::int32_t> items{value};
    if (const auto* numbers = std::get_if<format::IntList>(&spec)) items = numbers->items;
    if (const auto* tensors = std::get_if<format::TensorList>(&spec)) items = tensors->items;
    if (const auto* tensors = std::get_if<format::OptionalTensorList>(&spec)) items = tensors->items;
    std::erase(items, -1);
    return items;
  }

  /// Each value once. Counts what it is given, and adds nothing once that is too much.
  void append(std::vector<std::int32_t>& to, std::int32_t arg) {
    if (accesses_ > kMaxAccesses) return;
    const std::vector<std::int32_t> values = parts(arg);
    accesses_ += values.size();
    for (const std::int32_t value : values) {
      if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
    }
  }

  void infer(MethodStep& step, const format::KernelCall& call) {
    const runtime::Operator* known = runtime::OperatorRegistry::builtin().find(full_name(method_.operators[call.op]));
    if (known != nullptr && known->accesses.size() != call.args.size()) known = nullptr;
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      const bool last = i + 1 == call.args.size();
      const bool repeated = !last && call.args[i] == call.args.back() && i + 2 == call.args.size();  // an out variant
      const OpAccess unknown = last || repeated ? OpAccess::Write : OpAccess::Read;
      const OpAccess mode = known != nullptr ? static_cast<OpAccess>(known->accesses[i]) : unknown;
      const bool writes = mode == OpAccess::Write || mode == OpAccess::Update || mode == OpAccess::Partial ||
                          mode == OpAccess::Alias || mode == OpAccess::Result;
      const bool reads = mode == OpAccess::None || mode == OpAccess::Shape || mode == OpAccess::Read ||
                         mode == OpAccess::Update || mode == OpAccess::Partial;
      if (reads) append(step.reads, call.args[i]);
      if (writes) append(step.writes, call.args[i]);
    }
  }

  void infer(MethodStep& step, const format::DelegateCall& call) {
    const auto first_output = std::find_if(call.args.begin(), call.args.end(), [this](std::int32_t value) {
      return !written_[static_cast<std::size_t>(value)];  // only tensors without first contents are unwritten
    });
    for (auto arg = call.args.begin(); arg != call.args.end(); ++arg) {
      append(arg < first_output ? step.reads : step.writes, *arg);
    }
  }

  static void infer(MethodStep& step, const format::MoveCall& call) {
    step.reads = {call.from};
    step.writes = {call.to};
  }
  static void infer(MethodStep& step, const format::JumpFalseCall& call) { step.reads = {call.condition}; }
  static void infer(MethodStep& step, const format::FreeCall& call) { step.reads = {call.value}; }

  const format::Method& method_;
  std::vector<MethodStep> steps_;
  std::vector<bool> written_;
  std::vector<bool> computed_;
  std::size_t accesses_ = 0;
};

}  // namespace

std::vector<bool> first_contents(const format::Method& method) {
  std::vector<bool> found(method.values.size());
  for (std::size_t v = 0; v < found.size(); ++v) {
    const auto* tensor = std::get_if<format::Tensor>(&method.values[v]);
    // The exporter names the buffers of a module; intermediate values have no name.
    found[v] = tensor == nullptr || tensor->source != format::DataSource::None || !tensor->name.empty();
  }
  for (const std::int32_t input : method.inputs) found[static_cast<std::size_t>(input)] = true;
  return found;
}

Result<std::vector<MethodStep>> infer_steps(const format::Method& method) { return StepInference{method}.run(); }

std::string full_name(const format::Operator& op) {
  std::string name{op.name};
  if (!op.overload.empty()) name += "." + std::string{op.overload};
  return name;
}

}  // namespace tandem::cli
