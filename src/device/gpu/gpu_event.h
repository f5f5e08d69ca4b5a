#pragma once

#include "base/wait_point.h"
#include "device/event.h"
#include "device/gpu/context.h"

#include <tandem/event.h>
#include <tandem/result.h>

#include <atomic>
#include <cstdint>
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
    event->become(State::Recorded);
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
    const std::uint64_t asked = word_.load(std::memory_order_seq_cst);
    if (state_of(asked) != State::Recorded) return state_of(asked) != State::Held;
    typename Api::Code answer{};
    TANDEM_CHECK_OK(context_.run_relaxed("an event failed", [this, &answer] {
      answer = Api::event_query(handle_);
      if (answer != Api::kNotReady) return answer;
      Api::clear_last_error();  // "not ready" is an answer
      return Api::kOk;
    }));
    if (answer != Api::kOk) return false;
    has_passed(asked);
    return true;
  }

  [[nodiscard]] Status synchronize() const override {
    const std::uint64_t asked = word_.load(std::memory_order_seq_cst);
    if (state_of(asked) == State::Recorded) {
      TANDEM_CHECK_OK(context_.run_relaxed("an event failed", [this] { return Api::event_synchronize(handle_); }));
      has_passed(asked);
      return {};
    }
    signalled_.wait([this] { return !is_held(); });
    return {};
  }

  void hold() override { become(State::Held); }
  void signal() noexcept override {
    become(State::Done);
    signalled_.notify();
  }

  /// What a stream does with an event: marks the point after everything so far. Precondition: a stream of the device.
  [[nodiscard]] Status record(typename Api::Stream stream) {
    TANDEM_CHECK_OK(
        context_.run("an event cannot be recorded", [this, stream] { return Api::event_record(handle_, stream); }));
    become(State::Recorded);
    return {};
  }

 private:
  enum class State : std::uint8_t { Done, Recorded, Held };
  static constexpr std::uint64_t kStates = 4;

  GpuEvent(Context<Api>& context, Handle handle, bool is_owned) noexcept
      : Event{context.id()}, context_{context}, handle_{handle}, is_owned_{is_owned} {}
  [[nodiscard]] static State state_of(std::uint64_t word) noexcept { return static_cast<State>(word % kStates); }
  [[nodiscard]] State state() const noexcept { return state_of(word_.load(std::memory_order_seq_cst)); }
  void become(State state) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, (word / kStates + 1) * kStates + static_cast<std::uint64_t>(state),
                                        std::memory_order_seq_cst)) {
    }
  }
  /// Remembers it, which spares the next one the question; not if the event was recorded again since `asked`. The
  /// owner of a borrowed one may record it without a word.
  void has_passed(std::uint64_t asked) const noexcept {
    if (is_owned_) word_.compare_exchange_strong(asked, asked - asked % kStates, std::memory_order_seq_cst);
  }

  Context<Api>& context_;
  Handle handle_;
  bool is_owned_;
  /// How often the state has changed, times kStates, plus the state.
  mutable std::atomic<std::uint64_t> word_{0};
  mutable base::WaitPoint signalled_;
};

}  // namespace tandem::device::gpu
