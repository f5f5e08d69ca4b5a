#pragma once

#include "support/method_builder.h"

#include <tandem/backend.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <span>

namespace tandem::bench {

class NullContext final : public DelegateContext {
 public:
  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override {
    return BoundLayout{};
  }
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override {
    benchmark::DoNotOptimize(args.arguments.data());
    return {};
  }
};

class NullDelegate final : public Delegate {
 public:
  [[nodiscard]] DelegateCapabilities capabilities() const override { return {}; }
  [[nodiscard]] std::size_t output_count() const override { return 1; }
  [[nodiscard]] Result<std::unique_ptr<DelegateContext>> new_context() const override {
    return std::unique_ptr<DelegateContext>{new NullContext};
  }
};

class NullBackend final : public Backend {
 public:
  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                                          const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new NullDelegate};
  }
};

/// A method of `count` delegates in a row that do nothing.
struct NullChain : testing::MethodBuilder {
  explicit NullChain(std::int64_t count) {
    ignore(backends.register_backend("Null", std::make_shared<NullBackend>()), "the registry is empty");
    auto from = tensor({4}, 0);
    inputs({from});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto to = tensor({4}, i % 2 == 0 ? 64 : 128);
      delegate("Null", {from, to});
      from = to;
    }
    outputs({from});
  }
};

}  // namespace tandem::bench
