#include "backends/aoti/aoti_backend.h"

#include "backends/aoti/aoti_context.h"
#include "backends/aoti/library.h"
#include "backends/aoti/payload.h"
#include "backends/aoti/shim_table.h"
#include "backends/aoti/weights.h"

#include <mutex>
#include <string>
#include <utility>

namespace tandem::aoti {
namespace {

class AotiDelegate final : public Delegate {
 public:
  /// `first` is what loading made; the first context gets it.
  AotiDelegate(std::shared_ptr<const Weights> weights, ReadyContainer first)
      : weights_{std::move(weights)}, output_count_{first.container->output_count()}, first_{std::move(first)} {}

  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities;
    capabilities.stateful = weights_->has_state();
    return capabilities;
  }

  std::size_t output_count() const override { return output_count_; }

  Result<std::unique_ptr<DelegateContext>> new_context() const override {
    ReadyContainer ready = take_first();
    if (ready.container == nullptr) {
      TANDEM_TRY(ready, weights_->make_container());
    }
    return std::make_unique<AotiContext>(std::move(ready), weights_);
  }

 private:
  ReadyContainer take_first() const {
    const std::scoped_lock lock{mutex_};
    return std::exchange(first_, {});
  }

  std::shared_ptr<const Weights> weights_;
  std::size_t output_count_;
  mutable std::mutex mutex_;
  mutable ReadyContainer first_;
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

Result<std::unique_ptr<Delegate>> load_delegate(std::span<const std::byte> payload, const LoadContext& context) {
  TANDEM_TRY(const Payload parsed, parse_payload(payload, context.method));
  TANDEM_TRY(const FoundBytes code, find_first(*context.named_data, parsed.library_keys));
  TANDEM_TRY(auto library, open_shared(code.bytes, code.key, shim_table_host()));
  TANDEM_TRY(std::shared_ptr<const Weights> weights, Weights::load(std::move(library), parsed, *context.named_data));
  TANDEM_TRY(ReadyContainer first, weights->make_container());
  TANDEM_CHECK_OK(check_arguments(*first.container, context.arguments));
  return std::make_unique<AotiDelegate>(std::move(weights), std::move(first));
}

class AotiHostBackend final : public Backend {
 public:
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    if (context.named_data == nullptr) {
      return Error{ErrorCode::InvalidArgument, "AOTInductor delegates need the program's named data"};
    }
    auto delegate = load_delegate(payload, context);
    if (delegate.ok()) return delegate;
    ErrorSite site;
    site.method = context.method;
    site.backend = context.backend_id;
    site.delegate = context.delegate;
    return std::move(delegate).error().with_site(site);
  }
};

}  // namespace

std::shared_ptr<Backend> make_aoti_host_backend() { return std::make_shared<AotiHostBackend>(); }

}  // namespace tandem::aoti
