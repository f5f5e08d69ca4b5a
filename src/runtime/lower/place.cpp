#include "runtime/lower/lower.h"
#include "runtime/order/flow.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

class Placer {
 public:
  Placer(const LowerInput& input, Schedule& schedule) : input_{input}, schedule_{schedule} {}

  Status run() {
    TANDEM_CHECK_OK(read_interface());
    TANDEM_CHECK_OK(find_states());
    note_alignment();
    place_values();
    return check_writes();
  }

 private:
  ValuePlan& plan(std::uint32_t value) { return schedule_.values[value]; }
  bool is_tensor(std::uint32_t value) const { return schedule_.stored[value].is_tensor(); }

  Error invalid(std::string message, std::uint32_t value) const {
    return Error{ErrorCode::InvalidProgram, std::move(message)}
        .with_method(std::string{schedule_.method})
        .with_value(static_cast<int>(value));
  }

  static bool crosses(Argument::Kind kind) {
    switch (kind) {
      case Argument::Kind::None:
      case Argument::Kind::Tensor:
      case Argument::Kind::Int:
      case Argument::Kind::Double:
      case Argument::Kind::Bool:
      case Argument::Kind::String:
        return true;
      default:
        return false;
    }
  }

  Status read_interface() {
    is_input_.resize(schedule_.values.size());
    is_output_.resize(schedule_.values.size());
    for (const std::int32_t index : input_.method.inputs) {
      const auto value = static_cast<std::uint32_t>(index);
      if (is_input_[value]) return invalid("a value is two inputs", value);
      if (plan(value).constant != nullptr) return invalid("an input is a constant", value);
      if (!crosses(schedule_.stored[value].kind)) return invalid("an input is a list", value);
      is_input_[value] = true;
      schedule_.inputs.push_back({.value = value});
    }
    for (const std::int32_t index : input_.method.outputs) {
      const auto value = static_cast<std::uint32_t>(index);
      if (!crosses(schedule_.stored[value].kind)) return invalid("an output is a list", value);
      is_output_[value] = true;
      schedule_.outputs.push_back(value);
    }
    return {};
  }

  /// States are the planned values that the file names, initialises, or plans where methods share them (its mutable
  /// buffers: another method may read what this one only writes), and those that a run may read before it wrote them.
  Status find_states() {
    is_state_.resize(schedule_.values.size());
    freed_.resize(schedule_.values.size());
    for (std::uint32_t v = 0; v < schedule_.values.size(); ++v) {
      const bool named = !plan(v).name.empty() && plan(v).planned_memory_id != 0;
      const bool outlives = named || plan(v).is_shared || !plan(v).initial.empty();
      if (outlives && !is_input_[v] && is_tensor(v) && schedule_.source_of(v) == v) is_state_[v] = true;
    }
    const std::vector<Block> blocks = find_blocks(schedule_);
    TANDEM_TRY(const Definitions definitions, find_definitions(schedule_, blocks));
    std::vector<bool> defined(schedule_.values.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t v = 0; v < defined.size(); ++v) defined[v] = definitions.must.has(b, v);
      for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
        TANDEM_CHECK_OK(follow(schedule_.steps[i], defined));
      }
      if (std::find(blocks[b].next.begin(), blocks[b].next.end(), blocks.size()) == blocks[b].next.end()) continue;
      for (const std::uint32_t output : schedule_.outputs) {
        const std::uint32_t value = schedule_.source_of(output);
        if (is_tensor(value) && !defined[value])
          TANDEM_CHECK_OK(exposed(value, {.method = std::string{schedule_.method}}));
      }
    }
    return {};
  }

  Status follow(const Step& step, std::vector<bool>& defined) {
    Status status;
    const auto read = [&](std::uint32_t value) {
      if (!defined[value] && status.ok()) status = exposed(value, site_of(schedule_, step));
    };
    if (step.kind == Step::Kind::Free) {
      const std::uint32_t value = schedule_.args_of(step)[0];
      defined[value] = false;
      freed_[value] = true;
    }
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (reads(mode)) read(value);
      const std::uint32_t source = schedule_.source_of(schedule_.args_of(step)[0]);
      if (mode == OpAccess::Alias && is_tensor(source)) read(source);
    });
    for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
      if (writes(mode) || mode == OpAccess::Alias) defined[value] = true;
    });
    return status;
  }

  /// A read of `value` that no earlier step of the run need have written.
  Status exposed(std::uint32_t value, const ErrorSite& site) {
    if (is_state_[value]) return {};
    if (freed_[value]) {
      return invalid("a value may be read after it was freed", value).with_site(site);
    }
    if (plan(value).planned_memory_id == 0) {
      return invalid("a value is read that nothing wrote and that has no memory", value).with_site(site);
    }
    is_state_[value] = true;
    return {};
  }

  std::uint32_t add_buffer(BufferPlan buffer) {
    schedule_.buffers.push_back(buffer);
    return static_cast<std::uint32_t>(schedule_.buffers.size() - 1);
  }

  void give_own_buffer(std::uint32_t value, BufferPlan::Kind kind) {
    const std::uint32_t id = plan(value).planned_memory_id;
    const DeviceId wanted = id != 0 ? input_.method.arenas[id].device : DeviceId{};
    const DeviceId device = schedule_.device == DeviceId{} ? wanted : plan(value).device;
    plan(value).place.buffer =
        add_buffer({.kind = kind, .bytes = plan(value).place.bytes, .device = device, .memory_id = id, .value = value});
    plan(value).place.offset = 0;
  }

  void note_alignment() {
    for (const Step& step : schedule_.steps) {
      if (step.kind != Step::Kind::Delegate) continue;
      for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess /*mode*/) {
        for (const std::uint32_t root : plan(value).roots) {
          plan(root).alignment = std::max(plan(root).alignment, schedule_.delegates[step.target].alignment);
        }
      });
    }
  }

  void place_values() {
    bool view_has_state = false;
    for (std::uint32_t v = 0; v < schedule_.values.size(); ++v) {
      if (!is_tensor(v)) continue;
      const bool is_view = plan(v).roots != std::vector<std::uint32_t>{v};
      const bool owns_bytes = std::binary_search(plan(v).roots.begin(), plan(v).roots.end(), v);
      if (plan(v).constant != nullptr) {
        give_own_buffer(v, BufferPlan::Kind::Constant);
      } else if (is_input_[v]) {
        give_own_buffer(v, BufferPlan::Kind::Input);
      } else if (is_state_[v]) {
        view_has_state = view_has_state || !owns_bytes;
        give_own_buffer(v, BufferPlan::Kind::State);
        schedule_.states.push_back({.value = v, .shared = plan(v).is_shared});
      } else if (is_output_[v] && !is_view) {
        give_own_buffer(v, BufferPlan::Kind::Output);
      }
    }
    if (view_has_state) find_roots(schedule_);
  }

  /// Constants are mapped read-only, and the caller's input memory is not ours to write.
  Status check_writes() {
    for (const Step& step : schedule_.steps) {
      Status status;
      for_each_tensor(schedule_, step, [&](std::uint32_t value, OpAccess mode) {
        if (!writes(mode)) return;
        for (const std::uint32_t root : plan(value).roots) {
          if (plan(root).constant != nullptr && status.ok()) {
            status = invalid("a step writes to a constant", root).with_site(site_of(schedule_, step));
          }
          for (InputPlan& input : schedule_.inputs) input.copied = input.copied || input.value == root;
        }
      });
      TANDEM_CHECK_OK(std::move(status));
    }
    return {};
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::vector<bool> is_input_{};
  std::vector<bool> is_output_{};
  std::vector<bool> is_state_{};
  std::vector<bool> freed_{};
};

}  // namespace

Status place(const LowerInput& input, Schedule& schedule) { return Placer{input, schedule}.run(); }

}  // namespace tandem::runtime
