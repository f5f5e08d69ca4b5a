#pragma once

#include "device/gpu/gpu_stream.h"
#include "device/timer.h"

#include <chrono>
#include <memory>
#include <optional>

namespace tandem::device::gpu {

/// Two events that remember when the GPU passed them.
///
/// Lifetime: the context outlives it.
template <GpuApi Api>
requires HasTimedEvents<Api>
class GpuTimer final : public Timer {
 public:
  /// Errors: OutOfMemory; as Context::usable().
  [[nodiscard]] static Result<std::unique_ptr<Timer>> create(Context<Api>& context) {
    std::unique_ptr<GpuTimer> made{new GpuTimer{context}};
    for (auto* event : {&made->start_, &made->stop_}) {
      TANDEM_CHECK_OK(
          context.run_relaxed("a timed event cannot be made", [event] { return Api::timed_event_create(event); }));
    }
    return std::unique_ptr<Timer>{std::move(made)};
  }
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;
  ~GpuTimer() override {
    for (const auto event : {start_, stop_}) {
      if (event == typename Api::Event{}) continue;
      context_.close("an event cannot be destroyed", [event] { return Api::event_destroy(event); });
    }
  }

  [[nodiscard]] Status start(Stream& stream) override { return record(start_, stream); }
  [[nodiscard]] Status stop(Stream& stream) override { return record(stop_, stream); }
  [[nodiscard]] Result<std::optional<std::chrono::nanoseconds>> elapsed() override {
    typename Api::Code answer{};
    float milliseconds = 0;
    TANDEM_CHECK_OK(context_.run_relaxed("a timed event failed", [&] {
      answer = Api::event_elapsed(&milliseconds, start_, stop_);
      if (answer != Api::kNotReady) return answer;
      Api::clear_last_error();  // "not ready" is an answer
      return Api::kOk;
    }));
    if (answer != Api::kOk) return std::optional<std::chrono::nanoseconds>{};
    return std::optional{
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<float, std::milli>{milliseconds})};
  }

 private:
  explicit GpuTimer(Context<Api>& context) noexcept : context_{context} {}
  Status record(typename Api::Event event, Stream& stream) {
    TANDEM_CHECK_OK(stream.may_enqueue());
    const auto handle = static_cast<GpuStream<Api>&>(stream).handle();
    return context_.run("an event cannot be recorded", [event, handle] { return Api::event_record(event, handle); });
  }

  Context<Api>& context_;
  typename Api::Event start_{};
  typename Api::Event stop_{};
};

}  // namespace tandem::device::gpu
