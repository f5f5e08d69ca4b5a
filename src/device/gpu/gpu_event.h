#pragma once

#include "base/wait_point.h"
#include "device/event.h"
#include "device/gpu/context.h"

#include <tandem/event.h>
#include <tandem/result.h>

#include <atomic>
#include <memory>

namespace tandem::device::gpu {

/// An untimed event of a GPU, or one that is held: pending until somebody signals it, which no GPU can see. A stream
/// that waits for a held event therefore makes the host wait.
///
/// Lifetime: the context outlives it.
template <GpuApi Api>
class GpuEvent final : public Event {
 public:
  using Handle = typename Api::Event;

  /// Not recorded yet. Errors: OutOfMemory; as Context::usable().
  [[nodiscard]] static Result<tandem::Event> create(Context<Api>& context) {
    Handle handle{};
    TANDEM_CHECK_OK(context.run_relaxed("an event cannot be made", [&handle] { return Api::event_create(&handle); }));
    return tandem::Event{new GpuEvent{context, handle, /*is_owned=*/true}};
  }
  /// An event of the caller's, recorded or not.
  /// Lifetime: the handle outlives the Event and what waits for it.
  [[nodiscard]] static tandem::Event borrow(Context<Api>& context, Handle handle) {
    auto* const event = new GpuEvent{context, handle, /*is_owned=*/false};
    event->state_.store(State::Recorded, std::memory_order_relaxed);
    return tandem::Event{event};
  }
  ~GpuEvent() override {
    if (is_owned_) {
      context_.close("an event cannot be destroyed", [this] { return Api::event_destroy(handle_); });
    }
  }

  [[nodiscard]] Handle handle() const noexcept { return handle_; }
  [[nodiscard]] bool is_held() const noexcept { return state() == State::Held; }
  /// Whether the GPU knows of it: otherwise it is done or held, and the host knows which.
  [[nodiscard]] bool is_recorded() const noexcept { return state() == State::Recorded; }

  [[nodiscard]] Result<bool> is_done() const override {
    if (!is_recorded()) return !is_held();
    typename Api::Code answer{};
    TANDEM_CHECK_OK(context_.run_relaxed("an event failed", [this, &answer] {
      answer = Api::event_query(handle_);
      if (answer != Api::kNotReady) return answer;
      Api::clear_last_error();  // "not ready" is an answer
      return Api::kOk;
    }));
    return answer == Api::kOk;
  }

  [[nodiscard]] Status synchronize() const override {
    if (is_recorded()) {
      return context_.run_relaxed("an event failed", [this] { return Api::event_synchronize(handle_); });
    }
    signalled_.wait([this] { return !is_held(); });
    return {};
  }

  void hold() override { state_.store(State::Held, std::memory_order_seq_cst); }
  void signal() noexcept override {
    state_.store(State::Done, std::memory_order_seq_cst);
    signalled_.notify();
  }

  /// What a stream does with an event: marks the point after everything so far. Precondition: a stream of the device.
  [[nodiscard]] Status record(typename Api::Stream stream) {
    TANDEM_CHECK_OK(
        context_.run("an event cannot be recorded", [this, stream] { return Api::event_record(handle_, stream); }));
    state_.store(State::Recorded, std::memory_order_seq_cst);
    return {};
  }

 private:
  enum class State : std::uint8_t { Done, Recorded, Held };

  GpuEvent(Context<Api>& context, Handle handle, bool is_owned) noexcept
      : Event{context.id()}, context_{context}, handle_{handle}, is_owned_{is_owned} {}
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_seq_cst); }

  Context<Api>& context_;
  Handle handle_;
  bool is_owned_;
  std::atomic<State> state_{State::Done};
  mutable base::WaitPoint signalled_;
};

}  // namespace tandem::device::gpu
