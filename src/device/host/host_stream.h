#pragma once

#include "device/host/host_event.h"
#include "device/stream.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tandem::device {

/// What the streams of the host device have in common: a number, and checks of what they are given.
class HostStream : public Stream {
 public:
  HostStream() noexcept;
  [[nodiscard]] StreamId id() const noexcept final { return {{}, number_}; }
  [[nodiscard]] Status may_wait() const final { return WorkScope::may_wait(); }
  [[nodiscard]] Stream& within_work() noexcept final;
  [[nodiscard]] Status record(Event& event) final;
  [[nodiscard]] Status wait(const Event& event) final;
  [[nodiscard]] Status synchronize() final;
  void report(Status status) noexcept final;
  [[nodiscard]] Result<tandem::Event> make_event() final { return tandem::Event{new HostEvent}; }

 private:
  virtual void mark(HostEvent& event) = 0;
  /// Precondition: the event has a timeline.
  virtual Status wait_for(const HostEvent& event) = 0;

  /// Blocks until everything so far is done. Errors: InvalidState.
  virtual Status drain() = 0;

  std::uint64_t number_;
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;
  Status failure_{};
};

}  // namespace tandem::device
