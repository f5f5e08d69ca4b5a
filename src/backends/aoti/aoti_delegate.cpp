#include "backends/aoti/aoti_delegate.h"

#include "backends/aoti/aoti_context.h"
#include "backends/aoti/input_checks.h"
#include "backends/aoti/library.h"
#include "backends/aoti/payload.h"
#include "backends/aoti/weights.h"

#include <tandem/tensor.h>

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tandem::aoti {
namespace {

class AotiDelegate final : public Delegate {
 public:
  /// `first` is what loading made; who asks first gets it.
  AotiDelegate(const AotiDevice& device, std::shared_ptr<const Weights> weights, std::size_t output_count,
               std::unique_ptr<AotiContext> first, AotiOptions options,
               std::vector<std::vector<SizeBounds>> input_bounds)
      : device_{device},
        weights_{std::move(weights)},
        output_count_{output_count},
        options_{options},
        input_bounds_{std::move(input_bounds)},
        first_{std::move(first)} {}

  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities;
    capabilities.stateful = weights_->has_state();
    capabilities.runs_on_host = device_.runs_on_host();
    capabilities.capturable = !device_.runs_on_host();
    capabilities.recordable = !device_.runs_on_host();
    capabilities.prefers_graph = options_.prefers_graph;
    capabilities.shares_buffers = options_.shares_buffers;
    capabilities.warmup_runs = device_.runs_on_host() ? 0 : 1;  // the first run at new sizes allocates
    return capabilities;
  }

  std::size_t output_count() const override { return output_count_; }

  std::vector<std::vector<SizeBounds>> input_bounds() const override { return input_bounds_; }

  std::span<const MutableBuffer> buffers() const override { return weights_->buffers(); }

  Result<std::unique_ptr<DelegateContext>> new_context() const override { return new_context_on({}); }

  Result<std::unique_ptr<DelegateContext>> new_context_on(std::span<std::byte* const> memory) const override {
    if (memory.size() != weights_->buffers().size()) {
      return Error{ErrorCode::InvalidArgument, "memory is missing for buffers of the delegate"}.with_expected(
          std::to_string(weights_->buffers().size()), std::to_string(memory.size()));
    }
    std::unique_ptr<AotiContext> context = take_first();
    if (context == nullptr) {
      TANDEM_TRY(ReadyContainer ready, weights_->make_container());
      context = std::make_unique<AotiContext>(std::move(ready), weights_);
    }
    if (!memory.empty()) TANDEM_CHECK_OK(context->use_buffers(memory));
    return context;
  }

 private:
  std::unique_ptr<AotiContext> take_first() const {
    const std::scoped_lock lock{mutex_};
    return std::move(first_);
  }

  const AotiDevice& device_;
  std::shared_ptr<const Weights> weights_;
  std::size_t output_count_;
  AotiOptions options_;
  std::vector<std::vector<SizeBounds>> input_bounds_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<AotiContext> first_;
};

/// A wrong count would leave the library as an exception, a wrong kind as garbage.
Status check_arguments(const Container& container, std::span<const ArgumentSpec> arguments) {
  const std::size_t inputs = container.input_count();
  if (arguments.size() != inputs + container.output_count()) {
    return Error{ErrorCode::InvalidProgram, "the delegate call has another number of arguments than the library"}
        .with_expected(std::to_string(inputs) + " inputs and " + std::to_string(container.output_count()) + " outputs",
                       std::to_string(arguments.size()) + " arguments");
  }
  using enum Argument::Kind;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument::Kind kind = arguments[i].kind;
    const bool number = kind == Int || kind == Double || kind == Bool;
    if (kind == Tensor || number || (kind == None && i >= inputs)) continue;
    return Error{ErrorCode::InvalidType, i < inputs ? "a delegate's input is neither a tensor nor a number"
                                                    : "a delegate's output is neither a tensor nor a number"}
        .with_argument(static_cast<int>(i))
        .with_field(i < inputs ? container.input_name(i) : std::string{});
  }
  return {};
}

/// Binds the context at the sizes that the program tells, upper bounds where they vary. Off the host that runs it.
Status bind_ahead(AotiContext& context, std::span<const ArgumentSpec> specs) {
  std::vector<Argument> arguments(specs.size());
  std::deque<std::vector<std::int64_t>> extents;  // sizes and strides of each tensor
  std::vector<const Argument*> pointers;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ArgumentSpec& spec = specs[i];
    Argument& argument = arguments[i];
    if (spec.stored != nullptr) argument = *spec.stored;
    argument.kind = spec.kind;
    pointers.push_back(&argument);
    if (spec.kind != Argument::Kind::Tensor) continue;
    auto& sizes = extents.emplace_back(spec.sizes.begin(), spec.sizes.end());
    auto& strides = extents.emplace_back(sizes.size());
    strides_from_dim_order(sizes, spec.dim_order, strides);
    argument.tensor.sizes = sizes.data();
    argument.tensor.strides = strides.data();
    argument.tensor.dim_order = spec.dim_order.data();
    argument.tensor.rank = static_cast<std::uint8_t>(sizes.size());
    argument.tensor.dtype = spec.dtype;
    argument.tensor.capacity_bytes = argument.tensor.nbytes();
  }
  const auto bound = context.bind(pointers);
  return bound.ok() ? Status{} : Status{bound.error()};
}

Result<std::unique_ptr<Delegate>> load_delegate(AotiDevice& device, std::span<const std::byte> payload,
                                                const LoadContext& context, std::string_view method,
                                                AotiOptions options) {
  TANDEM_TRY(const Payload parsed, parse_payload(payload, method));
  TANDEM_TRY(const FoundBytes code, find_first(*context.named_data, parsed.library_keys));
  TANDEM_TRY(auto library, open_shared(code.bytes, code.key, device.shims()));
  TANDEM_TRY(std::shared_ptr<const Weights> weights,
             Weights::load(std::move(library), parsed, *context.named_data, device));
  TANDEM_TRY(ReadyContainer ready, weights->make_container());
  TANDEM_CHECK_OK(check_arguments(*ready.container, context.arguments));
  const std::size_t outputs = ready.container->output_count();
  std::vector<std::vector<SizeBounds>> input_bounds = learn_input_bounds(
      code.bytes, code.key, *weights, device, context.arguments.first(ready.container->input_count()));
  auto first = std::make_unique<AotiContext>(std::move(ready), weights);
  if (!device.runs_on_host()) TANDEM_CHECK_OK(bind_ahead(*first, context.arguments));
  return std::make_unique<AotiDelegate>(device, std::move(weights), outputs, std::move(first), options,
                                        std::move(input_bounds));
}

}  // namespace

Result<std::unique_ptr<Delegate>> prepare_delegate(AotiDevice& device, std::span<const std::byte> payload,
                                                   const LoadContext& context, std::string_view method,
                                                   AotiOptions options) {
  if (context.named_data == nullptr) {
    return Error{ErrorCode::InvalidArgument, "AOTInductor delegates need the program's named data"};
  }
  auto delegate = load_delegate(device, payload, context, method, options);
  if (delegate.ok()) return delegate;
  ErrorSite site;
  site.method = context.method;
  site.backend = context.backend_id;
  site.delegate = context.delegate;
  return std::move(delegate).error().with_site(site);
}

}  // namespace tandem::aoti
