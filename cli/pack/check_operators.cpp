#include "cli/pack/check_operators.h"

#include "format/pte/pte.h"
#include "runtime/lower/lower.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

Status check_call(const runtime::Schedule& schedule, const format::Operator& named, const format::KernelCall& call) {
  std::string name{named.name};
  if (!named.overload.empty()) name += "." + std::string{named.overload};
  const runtime::Operator* op = runtime::OperatorRegistry::builtin().find(name);
  if (op == nullptr) return Error{ErrorCode::OperatorMissing, "no such operator"}.with_op(std::move(name));
  if (op->accesses.size() != call.args.size()) return Error{ErrorCode::InvalidProgram, "wrong argument count"};
  std::vector<const ArgumentSpec*> specs;
  for (const std::int32_t arg : call.args) specs.push_back(&schedule.values[static_cast<std::size_t>(arg)].spec);
  Status accepted = op->accept(specs);
  if (!accepted.ok()) return std::move(accepted).error().with_op(std::move(name));
  return {};
}

}  // namespace

Status check_operators(const Program& program, std::string_view method_name) {
  const std::vector<format::Method>& methods = program.file().methods;
  const auto method = std::find_if(methods.begin(), methods.end(),
                                   [method_name](const format::Method& other) { return other.name == method_name; });
  if (method == methods.end()) return Error{ErrorCode::MethodNotFound, "no such method"};
  const BackendRegistry no_backends;
  runtime::Schedule schedule;
  TANDEM_CHECK_OK(runtime::resolve_values({.file = program.file(),
                                           .method = *method,
                                           .data = program.data(),
                                           .named_data = program.named_data(),
                                           .operators = runtime::OperatorRegistry::builtin(),
                                           .backends = no_backends},
                                          schedule));
  for (std::size_t c = 0; c < method->chains.size(); ++c) {
    const std::vector<format::Instruction>& instructions = method->chains[c].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto* call = std::get_if<format::KernelCall>(&instructions[i]);
      if (call == nullptr) continue;
      Status checked = check_call(schedule, method->operators[call->op], *call);
      if (!checked.ok()) {
        return std::move(checked).error().with_instruction(static_cast<int>(c), static_cast<int>(i));
      }
    }
  }
  return {};
}

}  // namespace tandem::cli
