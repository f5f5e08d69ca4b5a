#include "support/recording_device.h"

#include "device/tensor_impl.h"
#include "runtime/execute/lane.h"

#include <utility>

namespace tandem::testing {

using runtime::Action;
using runtime::ByteAccess;

namespace {

ByteAccess bytes_at(const void* data, std::size_t bytes, AccessMode mode) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {.buffer = 0, .begin = begin, .end = begin + bytes, .mode = mode};
}

/// An execution has its instance and its state to itself, reads its inputs and writes its outputs.
std::vector<ByteAccess> accesses_of(runtime::Run& run) {
  std::vector<ByteAccess> accesses{bytes_at(&run.instance(), 1, AccessMode::Update)};
  if (run.state() != nullptr) {
    for (const auto& memory : run.state()->memory()) {
      accesses.push_back(bytes_at(memory->data(), memory->bytes().size(), AccessMode::Update));
    }
  }
  for (const Value& input : run.inputs()) {
    if (input.is_tensor()) {
      accesses.push_back(bytes_at(input.tensor().data(), input.tensor().impl()->capacity_bytes, AccessMode::Read));
    }
  }
  for (const Tensor& target : run.written()) {
    if (target.defined()) {
      accesses.push_back(bytes_at(target.data(), target.impl()->capacity_bytes, AccessMode::Write));
    }
  }
  return accesses;
}

}  // namespace

class RecordingDevice::RecordingStream final : public device::Stream {
 public:
  RecordingStream(RecordingDevice& device, std::unique_ptr<device::Stream> inner)
      : device_{device}, inner_{std::move(inner)}, number_{device.streams_++} {}

  device::StreamId id() const noexcept override { return inner_->id(); }
  bool interleaves() const noexcept override { return true; }
  Status may_wait() const override { return inner_->may_wait(); }
  device::Stream& within_work() noexcept override { return inner_->within_work(); }
  Status submit(Work work, void* data, std::uint32_t index) override {
    device_.add_work(number_, work, data);
    return inner_->submit(work, data, index);
  }
  Status fill(void* to, std::byte value, std::size_t bytes) override { return inner_->fill(to, value, bytes); }
  Status copy(void* to, const void* from, std::size_t bytes) override { return inner_->copy(to, from, bytes); }
  Status record(device::Event& event) override {
    device_.add(Action::Kind::Record, number_, device_.event_number(event));
    event.retain();
    device_.recorded_.emplace_back(&event);
    return inner_->record(event);
  }
  Status wait(const device::Event& event) override {
    const device::Event* const now = device_.spoilt(event);
    if (now == nullptr) return {};
    device_.add(Action::Kind::Wait, number_, device_.event_number(*now));
    return inner_->wait(*now);
  }
  Status synchronize() override {
    device_.add(Action::Kind::HostWaitStream, number_, 0);
    return inner_->synchronize();
  }
  Result<tandem::Event> make_event() override { return inner_->make_event(); }

 private:
  RecordingDevice& device_;
  std::unique_ptr<device::Stream> inner_;
  std::uint32_t number_;
};

const device::Event* RecordingDevice::spoilt(const device::Event& wanted) const {
  if (fault_ == Fault::None) return &wanted;
  if (fault_ == Fault::DropWait) return nullptr;
  const device::Event* before = nullptr;
  for (const tandem::Event& event : recorded_) {
    if (event.impl() == &wanted) return before;
    before = event.impl();
  }
  return nullptr;
}

void RecordingDevice::announce(const void* data, std::size_t bytes, AccessMode mode) {
  announced_.push_back(bytes_at(data, bytes, mode));
}

void RecordingDevice::waited_for(const tandem::Event& event) {
  add(Action::Kind::HostWaitEvent, 0, event_number(*event.impl()));
}

std::vector<runtime::Unordered> RecordingDevice::conflicts() const {
  std::vector<Action> actions;
  for (const Entry& entry : history_) {
    actions.push_back(entry.action);
    actions.back().accesses = entry.accesses;
  }
  return runtime::find_unordered(actions);
}

device::Stream& RecordingDevice::thread_stream() noexcept {
  auto& stream = of_threads_[std::this_thread::get_id()];
  if (stream == nullptr) stream = *make_stream();
  return *stream;
}

Result<std::unique_ptr<device::Stream>> RecordingDevice::make_stream() {
  TANDEM_TRY(auto inner, inner_.make_stream());
  return std::unique_ptr<device::Stream>{std::make_unique<RecordingStream>(*this, std::move(inner))};
}

std::uint32_t RecordingDevice::event_number(const device::Event& event) {
  return events_.try_emplace(&event, static_cast<std::uint32_t>(events_.size())).first->second;
}

void RecordingDevice::add(Action::Kind kind, std::uint32_t stream, std::uint32_t event) {
  history_.push_back({.action = {.kind = kind, .stream = stream, .event = event}});
}

void RecordingDevice::add_work(std::uint32_t stream, device::Stream::Work work, void* data) {
  const bool is_execution = work == &runtime::EnqueuedRun::work;
  Entry entry;
  entry.action = {.kind = Action::Kind::Submit, .stream = stream, .label = static_cast<std::uint32_t>(names_.size())};
  entry.accesses =
      is_execution ? accesses_of(static_cast<runtime::EnqueuedRun*>(data)->run) : std::exchange(announced_, {});
  names_.push_back(is_execution ? "execution " + std::to_string(executions_++) : "caller's work");
  history_.push_back(std::move(entry));
}

}  // namespace tandem::testing
