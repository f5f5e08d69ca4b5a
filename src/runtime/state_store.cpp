#include "runtime/state_store.h"

#include "base/log.h"
#include "base/text.h"
#include "runtime/state.h"

#include <algorithm>
#include <utility>

namespace tandem::runtime {
namespace {

std::string describe(const BufferTensor& tensor) {
  return std::string{name_of(tensor.dtype)} + base::text_of(std::span{tensor.sizes}) + ", strides " +
         base::text_of(std::span{tensor.strides}) +
         (tensor.offset != 0 ? ", offset " + std::to_string(tensor.offset) : "");
}

bool same_layout(const BufferTensor& a, const BufferTensor& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset;
}

Error disagree(ErrorCode code, const HeldBuffer& buffer, const HeldBuffer& known, std::string what,
               std::string expected, std::string found) {
  Error error{code, "one buffer of two methods or delegates has " + std::move(what)};
  error = std::move(error).with_expected(runtime::describe(known) + ": " + std::move(expected),
                                         runtime::describe(buffer) + ": " + std::move(found));
  if (!buffer.tensors.empty() && !buffer.tensors.front().name.empty()) {
    error = std::move(error).with_key(buffer.tensors.front().name);
  }
  return error;
}

std::string undecided_text(const std::string& names) {
  return "methods have mutable buffers of the same names (" + names +
         "), and nothing says whether these are one; each has its own, and an execution that would miss a change is "
         "refused. " +
         std::string{kHowToDecide};
}

Status check_agreement(const HeldBuffer& known, const HeldBuffer& buffer, StateMemory::Home home, std::size_t bytes,
                       std::span<const std::byte> initial) {
  if (known.memory->home() != home) {
    const auto text = [](StateMemory::Home where) {
      return std::string{where == StateMemory::Home::Device ? "memory of the device" : "memory of the host"};
    };
    return disagree(ErrorCode::NotSupported, buffer, known, "memory in two places", text(known.memory->home()),
                    text(home));
  }
  for (const BufferTensor& mine : buffer.tensors) {
    const auto theirs = std::ranges::find(known.tensors, mine.name, &BufferTensor::name);
    if (mine.name.empty() || theirs == known.tensors.end() || same_layout(mine, *theirs)) continue;
    return disagree(ErrorCode::InvalidProgram, buffer, known, "two dtypes, sizes or strides", describe(*theirs),
                    describe(mine));
  }
  if (known.memory->bytes().size() != bytes) {
    return disagree(ErrorCode::InvalidProgram, buffer, known, "two sizes",
                    std::to_string(known.memory->bytes().size()) + " bytes", std::to_string(bytes) + " bytes");
  }
  if (!known.memory->begins_as(initial)) {
    return disagree(ErrorCode::InvalidProgram, buffer, known, "two initial contents", "its own", "others");
  }
  return {};
}

}  // namespace

std::string describe(const HeldBuffer& buffer) {
  std::string text = buffer.method + ":";
  for (std::size_t i = 0; i < buffer.tensors.size(); ++i) text += (i == 0 ? "" : ",") + buffer.tensors[i].name;
  if (buffer.tensors.empty() || buffer.tensors.front().name.empty()) text += "(unnamed)";
  if (buffer.delegate != kNone) return text + " (delegate " + std::to_string(buffer.delegate) + ")";
  return buffer.place ? text + " (offset " + std::to_string(*buffer.place) + " of the shared arena)" : text;
}

const HeldBuffer* StateStore::find(const HeldBuffer& buffer) const {
  if (buffer.place) {
    if (const auto found = by_place_.find(*buffer.place); found != by_place_.end()) return found->second.get();
  }
  for (const BufferTensor& tensor : buffer.tensors) {
    if (!buffer.place && !buffer.rule.has(tensor.name)) continue;
    if (const auto found = by_name_.find(tensor.name); found != by_name_.end()) return found->second.get();
  }
  return nullptr;
}

Result<bool> StateStore::obtain(device::Device& device, StateMemory::Home home, std::size_t bytes,
                                std::span<const std::byte> initial, HeldBuffer& buffer) {
  const bool is_shared =
      shares_ && (buffer.place.has_value() || std::ranges::any_of(buffer.tensors, [&](const auto& tensor) {
                    return buffer.rule.has(tensor.name);
                  }));
  if (!is_shared) {
    TANDEM_TRY(buffer.memory, StateMemory::create(device, home, bytes, initial));
    return false;
  }
  const std::scoped_lock lock{mutex_};
  if (const HeldBuffer* const known = find(buffer); known != nullptr) {
    TANDEM_CHECK_OK(check_agreement(*known, buffer, home, bytes, initial));
    buffer.memory = known->memory;
  } else {
    TANDEM_TRY(buffer.memory, StateMemory::create(device, home, bytes, initial));
  }
  const auto kept = std::make_shared<const HeldBuffer>(buffer);
  if (buffer.place) by_place_.try_emplace(*buffer.place, kept);
  for (const BufferTensor& tensor : buffer.tensors) {
    if (tensor.name.empty() || !(buffer.place || buffer.rule.has(tensor.name))) continue;
    const auto [entry, is_new] = by_name_.try_emplace(tensor.name, kept);
    if (entry->second->memory == buffer.memory) continue;
    return disagree(ErrorCode::InvalidProgram, buffer, *entry->second, "names that are one storage here and two there",
                    "a storage of its own", "one with others");
  }
  return true;
}

void StateStore::add(const std::shared_ptr<State>& state) {
  if (!state->may_be_linked()) return;
  const std::scoped_lock lock{mutex_};
  std::erase_if(states_, [](const auto& known) { return known.expired(); });
  std::vector<std::string> names;
  for (const auto& known : states_) {
    const std::shared_ptr<State> other = known.lock();
    if (other == nullptr || other->schedule().method == state->schedule().method) continue;
    std::ranges::move(State::link(state, other), std::back_inserter(names));
  }
  states_.push_back(state);
  std::string fresh;
  for (std::string& name : names) {
    if (std::ranges::find(undecided_, name) != undecided_.end()) continue;
    fresh += (fresh.empty() ? "" : ", ") + name;
    undecided_.push_back(std::move(name));
  }
  if (fresh.empty()) return;
  base::log(LogLevel::Info, undecided_text(fresh));
}

void StateStore::warn_once() {
  std::string names;
  {
    const std::scoped_lock lock{mutex_};
    if (undecided_.empty() || std::exchange(has_warned_, true)) return;
    for (const std::string& name : undecided_) names += (names.empty() ? "" : ", ") + name;
  }
  base::log(LogLevel::Warning, undecided_text(names));
}

std::vector<std::string> StateStore::undecided() const {
  const std::scoped_lock lock{mutex_};
  return undecided_;
}

}  // namespace tandem::runtime
