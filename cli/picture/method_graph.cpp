#include "cli/picture/method_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace tandem::cli {
namespace {

/// Which definitions of values may reach which steps.
class Definitions {
 public:
  /// Stands for "before the first step" as the writer of a value.
  static constexpr std::uint32_t kStart = kNoStep;

  Definitions(const std::vector<MethodStep>& steps, const std::vector<bool>& start) : steps_{steps} {
    for (const MethodStep& step : steps) {
      for (const std::int32_t value : step.reads) of_value_[value];
      for (const std::int32_t value : step.writes) of_value_[value];
    }
    for (const auto& [value, unused] : of_value_) {
      if (start[static_cast<std::size_t>(value)]) add(value, kStart);
    }
    const std::size_t at_start = writers_.size();
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      first_of_.push_back(writers_.size());
      for (const std::int32_t value : steps[i].writes) add(value, i);
    }
    const std::size_t words = (writers_.size() + 63) / 64;
    entry_.assign(steps.size() + 1, Set(words));
    for (std::size_t d = 0; d < at_start; ++d) entry_[0][d / 64] |= bit(d);
    while (pass()) {
    }
  }

  /// Steps, ascending, whose write of `value` may be what `step` finds; the number of steps stands for the end.
  [[nodiscard]] std::vector<std::uint32_t> reaching(std::size_t step, std::int32_t value) const {
    std::vector<std::uint32_t> found;
    const auto defined = of_value_.find(value);
    if (defined == of_value_.end()) return {kStart};
    for (const std::size_t d : defined->second) {
      if ((entry_[step][d / 64] & bit(d)) != 0) found.push_back(writers_[d]);
    }
    return found;
  }

 private:
  using Set = std::vector<std::uint64_t>;
  static constexpr std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << (index % 64); }

  void add(std::int32_t value, std::uint32_t writer) {
    of_value_[value].push_back(writers_.size());
    writers_.push_back(writer);
  }

  bool pass() {
    bool changed = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Set exit = entry_[i];
      for (std::size_t w = 0; w < steps_[i].writes.size(); ++w) {
        for (const std::size_t d : of_value_.at(steps_[i].writes[w])) exit[d / 64] &= ~bit(d);
        const std::size_t own = first_of_[i] + w;
        exit[own / 64] |= bit(own);
      }
      if (!steps_[i].always_jumps) changed = merge(entry_[i + 1], exit) || changed;
      if (steps_[i].jump != kNoStep) changed = merge(entry_[steps_[i].jump], exit) || changed;
    }
    return changed;
  }

  static bool merge(Set& into, const Set& from) {
    bool changed = false;
    for (std::size_t w = 0; w < from.size(); ++w) {
      changed = changed || (from[w] & ~into[w]) != 0;
      into[w] |= from[w];
    }
    return changed;
  }

  const std::vector<MethodStep>& steps_;
  std::map<std::int32_t, std::vector<std::size_t>> of_value_;
  std::vector<std::uint32_t> writers_;  // by definition
  std::vector<std::size_t> first_of_;   // by step: its first definition
  std::vector<Set> entry_;
};

std::string short_dtype(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}, {"complex", "c"}};
  for (const auto& [prefix, letter] : kShort) {
    if (name.starts_with(prefix)) return std::string{letter} + std::string{name.substr(prefix.size())};
  }
  return std::string{name};
}

class GraphBuilder {
 public:
  GraphBuilder(const format::Method& method, const std::vector<MethodStep>& steps)
      : method_{method}, steps_{steps}, start_{first_contents(method)}, definitions_{steps, start_} {}

  MethodGraph run() {
    graph_.steps = static_cast<std::uint32_t>(steps_.size());
    for (const MethodStep& step : steps_) graph_.nodes.push_back(step_node(step));
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const std::int32_t value = method_.inputs[i];
      input_of_.emplace(value, add({GraphNode::Kind::Input, fmt::format("input {}", i), type(value)}));
    }
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      for (const std::int32_t value : steps_[i].reads) connect(value, i, i);
    }
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      const std::int32_t value = method_.outputs[i];
      connect(value, graph_.steps, add({GraphNode::Kind::Output, fmt::format("output {}", i), type(value)}));
    }
    keep_buffers();
    add_jumps();
    return std::move(graph_);
  }

 private:
  std::string type(std::int32_t value) const { return short_type(method_.values[static_cast<std::size_t>(value)]); }

  std::uint32_t add(GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  }

  std::string number(const MethodStep& step) const {
    return method_.chains.size() == 1 ? fmt::format("#{}", step.instruction)
                                      : fmt::format("#{}:{}", step.chain, step.instruction);
  }

  GraphNode step_node(const MethodStep& step) const {
    struct Visitor {
      const format::Method& method;
      GraphNode operator()(const format::KernelCall& call) const {
        const std::string name = full_name(method.operators[call.op]);
        const std::size_t colons = name.find("::");
        if (colons == std::string::npos) return {GraphNode::Kind::Operator, name};
        return {GraphNode::Kind::Operator, name.substr(colons + 2), name.substr(0, colons)};
      }
      GraphNode operator()(const format::DelegateCall& call) const {
        const std::string id{method.delegates[call.delegate].id};
        return {GraphNode::Kind::Delegate, fmt::format("delegate {}", call.delegate), id, id};
      }
      GraphNode operator()(const format::MoveCall&) const { return {GraphNode::Kind::Move, "move"}; }
      GraphNode operator()(const format::JumpFalseCall&) const { return {GraphNode::Kind::Jump, "jump if false"}; }
      GraphNode operator()(const format::FreeCall&) const { return {GraphNode::Kind::Free, "free"}; }
    };
    GraphNode node = std::visit(Visitor{method_}, *step.what);
    if (step.always_jumps) node.title = "jump";
    if (step.jump != kNoStep)
      node.detail = step.jump < steps_.size() ? "to " + number(steps_[step.jump]) : "to the end";
    node.number = number(step);
    node.step = static_cast<std::uint32_t>(&step - steps_.data());
    return node;
  }

  /// The box that stands for a value's contents before the first step, seen from a reader; kNoStep: not drawn.
  std::uint32_t start_node(std::int32_t value) {
    if (const auto input = input_of_.find(value); input != input_of_.end()) return input->second;
    const auto* tensor = std::get_if<format::Tensor>(&method_.values[static_cast<std::size_t>(value)]);
    if (tensor == nullptr) return kNoStep;  // a number or a text
    return add({GraphNode::Kind::Stored, stored_title(*tensor), type(value)});
  }

  static std::string stored_title(const format::Tensor& tensor) {
    const char* kind = tensor.allocation ? "state" : "constant";
    return tensor.name.empty() ? kind : fmt::format("{} {}", kind, tensor.name);
  }

  /// A reader of `value`: the box `reader`, which finds what reaches `step`.
  void connect(std::int32_t value, std::size_t step, std::uint32_t reader) {
    for (const std::uint32_t writer : definitions_.reaching(step, value)) {
      if (writer == reader) continue;  // its own earlier turn of a loop
      const std::uint32_t from = writer == Definitions::kStart ? start_node(value) : writer;
      if (from == kNoStep) continue;
      const auto [found, fresh] = net_of_.emplace(std::pair{from, value}, graph_.nets.size());
      if (fresh) {
        const bool labelled = writer != Definitions::kStart;  // the box says it already
        graph_.nets.push_back({.from = from, .label = labelled ? type(value) : "", .value = fmt::format("v{}", value)});
      }
      graph_.nets[found->second].to.push_back(reader);
    }
  }

  /// What steps leave in a mutable buffer is there in the next run.
  void keep_buffers() {
    for (std::size_t v = 0; v < method_.values.size(); ++v) {
      const auto value = static_cast<std::int32_t>(v);
      const auto* tensor = std::get_if<format::Tensor>(&method_.values[v]);
      if (tensor == nullptr || !tensor->allocation || !start_[v] || input_of_.count(value) != 0) continue;
      const std::vector<std::uint32_t> writers = definitions_.reaching(steps_.size(), value);
      if (std::all_of(writers.begin(), writers.end(), [](std::uint32_t w) { return w == Definitions::kStart; }))
        continue;
      const std::uint32_t kept = add({GraphNode::Kind::Stored, stored_title(*tensor), "for the next run"});
      for (const std::uint32_t writer : writers) {
        if (writer == Definitions::kStart) continue;
        graph_.nets.push_back({.from = writer, .to = {kept}, .label = type(value), .value = fmt::format("v{}", value)});
      }
    }
  }

  void add_jumps() {
    graph_.stretches.push_back(0);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const std::uint32_t target = steps_[i].jump;
      if (target == kNoStep) continue;
      graph_.stretches.push_back(i + 1);
      graph_.stretches.push_back(target);
      if (target < steps_.size()) graph_.nets.push_back({.from = i, .to = {target}, .jump = true});
    }
    std::sort(graph_.stretches.begin(), graph_.stretches.end());
    graph_.stretches.erase(std::unique(graph_.stretches.begin(), graph_.stretches.end()), graph_.stretches.end());
    while (graph_.stretches.size() > 1 && graph_.stretches.back() >= graph_.steps) graph_.stretches.pop_back();
  }

  const format::Method& method_;
  const std::vector<MethodStep>& steps_;
  std::vector<bool> start_;
  Definitions definitions_;
  MethodGraph graph_;
  std::map<std::int32_t, std::uint32_t> input_of_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::size_t> net_of_;
};

}  // namespace

std::string short_type(const format::ValueSpec& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(std::int64_t) const { return "int"; }
    std::string operator()(bool) const { return "bool"; }
    std::string operator()(double) const { return "double"; }
    std::string operator()(const format::Tensor& tensor) const {
      return fmt::format("{}[{}{}]", short_dtype(name_of(tensor.dtype)),
                         tensor.dynamism == format::ShapeDynamism::Static ? "" : "<=", fmt::join(tensor.sizes, ","));
    }
    std::string operator()(std::string_view) const { return "string"; }
    std::string operator()(const format::IntList&) const { return "int list"; }
    std::string operator()(const format::DoubleList&) const { return "double list"; }
    std::string operator()(const format::BoolList&) const { return "bool list"; }
    std::string operator()(const format::TensorList&) const { return "tensor list"; }
    std::string operator()(const format::OptionalTensorList&) const { return "tensor list"; }
  };
  return std::visit(Visitor{}, value);
}

Result<MethodGraph> make_graph(const format::Method& method) {
  TANDEM_TRY(const std::vector<MethodStep> steps, infer_steps(method));
  return GraphBuilder{method, steps}.run();
}

}  // namespace tandem::cli
