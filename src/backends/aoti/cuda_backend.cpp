#include "backends/aoti/cuda_backend.h"

#include "backends/aoti/aoti_delegate.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "base/log.h"

#include <algorithm>
#include <string_view>

namespace tandem::aoti {
namespace {

/// The name that the exporter gave the method; a program may have it under another.
std::string_view method_of(const LoadContext& context) {
  const auto spec = std::ranges::find(context.compile_specs, "method_name", &CompileSpec::key);
  if (spec == context.compile_specs.end() || spec->value.empty()) return context.method;
  return {reinterpret_cast<const char*>(spec->value.data()), spec->value.size()};
}

template <class T>
Status check_type(const BackendOptions& options, std::string_view key) {
  if (options.find(key) == nullptr) return {};
  const auto value = options.get<T>(key);
  return value.ok() ? Status{} : Status{value.error()};
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaFunctions& functions) : functions_{functions} {}

  Status available() const override { return functions_.available(0); }

  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    const int index = context.device.type == DeviceType::Cuda ? context.device.index : 0;
    auto device = cuda_device(functions_, index);
    if (!device.ok()) return std::move(device).error().with_backend(std::string{context.backend_id}, context.delegate);
    return prepare_delegate(**device, payload, context, method_of(context));
  }

  Status set_options(const BackendOptions& options) override {
    TANDEM_CHECK_OK(check_type<bool>(options, "use_shared_cuda_stream"));
    TANDEM_CHECK_OK(check_type<std::string>(options, "enable_cuda_graph_for_method"));
    TANDEM_CHECK_OK(check_type<bool>(options, "weight_sharing_across_methods"));
    if (options.find("use_shared_cuda_stream") != nullptr) {
      base::log(LogLevel::Info, "CudaBackend: use_shared_cuda_stream has no effect, a run is on one stream anyway");
    }
    return {};
  }

 private:
  const CudaFunctions& functions_;
};

}  // namespace

std::shared_ptr<Backend> make_cuda_backend(const CudaFunctions& functions) {
  return std::make_shared<CudaBackend>(functions);
}

}  // namespace tandem::aoti
