#include "bench/gpu/driver_calls.h"

#include <cupti.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <type_traits>

namespace tandem::bench {
namespace {

std::array<std::atomic<std::uint64_t>, CUPTI_DRIVER_TRACE_CBID_SIZE + 256> calls{};  // newer drivers have more

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId id, const void* data) {
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER && id < calls.size()) ++calls[id];
}

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

std::map<std::string, std::uint64_t> count_calls(const std::function<void()>& work) {
  static const Cupti cupti = Cupti::load();
  std::map<std::string, std::uint64_t> by_name;
  CUpti_SubscriberHandle subscriber{};
  if (cupti.subscribe == nullptr || cupti.unsubscribe == nullptr || cupti.enable == nullptr || cupti.name == nullptr ||
      cupti.subscribe(&subscriber, on_call, nullptr) != CUPTI_SUCCESS) {
    work();
    return by_name;
  }
  for (auto& count : calls) count = 0;
  const bool is_counting = cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
  work();
  cupti.unsubscribe(subscriber);
  for (std::uint32_t id = 0; is_counting && id < calls.size(); ++id) {
    if (calls[id] == 0) continue;
    const char* name = nullptr;
    const bool is_named = cupti.name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && name != nullptr;
    by_name[is_named ? name : "call " + std::to_string(id)] += calls[id];
  }
  return by_name;
}

}  // namespace

std::string driver_calls_text(int times, const std::function<void()>& call) {
  std::string text;
  for (const auto& [name, count] : count_calls([times, &call] {
         for (int i = 0; i < times; ++i) call();
       })) {
    text += fmt::format("{}{} {:.2g}", text.empty() ? "" : ", ", name, static_cast<double>(count) / times);
  }
  return text.empty() ? "not counted, no CUPTI here" : text;
}

}  // namespace tandem::bench
