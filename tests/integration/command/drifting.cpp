// A library that breaks its promise: it says that it keeps nothing, and every call adds one more. y = x + calls.
#include <tandem/custom.h>

#include <atomic>

namespace {

std::atomic<int> calls{0};

std::int32_t enqueue(void* /*state*/, TandemCustomCall* call) {
  const TandemCustomArgument& x = *call->arguments[0];
  const TandemCustomArgument& y = *call->arguments[1];
  const auto count = static_cast<float>(calls++);
  for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
    static_cast<float*>(y.data)[i] = static_cast<const float*>(x.data)[i] + count;
  }
  return 0;
}

}  // namespace

const TandemCustomDelegate* tandem_custom_delegate(uint32_t version) {
  static TandemCustomDelegate delegate{};
  delegate.struct_size = sizeof delegate;
  delegate.version = TANDEM_CUSTOM_VERSION;
  delegate.devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST);
  delegate.enqueue = enqueue;
  return version >= TANDEM_CUSTOM_VERSION ? &delegate : nullptr;
}
