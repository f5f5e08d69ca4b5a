#include "backends/tensorrt/tensorrt_delegate.h"

#include "backends/tensorrt/bindings.h"
#include "backends/tensorrt/blob.h"
#include "backends/tensorrt/loaded_engine.h"
#include "backends/tensorrt/tensorrt_context.h"
#include "backends/tensorrt/weight_budget.h"

#include <string>
#include <utility>
#include <vector>

namespace tandem::tensorrt {
namespace {

class TensorRTDelegate final : public Delegate {
 public:
  explicit TensorRTDelegate(std::shared_ptr<const LoadedEngine> loaded) : loaded_{std::move(loaded)} {}

  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities;
    capabilities.runs_on_host = loaded_->device.type == DeviceType::Host;
    capabilities.capturable = !capabilities.runs_on_host;
    capabilities.warmup_runs = capabilities.runs_on_host ? 0 : 1;  // after new shapes the library may still allocate
    capabilities.side_streams = loaded_->engine->auxiliary_streams();
    capabilities.alignment = loaded_->alignment;
    capabilities.checks_sizes = true;  // against the engine's profiles
    return capabilities;
  }

  std::size_t output_count() const override { return loaded_->bindings.outputs.size(); }

  std::vector<AccessMode> accesses(std::size_t argument_count) const override {
    std::vector<AccessMode> modes = Delegate::accesses(argument_count);
    for (const AliasedOutput& alias : aliased_outputs()) {
      if (alias.input < modes.size()) modes[alias.input] = AccessMode::Update;
    }
    return modes;
  }

  std::vector<AliasedOutput> aliased_outputs() const override {
    std::vector<AliasedOutput> aliases;
    for (std::size_t i = 0; i < loaded_->bindings.alias_of.size(); ++i) {
      if (loaded_->bindings.alias_of[i]) aliases.push_back({i, *loaded_->bindings.alias_of[i]});
    }
    return aliases;
  }

  Result<std::unique_ptr<DelegateContext>> new_context() const override {
    TANDEM_TRY(auto context, loaded_->engine->new_context());
    return std::make_unique<TensorRTContext>(loaded_, std::move(context));
  }

 private:
  std::shared_ptr<const LoadedEngine> loaded_;
};

Result<std::unique_ptr<Delegate>> load(const EngineProvider& provider, std::span<const std::byte> payload,
                                       const LoadContext& context) {
  TANDEM_TRY(const Blob blob, parse_blob(payload));
  TANDEM_TRY(const auto budget, read_weight_budget(context));
  if (context.device.type != provider.device_type()) {
    return Error{ErrorCode::NotSupported, "the engine runs on another kind of device than the method was loaded for"}
        .with_expected(to_string({provider.device_type(), 0}) + " as MethodOptions::device", to_string(context.device));
  }
  TANDEM_TRY(auto engine, provider.deserialize(blob.engine, context.device));
  TANDEM_CHECK_OK(apply_weight_budget(*engine, budget));
  auto loaded = std::make_shared<LoadedEngine>();
  TANDEM_TRY(loaded->bindings, find_bindings(blob, engine->tensors()));
  TANDEM_CHECK_OK(check_arguments(loaded->bindings, engine->tensors(), context.arguments));
  loaded->engine = std::move(engine);
  loaded->device = context.device;
  loaded->alignment = provider.alignment();
  return std::make_unique<TensorRTDelegate>(std::move(loaded));
}

}  // namespace

Result<std::unique_ptr<Delegate>> prepare_delegate(const EngineProvider& provider, std::span<const std::byte> payload,
                                                   const LoadContext& context) {
  auto delegate = load(provider, payload, context);
  if (delegate.ok()) return delegate;
  ErrorSite site;
  site.method = context.method;
  site.backend = context.backend_id;
  site.delegate = context.delegate;
  return std::move(delegate).error().with_site(site);
}

}  // namespace tandem::tensorrt
