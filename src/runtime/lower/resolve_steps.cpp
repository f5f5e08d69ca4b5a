#include "runtime/lower/lower.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

std::string full_name(const format::Operator& op) {
  std::string name{op.name};
  if (!op.overload.empty()) name += "." + std::string{op.overload};
  return name;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_tensor_list(Argument::Kind kind) {
  return kind == Argument::Kind::TensorList || kind == Argument::Kind::OptionalTensorList;
}

class StepResolver {
 public:
  StepResolver(const LowerInput& input, Schedule& schedule) : input_{input}, schedule_{schedule} {}

  Status run() {
    TANDEM_CHECK_OK(find_operators());
    TANDEM_CHECK_OK(find_backends());
    std::vector<std::uint32_t> first_step;  // of every chain
    for (const format::Chain& chain : input_.method.chains) {
      first_step.push_back(step_count_);
      step_count_ += static_cast<std::uint32_t>(chain.instructions.size());
    }
    schedule_.steps.reserve(step_count_);
    for (std::size_t c = 0; c < input_.method.chains.size(); ++c) {
      const std::vector<format::Instruction>& instructions = input_.method.chains[c].instructions;
      chain_start_ = first_step[c];
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        step_ = Step{};
        step_.chain = static_cast<std::uint32_t>(c);
        step_.instruction = static_cast<std::uint32_t>(i);
        step_.first_arg = static_cast<std::uint32_t>(schedule_.args.size());
        if (Status added = std::visit([this](const auto& call) { return add(call); }, instructions[i]); !added.ok()) {
          return std::move(added).error().with_site(site_of(schedule_, step_));
        }
        step_.arg_count = static_cast<std::uint32_t>(schedule_.args.size()) - step_.first_arg;
        schedule_.steps.push_back(step_);
      }
    }
    return {};
  }

 private:
  /// Looks all operators up before anything else, so that one error names all that are missing.
  Status find_operators() {
    std::set<std::string> missing;
    for (const format::Operator& op : input_.method.operators) {
      const std::string name = full_name(op);
      const Operator* found = input_.operators.find(name);
      if (found == nullptr) missing.insert(name);
      schedule_.operators.push_back(found);
    }
    if (missing.empty()) return {};
    return Error{ErrorCode::OperatorMissing, "operators that Tandem does not have"}
        .with_expected("registered operators", joined(missing))
        .with_op(joined(missing))
        .with_method(std::string{input_.method.name});
  }

  Status find_backends() {
    std::set<std::string> missing;
    for (const format::Delegate& delegate : input_.method.delegates) {
      schedule_.delegates.push_back({.backend_id = delegate.id});
      if (input_.backends.find(delegate.id) == nullptr) missing.insert(std::string{delegate.id});
    }
    if (!missing.empty()) {
      std::string known;
      for (const std::string& id : input_.backends.ids()) known += (known.empty() ? "" : ", ") + id;
      return Error{ErrorCode::BackendMissing, "backends that are not available here"}
          .with_expected(known.empty() ? "a registered backend" : "one of " + known, joined(missing))
          .with_backend(joined(missing))
          .with_method(std::string{input_.method.name});
    }
    if (!input_.method.delegates.empty() && !input_.allow_native_code) {
      return Error{ErrorCode::NotSupported, "the program has delegates, and native code is not allowed"}
          .with_backend(std::string{input_.method.delegates.front().id}, 0)
          .with_method(std::string{input_.method.name});
    }
    return {};
  }

  void push(std::int32_t value, OpAccess mode) {
    schedule_.args.push_back(static_cast<std::uint32_t>(value));
    schedule_.modes.push_back(mode);
  }

  Argument::Kind kind_of(std::int32_t value) const { return schedule_.stored[static_cast<std::size_t>(value)].kind; }

  Status add(const format::KernelCall& call) {
    step_.kind = Step::Kind::Kernel;
    step_.target = call.op;
    const Operator& op = *schedule_.operators[call.op];
    if (call.args.size() != op.accesses.size()) {
      return Error{ErrorCode::InvalidProgram, "wrong argument count"}.with_expected(std::to_string(op.accesses.size()),
                                                                                    std::to_string(call.args.size()));
    }
    std::vector<const ArgumentSpec*> specs;
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      const auto mode = static_cast<OpAccess>(op.accesses[i]);
      push(call.args[i], mode);
      specs.push_back(&schedule_.values[static_cast<std::size_t>(call.args[i])].spec);
      if (mode == OpAccess::Result) mark_reset(call.args[i]);
      if (mode == OpAccess::Alias) mark_reset(call.args[i]);
    }
    TANDEM_CHECK_OK(check_return(call, op));
    return op.accept(specs);
  }

  /// The wire repeats outputs as the return value; operators write them once, so the two must be the same.
  Status check_return(const format::KernelCall& call, const Operator& op) const {
    std::vector<const Argument*> written;
    const auto tensors_of = [this](std::int32_t value) {
      const Argument& argument = schedule_.stored[static_cast<std::size_t>(value)];
      return argument.is_tensor() ? std::vector<const Argument*>{&argument}
                                  : std::vector<const Argument*>{argument.items.begin(), argument.items.end()};
    };
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      const auto mode = static_cast<OpAccess>(op.accesses[i]);
      if (writes(mode)) {
        for (const Argument* tensor : tensors_of(call.args[i])) written.push_back(tensor);
      }
      if (mode != OpAccess::Return) continue;
      for (const Argument* tensor : tensors_of(call.args[i])) {
        if (std::find(written.begin(), written.end(), tensor) != written.end()) continue;
        return Error{ErrorCode::InvalidProgram, "the return value is not the output"}
            .with_argument(static_cast<int>(i))
            .with_value(call.args[i]);
      }
    }
    return {};
  }

  Status add(const format::DelegateCall& call) {
    step_.kind = Step::Kind::Delegate;
    step_.target = call.delegate;
    for (const std::int32_t arg : call.args) push(arg, OpAccess::None);  // prepare_delegates() asks the delegate
    return {};
  }

  Status add(const format::MoveCall& call) {
    step_.kind = Step::Kind::Move;
    const Argument::Kind from = kind_of(call.from);
    const Argument::Kind to = kind_of(call.to);
    const ArgumentSpec& source = schedule_.values[static_cast<std::size_t>(call.from)].spec;
    const ArgumentSpec& target = schedule_.values[static_cast<std::size_t>(call.to)].spec;
    const bool same_tensor =
        from != Argument::Kind::Tensor || (source.dtype == target.dtype && source.sizes.size() == target.sizes.size());
    if (from != to || is_tensor_list(from) || from == Argument::Kind::IntList || !same_tensor) {
      return Error{ErrorCode::InvalidProgram, "a move between values of different kinds"}
          .with_expected("equal kinds, dtypes and ranks; no boxed lists",
                         "values " + std::to_string(call.from) + " and " + std::to_string(call.to))
          .with_value(call.to);
    }
    push(call.from, OpAccess::Read);
    push(call.to, from == Argument::Kind::Tensor ? OpAccess::Alias : OpAccess::Result);
    mark_reset(call.to);
    return {};
  }

  Status add(const format::JumpFalseCall& call) {
    step_.kind = Step::Kind::JumpFalse;
    const Argument::Kind kind = kind_of(call.condition);
    const ArgumentSpec& spec = schedule_.values[static_cast<std::size_t>(call.condition)].spec;
    if (kind != Argument::Kind::Bool && !(kind == Argument::Kind::Tensor && spec.dtype == ScalarType::Bool)) {
      return Error{ErrorCode::InvalidProgram, "the condition of a jump is no truth value"}.with_value(call.condition);
    }
    push(call.condition, kind == Argument::Kind::Tensor ? OpAccess::Read : OpAccess::None);
    step_.target = chain_start_ + call.destination;
    return {};
  }

  Status add(const format::FreeCall& call) {
    step_.kind = Step::Kind::Free;
    push(call.value, OpAccess::None);
    return {};
  }

  void mark_reset(std::int32_t value) { schedule_.values[static_cast<std::size_t>(value)].reset = true; }

  const LowerInput& input_;
  Schedule& schedule_;
  Step step_{};
  std::uint32_t step_count_ = 0;
  std::uint32_t chain_start_ = 0;
};

}  // namespace

Status resolve_steps(const LowerInput& input, Schedule& schedule) { return StepResolver{input, schedule}.run(); }

}  // namespace tandem::runtime
