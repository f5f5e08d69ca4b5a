#include "cli/pack/step_reader.h"

#include "cli/text.h"
#include "runtime/op.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::cli {
namespace {

bool is_written(char access) {
  switch (static_cast<runtime::OpAccess>(access)) {
    case runtime::OpAccess::Write:
    case runtime::OpAccess::Update:
    case runtime::OpAccess::Partial:
    case runtime::OpAccess::Alias:
      return true;
    default:
      return false;
  }
}

/// Where an operator has one output, its result is that output again; a manifest need not say so.
std::optional<std::size_t> repeated_output(const runtime::Operator& op) {
  std::optional<std::size_t> output;
  if (!op.accesses.ends_with(static_cast<char>(runtime::OpAccess::Return))) return output;
  for (std::size_t i = 0; i < op.accesses.size(); ++i) {
    if (!is_written(op.accesses[i])) continue;
    if (output) return std::nullopt;
    output = i;
  }
  return output;
}
void append_result(const runtime::Operator& op, ManifestStep& step) {
  const std::optional<std::size_t> output = repeated_output(op);
  if (output && step.args.size() + 1 == op.accesses.size()) step.args.push_back(step.args[*output]);
}
std::string counts_text(const runtime::Operator& op) {
  const std::size_t count = op.accesses.size();
  return repeated_output(op) ? fmt::format("{} (or {}, with the result)", count - 1, count) : fmt::to_string(count);
}

}  // namespace

Result<std::vector<ManifestStep>> StepReader::read(const ManifestNode& steps) {
  TANDEM_TRY(const std::vector<ManifestNode> nodes, steps.list("a list of steps"));
  for (const ManifestNode& node : nodes) TANDEM_CHECK_OK(find_label(node));  // jumps may go forwards
  std::vector<ManifestStep> out;
  for (const ManifestNode& node : nodes) {
    ManifestStep step{.spot = node.spot()};
    TANDEM_CHECK_OK(read_step(node, step));
    out.push_back(std::move(step));
  }
  return out;
}

Status StepReader::find_label(const ManifestNode& node) {
  const auto label = node.find("label");
  if (!label) return {};
  TANDEM_TRY(const std::string name, label->text());
  if (labels_.emplace(name, labels_.size()).second) return {};
  return label->error(fmt::format("the label '{}' is here twice", printable(name)));
}

Status StepReader::read_step(const ManifestNode& node, ManifestStep& step) {
  if (node.find("op")) return read_op(node, step);
  if (node.find("delegate")) return read_call(node, step);
  if (node.find("move")) return read_move(node, step);
  if (node.find("jump_if_false")) return read_jump(node, step);
  if (node.find("free")) return read_free(node, step);
  return read_label(node, step);
}

Status StepReader::read_args(const ManifestNode& node, ManifestStep& step) {
  TANDEM_TRY(const ManifestNode args, node.require("args"));
  TANDEM_TRY(const std::vector<ManifestNode> items, args.list("a list of arguments"));
  for (const ManifestNode& item : items) {
    TANDEM_TRY(ManifestArg arg, values_.read_arg(item));
    step.args.push_back(std::move(arg));
  }
  return {};
}

Status StepReader::read_op(const ManifestNode& node, ManifestStep& step) {
  static constexpr std::string_view kKeys[] = {"op", "args"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  TANDEM_TRY(const ManifestNode name, node.require("op"));
  TANDEM_TRY(step.op, name.text());
  const runtime::Operator* op = runtime::OperatorRegistry::builtin().find(step.op);
  if (op == nullptr) {
    std::vector<std::string_view> known;
    for (const runtime::Operator* other : runtime::OperatorRegistry::builtin().all()) known.push_back(other->name);
    return name.error(fmt::format("no operator '{}'{}", printable(step.op), nearest_text(step.op, known)));
  }
  TANDEM_CHECK_OK(read_args(node, step));
  append_result(*op, step);
  if (step.args.size() != op->accesses.size()) {
    TANDEM_TRY(const ManifestNode args, node.require("args"));
    return args.error("wrong argument count")
        .with_expected(fmt::format("{} for {}", counts_text(*op), step.op), fmt::to_string(step.args.size()));
  }
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    if (is_written(op->accesses[i]) && values_.is_constant(step.args[i])) {
      return step.args[i].spot.error(ErrorCode::InvalidArgument, "the operator writes to a constant");
    }
  }
  return {};
}

Status StepReader::read_call(const ManifestNode& node, ManifestStep& step) {
  static constexpr std::string_view kKeys[] = {"delegate", "args"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  step.kind = ManifestStep::Kind::Delegate;
  TANDEM_TRY(const ManifestNode name, node.require("delegate"));
  TANDEM_TRY(step.target, look_up(name, "delegate", delegates_));
  return read_args(node, step);
}

Status StepReader::read_move(const ManifestNode& node, ManifestStep& step) const {
  static constexpr std::string_view kKeys[] = {"move", "to"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  step.kind = ManifestStep::Kind::Move;
  for (const std::string_view key : kKeys) {
    TANDEM_TRY(const ManifestNode name, node.require(key));
    TANDEM_TRY(ManifestArg arg, values_.find(name));
    step.args.push_back(std::move(arg));
  }
  return {};
}

Status StepReader::read_jump(const ManifestNode& node, ManifestStep& step) {
  static constexpr std::string_view kKeys[] = {"jump_if_false", "to"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  step.kind = ManifestStep::Kind::JumpIfFalse;
  TANDEM_TRY(const ManifestNode condition, node.require("jump_if_false"));
  TANDEM_TRY(ManifestArg arg, values_.read_arg(condition));
  if (!values_.is_condition(arg)) return condition.error("the condition of a jump is no truth value");
  step.args.push_back(std::move(arg));
  TANDEM_TRY(const ManifestNode label, node.require("to"));
  TANDEM_TRY(step.target, look_up(label, "label", labels_));
  return {};
}

Status StepReader::read_free(const ManifestNode& node, ManifestStep& step) const {
  static constexpr std::string_view kKeys[] = {"free"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  step.kind = ManifestStep::Kind::Free;
  TANDEM_TRY(const ManifestNode name, node.require("free"));
  TANDEM_TRY(ManifestArg arg, values_.find(name));
  if (!values_.is<ManifestTensor>(arg)) return name.error("only a tensor can be freed");
  step.args.push_back(std::move(arg));
  return {};
}

Status StepReader::read_label(const ManifestNode& node, ManifestStep& step) const {
  static constexpr std::string_view kKeys[] = {"op", "delegate", "args",  "move",
                                               "to", "free",     "label", "jump_if_false"};
  TANDEM_CHECK_OK(node.check_keys(kKeys));
  const auto label = node.find("label");
  if (!label) return node.error("no step").with_expected("op, delegate, move, jump_if_false, free or label", {});
  static constexpr std::string_view kLabelKeys[] = {"label"};
  TANDEM_CHECK_OK(node.check_keys(kLabelKeys));
  step.kind = ManifestStep::Kind::Label;
  TANDEM_TRY(step.target, look_up(*label, "label", labels_));
  return {};
}

}  // namespace tandem::cli
