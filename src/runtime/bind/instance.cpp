#include "runtime/bind/instance.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::runtime {

Result<std::unique_ptr<Instance>> Instance::create(const Schedule& schedule, device::Device& device) {
  std::unique_ptr<Instance> instance{new Instance{schedule, device}};
  instance->copy_values();
  TANDEM_CHECK_OK(instance->allocate());
  TANDEM_TRY(instance->calls_, DelegateCalls::create(schedule, false));
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) instance->call_of_step_.push_back(instance->calls_.find(i));
  for (std::uint32_t v = 0; v < schedule.values.size(); ++v) {
    if (schedule.source_of(v) != v) instance->views_.push_back(v);
    if (schedule.values[v].reset) {
      instance->reset_.push_back(v);
      instance->initial_.push_back(instance->values_[v]);
    }
  }
  instance->initial_dims_ = instance->dims_;
  return instance;
}

/// The stored values with addresses of this instance: sizes and strides of its own, lists that point to its values.
void Instance::copy_values() {
  values_ = schedule_.stored;
  std::size_t dims = 0;
  for (const Argument& value : values_) dims += 2 * std::size_t{value.tensor.rank};
  dims_.resize(dims);
  list_items_.reserve(schedule_.list_items.size());
  for (Argument* item : schedule_.list_items) {
    list_items_.push_back(item == nullptr ? nullptr
                                          : &values_[static_cast<std::size_t>(item - schedule_.stored.data())]);
  }
  std::int64_t* next = dims_.data();
  for (std::size_t v = 0; v < values_.size(); ++v) {
    Argument& value = values_[v];
    if (!value.items.empty()) {
      value.items = {list_items_.data() + (value.items.data() - schedule_.list_items.data()), value.items.size()};
    }
    if (!value.is_tensor()) continue;
    const ArgumentSpec& spec = schedule_.values[v].spec;
    value.tensor.device = schedule_.values[v].device;
    value.tensor.sizes = next;
    value.tensor.strides = next + value.tensor.rank;
    next += 2 * std::size_t{value.tensor.rank};
    std::copy(spec.sizes.begin(), spec.sizes.end(), value.tensor.sizes);
    strides_from_dim_order(spec.sizes, spec.dim_order, value.tensor.stride_span());
  }
  args_.reserve(schedule_.args.size());
  for (const std::uint32_t arg : schedule_.args) args_.push_back(&values_[arg]);
}

bool Instance::on_device(DeviceId device) const noexcept {
  return schedule_.device != DeviceId{} && device == schedule_.device;
}

Result<device::Buffer> Instance::allocate(bool on_device, std::size_t bytes) {
  return on_device ? device_.allocate(bytes) : device_.allocate_staging(bytes);
}

Status Instance::allocate() {
  buffers_.resize(schedule_.buffers.size());
  input_copies_.resize(schedule_.inputs.size());
  input_stagings_.resize(schedule_.inputs.size());
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const BufferPlan& plan = schedule_.buffers[b];
    if (plan.kind != BufferPlan::Kind::Arena) continue;
    auto memory = allocate(on_device(plan.device), plan.bytes);
    if (!memory.ok()) {
      return std::move(memory)
          .error()
          .with_method(std::string{schedule_.method})
          .with_field("arena " + std::to_string(plan.memory_id));
    }
    buffers_[b] = *std::move(memory);
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const ValuePlan& plan = schedule_.values[v];
    if (!values_[v].is_tensor() || plan.place.buffer == kNone) continue;
    void*& data = values_[v].tensor.data;
    switch (schedule_.buffers[plan.place.buffer].kind) {
      case BufferPlan::Kind::Arena:
        data = buffers_[plan.place.buffer].data() + plan.place.offset;
        break;
      case BufferPlan::Kind::Constant:
        data = const_cast<std::byte*>(plan.constant);
        break;
      case BufferPlan::Kind::State:
      case BufferPlan::Kind::Input:
      case BufferPlan::Kind::Output:
        break;  // every run's own
    }
  }
  return {};
}

void Instance::begin(State* state) noexcept {
  for (std::size_t i = 0; i < reset_.size(); ++i) {
    Argument& value = values_[reset_[i]];
    value = initial_[i];
    if (!value.is_tensor()) continue;
    const std::ptrdiff_t at = value.tensor.sizes - dims_.data();
    std::copy_n(initial_dims_.data() + at, 2 * std::size_t{value.tensor.rank}, value.tensor.sizes);
  }
  state_ = state;
  if (state == nullptr) return;
  for (std::size_t s = 0; s < schedule_.states.size(); ++s) {
    values_[schedule_.states[s].value].tensor.data = state->memory()[s]->data();
  }
}

Result<std::byte*> Instance::input_copy(std::size_t index) {
  device::Buffer& copy = input_copies_[index];
  if (copy.data() == nullptr) {
    const ValuePlan& value = schedule_.values[schedule_.inputs[index].value];
    TANDEM_TRY(copy, allocate(on_device(value.device), value.place.bytes));
  }
  return copy.data();
}

Result<std::byte*> Instance::input_staging(std::size_t index, std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 18;
  if (!is_idle_ || bytes > kLarge) return nullptr;
  device::Buffer& staging = input_stagings_[index];
  if (staging.size() < bytes) {
    TANDEM_TRY(staging, device_.allocate_staging(bytes));
  }
  return staging.data();
}

Result<std::span<std::byte>> Instance::scratch(std::size_t step, std::size_t bytes) {
  const std::uint32_t slot = schedule_.scratch_slot(static_cast<std::uint32_t>(step));
  device::Buffer& scratch = slot == kNone ? scratch_.back() : scratch_[slot];
  if (scratch.data() == nullptr || scratch.size() < bytes) {
    TANDEM_TRY(scratch, allocate(/*on_device=*/slot != kNone, bytes));
  }
  return scratch.bytes();
}

}  // namespace tandem::runtime
