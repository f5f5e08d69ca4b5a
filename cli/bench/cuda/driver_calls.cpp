#include "cli/bench/gpu_tools.h"

#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tandem::cli::bench {
namespace {

std::array<std::atomic<std::uint64_t>, CUPTI_DRIVER_TRACE_CBID_SIZE + 256> calls{};  // newer drivers have more

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId id, const void* data) {
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER && id < calls.size()) ++calls[id];
}

/// Looked for at run time: a driver alone does not bring it.
struct Cupti {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableDomain) enable = nullptr;
  decltype(&cuptiGetCallbackName) name = nullptr;

  static Cupti load() {
    Cupti cupti;
    void* library = nullptr;
    for (const char* file :
         {"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"}) {
      if (library = dlopen(file, RTLD_NOW | RTLD_LOCAL); library != nullptr) break;
    }
    if (library == nullptr) return cupti;
    const auto bind = [library](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    };
    bind(cupti.subscribe, "cuptiSubscribe");
    bind(cupti.unsubscribe, "cuptiUnsubscribe");
    bind(cupti.enable, "cuptiEnableDomain");
    bind(cupti.name, "cuptiGetCallbackName");
    return cupti;
  }
};

}  // namespace

std::optional<DriverCalls> count_driver_calls(const std::function<void()>& work) {
  static const Cupti kCupti = Cupti::load();
  CUpti_SubscriberHandle subscriber{};
  if (kCupti.subscribe == nullptr || kCupti.unsubscribe == nullptr || kCupti.enable == nullptr ||
      kCupti.name == nullptr || kCupti.subscribe(&subscriber, on_call, nullptr) != CUPTI_SUCCESS) {
    work();
    return std::nullopt;
  }
  for (auto& count : calls) count = 0;
  const bool is_counting = kCupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
  work();
  kCupti.unsubscribe(subscriber);
  if (!is_counting) return std::nullopt;
  DriverCalls by_name;
  for (std::uint32_t id = 0; id < calls.size(); ++id) {
    if (calls[id] == 0) continue;
    const char* name = nullptr;
    const bool is_named = kCupti.name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && name != nullptr;
    by_name[is_named ? name : "call " + std::to_string(id)] += calls[id];
  }
  return by_name;
}

}  // namespace tandem::cli::bench
