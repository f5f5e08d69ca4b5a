#pragma once

#include "device/host/seeded_host.h"
#include "runtime/order/history.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem::testing {

/// A seeded host that writes down what executions do on its streams, for the order check, and can spoil their waits.
///
/// Bytes are named by their addresses, all in buffer 0. For one thread.
class RecordingDevice final : public device::Device {
 public:
  explicit RecordingDevice(std::uint64_t seed) : inner_{seed} {}

  /// What becomes of the waits of streams: nothing; they are dropped; each waits for the event that was recorded before
  /// the wanted one.
  enum class Fault : std::uint8_t { None, DropWait, StaleWait };
  void plant(Fault fault) noexcept { fault_ = fault; }
  /// The next work that a caller submits touches these bytes.
  void announce(const void* data, std::size_t bytes, AccessMode mode);
  /// The host has waited for `event`; it does that without asking a stream.
  void waited_for(const tandem::Event& event);
  /// The conflicts of everything so far.
  [[nodiscard]] std::vector<runtime::Unordered> conflicts() const;
  /// What the action with this label was: "execution 3", "caller's work".
  [[nodiscard]] const std::string& name_of(std::uint32_t label) const { return names_[label]; }

  [[nodiscard]] DeviceId id() const noexcept override { return {}; }
  [[nodiscard]] Result<device::Buffer> allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  [[nodiscard]] device::Stream& thread_stream() noexcept override;
  [[nodiscard]] Result<std::unique_ptr<device::Stream>> make_stream() override;

 private:
  class RecordingStream;
  struct Entry {
    runtime::Action action{};
    std::vector<runtime::ByteAccess> accesses{};
  };
  void free(std::byte* /*data*/) noexcept override {}
  /// What is waited for instead of `wanted`; null: nothing.
  const device::Event* spoilt(const device::Event& wanted) const;
  std::uint32_t event_number(const device::Event& event);
  void add(runtime::Action::Kind kind, std::uint32_t stream, std::uint32_t event);
  void add_work(std::uint32_t stream, device::Stream::Work work, void* data);

  device::SeededHost inner_;
  Fault fault_ = Fault::None;
  std::deque<Entry> history_{};
  std::vector<std::string> names_{};
  std::vector<runtime::ByteAccess> announced_{};
  std::map<const device::Event*, std::uint32_t> events_{};
  std::vector<tandem::Event> recorded_{};
  std::map<std::thread::id, std::unique_ptr<device::Stream>> of_threads_{};
  std::uint32_t streams_ = 0;
  std::uint32_t executions_ = 0;
};

}  // namespace tandem::testing
