#pragma once

#include "base/fork.h"
#include "base/log.h"
#include "device/gpu/native_error.h"
#include "device/gpu/scopes.h"

#include <tandem/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tandem::device::gpu {

/// One GPU as this process sees it: makes its calls with the device current, translates what they answer, and remembers
/// the fault that ended its use.
///
/// Thread-safety: every member may be called from any thread.
template <GpuApi Api>
class Context {
 public:
  explicit Context(int index) : id_{Api::kDeviceType, static_cast<std::int16_t>(index)} { base::watch_forks(); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { delete fault_.load(std::memory_order_relaxed); }

  [[nodiscard]] DeviceId id() const noexcept { return id_; }
  [[nodiscard]] int index() const noexcept { return id_.index; }

  /// Errors: DeviceFault, the one that ended the use of the device; InvalidState, a forked child.
  [[nodiscard]] Status usable() const {
    if (const Error* fault = fault_.load(std::memory_order_acquire); fault != nullptr) return *fault;
    return base::refuse_forked_child();
  }
  /// Translates what a call answered, and remembers it if it ends the use of the device.
  [[nodiscard]] Status check(typename Api::Code code, const char* what) {
    if (code == Api::kOk) return {};
    return failed(code, what);
  }
  [[nodiscard]] Error failed(typename Api::Code code, std::string what) {
    Error error = native_error<Api>(code, std::move(what), id_);
    if (error.code() == ErrorCode::DeviceFault) remember(error);
    return error;
  }
  /// `call()` with the device current. `what` names the failure for people.
  /// Errors: as usable(), and what the code means.
  template <class Call>
  [[nodiscard]] Status run(const char* what, Call&& call) {
    TANDEM_CHECK_OK(usable());
    const DeviceScope<Api> scope{index()};
    TANDEM_CHECK_OK(check(scope.code(), "the device cannot be made current"));
    return check(call(), what);
  }
  /// run() for what drivers refuse, or let break a capture, while another thread captures in global mode: allocations,
  /// questions and waits of the host.
  template <class Call>
  [[nodiscard]] Status run_relaxed(const char* what, Call&& call) {
    return run(what, [&call] {
      const RelaxedScope<Api> relaxed;
      return call();
    });
  }
  /// run_relaxed() of something that gives a handle back. After a fault, and in a forked child, it makes no call: the
  /// driver took the handle along, or never had it.
  template <class Call>
  void close(const char* what, Call&& call) noexcept {
    if (!usable().ok()) return;
    const DeviceScope<Api> scope{index()};
    typename Api::Code code = scope.code();
    if (code == Api::kOk) {
      const RelaxedScope<Api> relaxed;
      code = call();
    }
    if (code != Api::kOk && !Api::is_shutting_down(code)) {
      base::log(LogLevel::Warning, failed(code, what).to_string());
    }
  }

 private:
  void remember(const Error& error) {
    auto fault = std::make_unique<const Error>(error);
    const Error* none = nullptr;
    if (fault_.compare_exchange_strong(none, fault.get(), std::memory_order_acq_rel)) fault.release();
  }

  DeviceId id_;
  std::atomic<const Error*> fault_{nullptr};
};

}  // namespace tandem::device::gpu
