#include "bench/suite/plan_backend.h"

#include "bench/suite/plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::suite {
namespace {

/// A plan with its weights in the machine's memory.
struct Prepared {
  std::shared_ptr<Launcher> launcher{};
  Plan plan{};  ///< Without the weights.
  std::shared_ptr<void> weights{};
};

class PlanContext final : public DelegateContext {
 public:
  explicit PlanContext(std::shared_ptr<const Prepared> prepared)
      : prepared_{std::move(prepared)}, addresses_(prepared_->plan.accesses.size()) {}

  Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override {
    BoundLayout layout;
    layout.scratch_bytes = prepared_->plan.scratch_floats * sizeof(float);
    return layout;
  }

  Status enqueue(EnqueueArgs& args) override {
    if (args.arguments.size() != addresses_.size() || args.outputs.size() != 1) {
      return Error{ErrorCode::InvalidArgument, "wrong number of arguments for the plan"};
    }
    for (std::size_t i = 0; i < addresses_.size(); ++i) addresses_[i] = args.arguments[i]->tensor.data;
    const TensorArg& first = args.arguments.front()->tensor;
    const Bindings bindings{.arguments = addresses_,
                            .weights = static_cast<const float*>(prepared_->weights.get()),
                            .scratch = reinterpret_cast<float*>(args.scratch.data()),
                            .rows = first.sizes[0]};
    for (const KernelSpec& spec : prepared_->plan.kernels) {
      const KernelCall call = resolve(spec, bindings);
      const bool is_recorded = args.recorder != nullptr && !args.is_captured;
      TANDEM_CHECK_OK(is_recorded ? prepared_->launcher->record(*args.recorder, call)
                                  : prepared_->launcher->launch(args.stream, call));
    }
    if (args.recorder != nullptr && prepared_->weights != nullptr) args.recorder->keep(prepared_->weights);
    args.outputs[0] = {};
    // An output whose size the program leaves open has the size of the first input.
    if (args.arguments.back()->tensor.resizable) {
      std::copy_n(first.sizes, first.rank, sizes_.begin());
      args.outputs[0].rank = first.rank;
      args.outputs[0].sizes = sizes_.data();
    }
    return {};
  }

 private:
  std::shared_ptr<const Prepared> prepared_;
  std::vector<void*> addresses_;
  std::array<std::int64_t, kMaxRank> sizes_{};
};

class PlanDelegate final : public Delegate {
 public:
  explicit PlanDelegate(std::shared_ptr<const Prepared> prepared) : prepared_{std::move(prepared)} {}
  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities;
    capabilities.runs_on_host = prepared_->launcher->is_on_host();
    capabilities.recordable = !capabilities.runs_on_host;
    return capabilities;
  }
  std::size_t output_count() const override { return 1; }
  std::vector<AccessMode> accesses(std::size_t /*argument_count*/) const override { return prepared_->plan.accesses; }
  Result<std::unique_ptr<DelegateContext>> new_context() const override {
    return std::unique_ptr<DelegateContext>{new PlanContext{prepared_}};
  }

 private:
  std::shared_ptr<const Prepared> prepared_;
};

class PlanBackend final : public Backend {
 public:
  explicit PlanBackend(Machine& machine) : machine_{machine} {}
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& /*context*/) const override {
    auto prepared = std::make_shared<Prepared>();
    prepared->launcher = machine_.launcher();
    TANDEM_TRY(prepared->plan, read_plan(payload));
    const std::vector<float> weights = std::exchange(prepared->plan.weights, {});
    if (!weights.empty()) {
      TANDEM_CHECK_OK(machine_.enter_thread());
      const std::size_t bytes = weights.size() * sizeof(float);
      TANDEM_TRY(prepared->weights, machine_.allocate(bytes));
      TANDEM_CHECK_OK(machine_.copy_now(prepared->weights.get(), weights.data(), bytes));
    }
    return std::unique_ptr<Delegate>{new PlanDelegate{std::move(prepared)}};
  }

 private:
  Machine& machine_;
};

}  // namespace

std::shared_ptr<Backend> make_plan_backend(Machine& machine) { return std::make_shared<PlanBackend>(machine); }

}  // namespace tandem::suite
