#include "backends/aoti/cuda_backend.h"

#include "backends/aoti/aoti_delegate.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/sharing_option.h"
#include "base/log.h"

#include <algorithm>
#include <mutex>
#include <string>
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

constexpr std::string_view kGraphOption = "enable_cuda_graph_for_method";

/// Whether a comma-separated list, blanks around its entries, has the name.
bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    if (entry == name) return true;
  }
  return false;
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
    TANDEM_TRY(const bool prefers_graph, is_told_to_use_graphs(context));
    TANDEM_TRY(const bool shares_buffers, sharing_.is_told(context));
    return prepare_delegate(**device, payload, context, method_of(context), {prefers_graph, shares_buffers});
  }

  Status set_options(const BackendOptions& options) override {
    TANDEM_CHECK_OK(check_type<bool>(options, "use_shared_cuda_stream"));
    TANDEM_CHECK_OK(check_type<std::string>(options, kGraphOption));
    TANDEM_CHECK_OK(sharing_.set(options));
    if (options.find("use_shared_cuda_stream") != nullptr) {
      base::log(LogLevel::Info, "CudaBackend: use_shared_cuda_stream has no effect, a run is on one stream anyway");
    }
    if (options.find(kGraphOption) != nullptr) {
      const std::scoped_lock lock{mutex_};
      TANDEM_TRY(graph_methods_, options.get<std::string>(kGraphOption));
    }
    return {};
  }

 private:
  /// The load's own list counts, else the process's.
  Result<bool> is_told_to_use_graphs(const LoadContext& context) const {
    if (context.options != nullptr && context.options->find(kGraphOption) != nullptr) {
      TANDEM_TRY(const std::string list, context.options->get<std::string>(kGraphOption));
      return lists(list, context.method);
    }
    const std::scoped_lock lock{mutex_};
    return lists(graph_methods_, context.method);
  }

  const CudaFunctions& functions_;
  mutable std::mutex mutex_;
  std::string graph_methods_{};
  SharingOption sharing_{};
};

}  // namespace

std::shared_ptr<Backend> make_cuda_backend(const CudaFunctions& functions) {
  return std::make_shared<CudaBackend>(functions);
}

}  // namespace tandem::aoti
