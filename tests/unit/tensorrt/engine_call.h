#pragma once

#include "backends/tensorrt/tensorrt_backend.h"
#include "support/delegate_runner.h"
#include "support/reference_engine/reference_engine.h"
#include "support/reference_engine/reference_provider.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A reference engine as a delegate on the host, and the arguments of a call.
class EngineCall {
 public:
  explicit EngineCall(const ReferenceEngine& engine) : EngineCall{blob_of(engine)} {}
  explicit EngineCall(std::string blob) : blob_{std::move(blob)} {}

  /// A further argument, float unless said otherwise; sizes are upper bounds.
  ArgumentMemory& argument(std::vector<std::int64_t> sizes, ScalarType dtype = ScalarType::Float,
                           bool dynamic = false) {
    ArgumentMemory& memory = memory_.emplace_back();
    memory.make_tensor(dtype, std::move(sizes));
    memory.argument.tensor.resizable = dynamic;
    ArgumentSpec& spec = specs_.emplace_back();
    spec.kind = Argument::Kind::Tensor;
    spec.dtype = dtype;
    spec.dynamic = dynamic;
    spec.sizes = bounds_.emplace_back(memory.sizes);
    spec.dim_order = memory.dim_order;
    return memory;
  }
  /// An output that the program does not use.
  void no_argument() {
    memory_.emplace_back();
    specs_.emplace_back();
  }

  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare() {
    LoadContext context = load_context;
    context.backend_id = "TensorRTBackend";
    context.method = "forward";
    context.delegate = 7;
    context.arguments = specs_;
    return tensorrt::make_tensorrt_backend(std::shared_ptr<ReferenceProvider>{std::shared_ptr<void>{}, &provider})
        ->prepare(std::as_bytes(std::span{blob_}), context);
  }
  /// Prepares at the first call.
  [[nodiscard]] DelegateRunner& runner() {
    if (runner_ != nullptr) return *runner_;
    auto prepared = prepare();
    EXPECT_TRUE(prepared.ok()) << prepared.error().to_string();
    delegate_ = *std::move(prepared);
    std::vector<ArgumentMemory*> arguments;
    for (ArgumentMemory& memory : memory_) arguments.push_back(&memory);
    runner_ =
        std::make_unique<DelegateRunner>(*delegate_->new_context(), std::move(arguments), delegate_->output_count());
    return *runner_;
  }
  [[nodiscard]] Status run() { return runner().run(); }

  HostRunner host{};
  ReferenceProvider provider{host};
  LoadContext load_context{};

 private:
  std::string blob_;
  std::deque<ArgumentMemory> memory_{};
  std::deque<std::vector<std::int64_t>> bounds_{};
  std::vector<ArgumentSpec> specs_{};
  std::unique_ptr<Delegate> delegate_{};
  std::unique_ptr<DelegateRunner> runner_{};
};

inline void fill(ArgumentMemory& memory, float first, float step = 1) {
  for (float& element : memory.floats()) element = std::exchange(first, first + step);
}

}  // namespace tandem::testing
