#include "support/host_code_on_gpu.h"

#include "base/strided_copy.h"
#include "device/host/inline_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tandem::testing {
namespace {

/// A call's arguments as they are when it is enqueued.
class Call {
 public:
  explicit Call(std::span<Argument* const> arguments) {
    for (const Argument* argument : arguments) arguments_.push_back(*argument);
    for (Argument& argument : arguments_) {
      if (!argument.is_tensor()) continue;
      TensorArg& tensor = argument.tensor;
      auto& dims = dims_.emplace_back(tensor.sizes, tensor.sizes + tensor.rank);
      dims.insert(dims.end(), tensor.strides, tensor.strides + tensor.rank);
      tensor.sizes = dims.data();
      tensor.strides = dims.data() + tensor.rank;
      tensor.device = {};
    }
  }

  /// On the thread of the simulated device.
  void run(DelegateContext& context, std::size_t outputs) {
    std::vector<Argument*> pointers;
    for (Argument& argument : arguments_) pointers.push_back(&argument);
    const auto layout = context.bind({pointers.data(), pointers.size()});
    ASSERT_TRUE(layout.ok()) << layout.error().to_string();
    std::vector<std::byte> scratch(layout->scratch_bytes + 64);
    std::byte* const aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    std::vector<OutputResult> results(outputs);
    device::InlineStream stream;
    EnqueueArgs args{StreamRef{stream}};
    args.arguments = pointers;
    args.outputs = results;
    args.scratch = {aligned, layout->scratch_bytes};
    const Status ran = context.enqueue(args);
    ASSERT_TRUE(ran.ok()) << ran.error().to_string();
    for (std::size_t i = 0; i < outputs; ++i) land(results[i], arguments_[arguments_.size() - outputs + i].tensor);
  }

 private:
  static void land(const OutputResult& result, const TensorArg& output) {
    if (result.sizes != nullptr) {
      ASSERT_TRUE(std::ranges::equal(output.size_span(), std::span{result.sizes, result.rank}))
          << "sizes that nobody knew when it was enqueued";
    }
    if (result.kind == OutputResult::Kind::InPlace || result.data == output.data) return;
    base::copy_strided(output.data, output.stride_span(), result.data, {result.strides, result.rank},
                       output.size_span(), item_bytes(output.dtype));
  }

  std::vector<Argument> arguments_;
  std::vector<std::vector<std::int64_t>> dims_;
};

class Context final : public DelegateContext {
 public:
  Context(std::shared_ptr<DelegateContext> host, std::size_t outputs) : host_{std::move(host)}, outputs_{outputs} {}
  Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override { return BoundLayout{}; }
  Status enqueue(EnqueueArgs& args) override {
    std::ranges::fill(args.outputs, OutputResult{});  // in place, as planned
    const auto call = std::make_shared<Call>(args.arguments);
    std::function<void()> kernel = [call, host = host_, outputs = outputs_] { call->run(*host, outputs); };
    if (args.recorder != nullptr) return args.recorder->kernel({.function = &kernel});
    return SimulatedGpu::launch(args.stream, std::move(kernel));
  }

 private:
  std::shared_ptr<DelegateContext> host_;
  std::size_t outputs_;
};

class OnGpu final : public Delegate {
 public:
  explicit OnGpu(std::unique_ptr<Delegate> host) : host_{std::move(host)} {
    buffers_.assign(host_->buffers().begin(), host_->buffers().end());
    for (MutableBuffer& buffer : buffers_) buffer.on_host = false;
  }
  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities = host_->capabilities();
    capabilities.runs_on_host = false;
    capabilities.recordable = true;
    return capabilities;
  }
  std::size_t output_count() const override { return host_->output_count(); }
  std::vector<AccessMode> accesses(std::size_t count) const override { return host_->accesses(count); }
  std::vector<AliasedOutput> aliased_outputs() const override { return host_->aliased_outputs(); }
  std::vector<std::vector<SizeBounds>> input_bounds() const override { return host_->input_bounds(); }
  std::span<const MutableBuffer> buffers() const override { return buffers_; }
  Result<std::unique_ptr<DelegateContext>> new_context() const override { return new_context_on({}); }
  Result<std::unique_ptr<DelegateContext>> new_context_on(std::span<std::byte* const> memory) const override {
    TANDEM_TRY(auto host, host_->new_context_on(memory));
    return std::unique_ptr<DelegateContext>{new Context{std::move(host), host_->output_count()}};
  }

 private:
  std::unique_ptr<Delegate> host_;
  std::vector<MutableBuffer> buffers_{};
};

}  // namespace

Result<std::unique_ptr<Delegate>> HostCodeOnGpu::prepare(std::span<const std::byte> payload,
                                                         const LoadContext& context) const {
  LoadContext on_host = context;
  on_host.device = {};
  TANDEM_TRY(auto host, host_->prepare(payload, on_host));
  for (const ArgumentSpec& output : context.arguments.last(host->output_count())) {
    if (output.kind == Argument::Kind::Tensor && !output.dynamic) continue;
    return Error{ErrorCode::NotSupported, "an output that is known only when the delegate has run"};
  }
  return std::unique_ptr<Delegate>{new OnGpu{std::move(host)}};
}

}  // namespace tandem::testing
