#include "bench/suite/raw_model.h"

#include <algorithm>

namespace tandem::suite {

Bytes spoiled(std::size_t bytes) {
  Bytes all(bytes, std::byte{0xFF});  // a NaN in every float
  return all;
}

Result<RawModel> RawModel::create(Machine& machine, const Model& model) {
  RawModel made{machine, model};
  for (const ModelValue& value : model.values()) {
    TANDEM_TRY(auto memory, machine.allocate(value.bytes()));
    made.memory_.push_back(std::move(memory));
    TANDEM_CHECK_OK(made.set(made.memory_.size() - 1, Bytes(value.bytes())));
  }
  for (const ModelCall& call : model.calls()) {
    const std::vector<float>& weights = call.plan.weights;
    TANDEM_TRY(auto of_weights, machine.allocate(weights.size() * sizeof(float)));
    if (!weights.empty()) {
      TANDEM_CHECK_OK(machine.copy_now(of_weights.get(), weights.data(), weights.size() * sizeof(float)));
    }
    made.weights_.push_back(std::move(of_weights));
    TANDEM_TRY(auto of_scratch, machine.allocate(call.plan.scratch_floats * sizeof(float)));
    made.scratch_.push_back(std::move(of_scratch));
  }
  return made;
}

std::vector<KernelCall> RawModel::calls_of(std::size_t call, std::int64_t rows) const {
  const ModelCall& plan = model_.calls()[call];
  std::vector<void*> addresses;
  for (const std::size_t value : plan.arguments) addresses.push_back(memory(value));
  const ModelValue& first = model_.values()[plan.arguments.front()];
  const Bindings bindings{.arguments = addresses,
                          .weights = static_cast<const float*>(weights_[call].get()),
                          .scratch = static_cast<float*>(scratch_[call].get()),
                          .rows = first.dynamic && rows != 0 ? rows : first.sizes.front()};
  std::vector<KernelCall> calls;
  for (const KernelSpec& spec : plan.plan.kernels) calls.push_back(resolve(spec, bindings));
  return calls;
}

std::vector<KernelCall> RawModel::calls(std::int64_t rows) const {
  std::vector<KernelCall> all;
  for (std::size_t c = 0; c < model_.calls().size(); ++c) {
    const std::vector<KernelCall> some = calls_of(c, rows);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<RawNode> RawModel::nodes(std::int64_t rows) const {
  std::vector<RawNode> nodes;
  // By value: the node that wrote it last. Buffers are not shared, so nothing else orders calls, but for states, whose
  // every use is an update.
  std::vector<std::optional<std::uint32_t>> writer(model_.values().size());
  for (std::size_t c = 0; c < model_.calls().size(); ++c) {
    const ModelCall& plan = model_.calls()[c];
    bool is_first = true;
    for (const KernelCall& call : calls_of(c, rows)) {
      RawNode& node = nodes.emplace_back(RawNode{.call = call});
      if (!is_first) node.after.push_back(static_cast<std::uint32_t>(nodes.size() - 2));
      for (const std::size_t value : plan.arguments) {
        const auto& wrote = writer[value];
        if (is_first && wrote && std::ranges::find(node.after, *wrote) == node.after.end())
          node.after.push_back(*wrote);
      }
      is_first = false;
    }
    if (is_first) continue;
    for (std::size_t a = 0; a < plan.arguments.size(); ++a) {
      if (plan.plan.accesses[a] != AccessMode::Read) {
        writer[plan.arguments[a]] = static_cast<std::uint32_t>(nodes.size() - 1);
      }
    }
  }
  return nodes;
}

std::vector<RawNode> RawModel::chain(std::span<const KernelCall> calls) {
  std::vector<RawNode> nodes;
  for (const KernelCall& call : calls) {
    RawNode& node = nodes.emplace_back(RawNode{.call = call});
    if (nodes.size() > 1) node.after.push_back(static_cast<std::uint32_t>(nodes.size() - 2));
  }
  return nodes;
}

Status RawModel::set(std::size_t value, std::span<const std::byte> bytes) {
  return machine_->copy_now(memory(value), bytes.data(), bytes.size());
}

Result<Bytes> RawModel::get(std::size_t value, std::size_t bytes) const {
  Bytes all(bytes);
  TANDEM_CHECK_OK(machine_->copy_now(all.data(), memory(value), bytes));
  return all;
}

Status RawModel::spoil_output() { return set(model_.output(), spoiled(model_.values()[model_.output()].bytes())); }

}  // namespace tandem::suite
