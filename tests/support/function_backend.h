#pragma once

#include <tandem/backend.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A backend whose delegates call one function. What a test wants to see goes wrong in the function.
class FunctionBackend final : public Backend {
 public:
  using Function = std::function<Status(EnqueueArgs&)>;

  FunctionBackend(std::size_t outputs, Function function, std::vector<AccessMode> accesses = {})
      : shared_{std::make_shared<Shared>()} {
    shared_->outputs = outputs;
    shared_->function = std::move(function);
    shared_->accesses = std::move(accesses);
  }

  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                                          const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new FunctionDelegate{shared_}};
  }
  /// What bind() asks for from now on.
  void want_scratch(std::size_t bytes) { shared_->scratch_bytes = bytes; }
  /// Sizes that its delegates know of their inputs.
  void know_bounds(std::vector<std::vector<SizeBounds>> bounds) { shared_->bounds = std::move(bounds); }
  [[nodiscard]] int binds() const { return shared_->binds; }

 private:
  struct Shared {
    std::size_t outputs = 1;
    Function function;
    std::vector<AccessMode> accesses;
    std::vector<std::vector<SizeBounds>> bounds;
    std::size_t scratch_bytes = 0;
    std::atomic<int> binds{0};
  };

  class FunctionContext final : public DelegateContext {
   public:
    explicit FunctionContext(std::shared_ptr<Shared> shared) : shared_{std::move(shared)} {}
    [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override {
      ++shared_->binds;
      BoundLayout layout;
      layout.scratch_bytes = shared_->scratch_bytes;
      return layout;
    }
    [[nodiscard]] Status enqueue(EnqueueArgs& args) override { return shared_->function(args); }

   private:
    std::shared_ptr<Shared> shared_;
  };

  class FunctionDelegate final : public Delegate {
   public:
    explicit FunctionDelegate(std::shared_ptr<Shared> shared) : shared_{std::move(shared)} {}
    [[nodiscard]] DelegateCapabilities capabilities() const override { return {}; }
    [[nodiscard]] std::size_t output_count() const override { return shared_->outputs; }
    [[nodiscard]] std::vector<AccessMode> accesses(std::size_t count) const override {
      return shared_->accesses.empty() ? Delegate::accesses(count) : shared_->accesses;
    }
    [[nodiscard]] std::vector<std::vector<SizeBounds>> input_bounds() const override { return shared_->bounds; }
    [[nodiscard]] Result<std::unique_ptr<DelegateContext>> new_context() const override {
      return std::unique_ptr<DelegateContext>{new FunctionContext{shared_}};
    }

   private:
    std::shared_ptr<Shared> shared_;
  };

  std::shared_ptr<Shared> shared_;
};

[[nodiscard]] inline float* floats_of(const Argument& argument) { return static_cast<float*>(argument.tensor.data); }

/// out = in + amount, element by element; sizes are the input's.
[[nodiscard]] inline FunctionBackend::Function add_number(float amount) {
  return [amount](EnqueueArgs& args) -> Status {
    const Argument& in = *args.arguments[0];
    const Argument& out = *args.arguments[1];
    for (std::int64_t i = 0; i < in.tensor.numel(); ++i) floats_of(out)[i] = floats_of(in)[i] + amount;
    args.outputs[0] = {.kind = OutputResult::Kind::InPlace, .rank = in.tensor.rank, .sizes = in.tensor.sizes};
    return {};
  };
}

}  // namespace tandem::testing
