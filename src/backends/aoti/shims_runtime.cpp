#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"
#include "backends/aoti/thread_exit.h"

#include "base/log.h"

#include <stdexcept>
#include <string>

namespace tandem::aoti {
namespace {

bool grad_mode_is_enabled() noexcept { return false; }
void grad_mode_set_enabled(bool /*enabled*/) noexcept {}

std::string place(const char* function, const char* file, std::uint32_t line, const char* message) {
  const auto text = [](const char* t) { return std::string{t != nullptr ? t : "?"}; };
  return text(message) + " (" + text(function) + ", " + text(file) + ":" + std::to_string(line) + ")";
}

/// The caller goes on with the bad index if this returns, so it must not. The library catches std::exception and
/// reports the text. This is the only place where Tandem throws.
void check(bool condition, const char* function, const char* file, std::uint32_t line, const char* message) {
  if (!condition) throw std::runtime_error{place(function, file, line, message)};
}

void warn(const char* function, const char* file, std::uint32_t line, const char* message) noexcept {
  try {
    base::log(LogLevel::Warning, place(function, file, line, message));
  } catch (...) {  // no memory for a warning
  }
}

std::int32_t print_tensor_handle(AtenTensor* self, const char* message) noexcept {
  constexpr const char* kShim = "print_tensor_handle";
  if (!is_live(self)) return refuse_handle(kShim);
  return guarded(kShim, [&] {
    std::string text = std::string{message != nullptr ? message : ""} + " " + std::string{name_of(self->dtype)} + "[";
    for (const std::int64_t size : self->size_span()) text += std::to_string(size) + ",";
    if (self->rank != 0) text.pop_back();
    base::log(LogLevel::Debug, text + "]");
    return kShimOk;
  });
}

/// Profiler marks; an opaque handle that nobody reads.
std::int32_t record_function_start(const char* /*name*/, void* /*names*/, const void* /*values*/, std::size_t /*count*/,
                                   void** out) noexcept {
  if (out != nullptr) *out = nullptr;
  return kShimOk;
}
std::int32_t record_function_end(void* /*handle*/) noexcept { return kShimOk; }

}  // namespace

void add_runtime_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_grad_mode_is_enabled", address_of(grad_mode_is_enabled)},
                                {"aoti_torch_grad_mode_set_enabled", address_of(grad_mode_set_enabled)},
                                {"aoti_torch_check", address_of(check)},
                                {"aoti_torch_warn", address_of(warn)},
                                {"aoti_torch_print_tensor_handle", address_of(print_tensor_handle)},
                                {"aoti_record_function_start", address_of(record_function_start)},
                                {"aoti_record_function_end", address_of(record_function_end)},
                                {"__cxa_thread_atexit", address_of(register_thread_exit)},
                                // For libraries with a libstdc++ of their own.
                                {"__cxa_thread_atexit_impl", address_of(register_thread_exit)},
                            });
}

}  // namespace tandem::aoti
