#include "runtime/state.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

/// One entry of one buffer that another one has as well, by name or place; null: none.
const BufferTensor* common(const HeldBuffer& a, const HeldBuffer& b) {
  for (const BufferTensor& tensor : a.tensors) {
    if (!tensor.name.empty() && std::ranges::find(b.tensors, tensor.name, &BufferTensor::name) != b.tensors.end()) {
      return &tensor;
    }
  }
  return nullptr;
}

/// Tells whether it is decided that both are buffers of their own.
bool are_apart(const HeldBuffer& a, const HeldBuffer& b, std::string_view name) {
  const auto is_own = [name](const HeldBuffer& one) { return one.rule.is_decided() && !one.rule.has(name); };
  return is_own(a) || is_own(b);
}

}  // namespace

std::uint64_t State::next_generation() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool State::is_needed(const Schedule& schedule) noexcept {
  return !schedule.states.empty() || std::ranges::any_of(schedule.delegates, &DelegatePlan::stateful);
}

Result<std::shared_ptr<State>> State::create(std::shared_ptr<const Schedule> schedule, device::Device& device,
                                             const std::shared_ptr<StateStore>& store, const SharedBuffers& rule) {
  std::shared_ptr<State> state{new State{std::move(schedule), device}};
  TANDEM_CHECK_OK(state->obtain_values(store.get(), rule));
  TANDEM_CHECK_OK(state->obtain_buffers(store.get(), rule));
  if (store != nullptr && !state->shared_buffer_.empty()) state->order_ = store->order();
  TANDEM_TRY(state->calls_, DelegateCalls::create(state->schedule(), true, state->delegate_memory_));
  state->store_ = store;
  if (store != nullptr) store->add(state);
  return state;
}

Status State::hold(StateStore* store, StateMemory::Home home, std::size_t bytes, std::span<const std::byte> initial,
                   HeldBuffer buffer) {
  buffer.method = schedule_->method;
  if (store != nullptr) {
    TANDEM_TRY(const bool is_shared, store->obtain(device_, home, bytes, initial, buffer));
    if (is_shared && shared_buffer_.empty()) shared_buffer_ = describe(buffer);
  } else {
    TANDEM_TRY(buffer.memory, StateMemory::create(device_, home, bytes, initial));
  }
  held_.push_back(std::move(buffer));
  return {};
}

Status State::obtain_values(StateStore* store, const SharedBuffers& rule) {
  for (const StatePlan& plan : schedule_->states) {
    const ValuePlan& value = schedule_->values[plan.value];
    HeldBuffer buffer;
    std::vector<std::int64_t> strides(value.spec.sizes.size());
    strides_from_dim_order(value.spec.sizes, value.spec.dim_order, strides);
    buffer.tensors.push_back({.name = std::string{value.name},
                              .dtype = value.spec.dtype,
                              .sizes = {value.spec.sizes.begin(), value.spec.sizes.end()},
                              .strides = std::move(strides)});
    if (plan.shared) buffer.place = value.planned_offset;
    buffer.rule = rule;
    const auto home = value.device != DeviceId{} ? StateMemory::Home::Device : StateMemory::Home::Staging;
    if (Status held = hold(store, home, value.place.bytes, value.initial, std::move(buffer)); !held.ok()) {
      return std::move(held)
          .error()
          .with_method(std::string{schedule_->method})
          .with_value(static_cast<int>(plan.value))
          .with_key(std::string{value.name});
    }
    memory_.push_back(held_.back().memory);
  }
  return {};
}

Status State::obtain_buffers(StateStore* store, const SharedBuffers& rule) {
  delegate_memory_.resize(schedule_->delegates.size());
  for (std::uint32_t d = 0; d < delegate_memory_.size(); ++d) {
    const DelegatePlan& plan = schedule_->delegates[d];
    if (!plan.stateful) continue;
    renews_contexts_ = renews_contexts_ || plan.buffers.empty();
    for (const MutableBuffer& wanted : plan.buffers) {
      HeldBuffer buffer;
      buffer.delegate = d;
      buffer.tensors = wanted.tensors;
      buffer.rule = !rule.is_decided() && plan.shares_buffers ? SharedBuffers::all() : rule;
      auto home = StateMemory::Home::Device;
      if (schedule_->device == DeviceId{}) {
        home = StateMemory::Home::Staging;
      } else if (wanted.on_host || plan.on_host) {
        home = StateMemory::Home::Host;
      }
      if (Status held = hold(store, home, wanted.initial.size(), wanted.initial, std::move(buffer)); !held.ok()) {
        return std::move(held)
            .error()
            .with_method(std::string{schedule_->method})
            .with_backend(std::string{plan.backend_id}, static_cast<int>(d));
      }
      delegate_memory_[d].push_back(held_.back().memory);
    }
  }
  return {};
}

Status State::reset() {
  const base::FairLock turn{order_->gate};
  TANDEM_CHECK_OK(order_->uses.synchronize());
  if (renews_contexts_) {
    TANDEM_TRY(DelegateCalls fresh, DelegateCalls::create(*schedule_, true, delegate_memory_));
    calls_ = std::move(fresh);
    generation_ = next_generation();
  }
  for (const HeldBuffer& buffer : held_) TANDEM_CHECK_OK(buffer.memory->reset());
  indeterminate_ = false;
  order_->indeterminate = false;
  return {};
}

void State::mark_indeterminate() noexcept {
  indeterminate_ = true;
  order_->indeterminate = true;
}

bool State::may_be_linked() const noexcept {
  return std::ranges::any_of(held_, [](const HeldBuffer& buffer) {
    return buffer.place || std::ranges::any_of(buffer.tensors, [](const auto& tensor) { return !tensor.name.empty(); });
  });
}

std::vector<std::string> State::link(const std::shared_ptr<State>& a, const std::shared_ptr<State>& b) {
  std::vector<std::string> undecided;
  for (std::size_t i = 0; i < a->held_.size(); ++i) {
    for (std::size_t j = 0; j < b->held_.size(); ++j) {
      const HeldBuffer& mine = a->held_[i];
      const HeldBuffer& theirs = b->held_[j];
      if (mine.memory == theirs.memory) continue;
      const bool same_place = mine.place && theirs.place && *mine.place == *theirs.place;
      const BufferTensor* const tensor = common(mine, theirs);
      if (!same_place && (tensor == nullptr || are_apart(mine, theirs, tensor->name))) continue;
      // If methods share a buffer of the program, its planner has said so.
      if (!same_place && mine.delegate == kNone && theirs.delegate == kNone) continue;
      if (!same_place && !mine.rule.is_decided() && !theirs.rule.is_decided()) undecided.push_back(tensor->name);
      const std::scoped_lock lock{a->mutex_, b->mutex_};
      a->links_.push_back({b, i, j, 0});
      b->links_.push_back({a, j, i, 0});
      a->is_linked_.store(true, std::memory_order_release);
      b->is_linked_.store(true, std::memory_order_release);
    }
  }
  return undecided;
}

Error State::missed(const HeldBuffer& mine, const HeldBuffer& changed) const {
  const BufferTensor* const tensor = common(mine, changed);
  if (store_ != nullptr) store_->warn_once();
  const bool is_decided = tensor == nullptr || mine.rule.has(tensor->name) || changed.rule.has(tensor->name);
  Error error{ErrorCode::InvalidState,
              is_decided
                  ? "a buffer that the method shares was changed by a method that was loaded apart. Load both by "
                    "one Module"
                  : "a buffer of the same name was changed, and nothing says whether both are one. " +
                        std::string{kHowToDecide}};
  error = std::move(error)
              .with_method(std::string{schedule_->method})
              .with_expected(describe(mine) + " and " + describe(changed) + " with equal contents",
                             describe(changed) + " changed");
  return tensor == nullptr ? error : std::move(error).with_key(tensor->name);
}

Status State::check_others(bool may_block) {
  std::vector<Link> links;
  {
    const std::scoped_lock lock{mutex_};
    std::erase_if(links_, [](const Link& link) { return link.other.expired(); });
    links = links_;
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::shared_ptr<State> other = links[i].other.lock();
    if (other == nullptr || other->executions() == links[i].verified) continue;
    base::FairGate& gate = other->order_->gate;
    if (may_block) {
      gate.enter();
    } else if (!gate.try_enter()) {
      return Error{ErrorCode::InvalidState, "the method is called from within an execution whose buffers it may share"}
          .with_method(std::string{schedule_->method})
          .with_expected(describe(held_[links[i].mine]), describe(other->held_[links[i].theirs]));
    }
    const std::uint64_t executions = other->executions();
    Result<bool> initial = true;
    if (Status over = other->order_->uses.synchronize(); !over.ok()) {
      initial = std::move(over).error();
    } else {
      initial = other->held_[links[i].theirs].memory->is_initial();
    }
    gate.leave();
    TANDEM_TRY(const bool is_initial, std::move(initial));
    if (!is_initial) return missed(held_[links[i].mine], other->held_[links[i].theirs]);
    const std::scoped_lock lock{mutex_};
    for (Link& link : links_) {
      if (link.mine == links[i].mine && link.theirs == links[i].theirs && link.other.lock() == other) {
        link.verified = executions;
      }
    }
  }
  return {};
}

}  // namespace tandem::runtime
