#pragma once

#include "backends/tensorrt/engine_provider.h"
#include "support/reference_engine/kernel_runner.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tandem::testing {

/// Engines of tests with TensorRT's contract, and an error for whoever breaks it: addresses before shapes, a tensor
/// without an address, scratch that is too small, a captured first run, a run that overtakes the one before it.
///
/// Lifetime: outlives its engines.
class ReferenceProvider final : public tensorrt::EngineProvider {
 public:
  explicit ReferenceProvider(KernelRunner& runner, std::uint32_t alignment = 64)
      : runner_{runner}, alignment_{alignment} {}

  [[nodiscard]] Status available() const override { return {}; }
  [[nodiscard]] DeviceType device_type() const noexcept override { return runner_.device_type(); }
  [[nodiscard]] std::uint32_t alignment() const noexcept override { return alignment_; }
  [[nodiscard]] Result<std::unique_ptr<tensorrt::Engine>> deserialize(std::span<const std::byte> bytes,
                                                                      DeviceId device) const override;

  /// Calls of all contexts.
  struct Counts {
    std::atomic<int> shapes{0};
    std::atomic<int> infers{0};
    std::atomic<int> addresses{0};
    std::atomic<int> scratches{0};
    std::atomic<int> enqueues{0};
    std::atomic<int> contexts{0};          ///< Made.
    std::atomic<int> overtaken{0};         ///< Runs that began before the one before them, on one context, was over.
    std::atomic<std::int64_t> budget{-1};  ///< Of weights, last set; -1: never.
    std::atomic<int> budgets{0};
    void reset() { shapes = infers = addresses = scratches = enqueues = 0; }
  };
  Counts& counts() const { return counts_; }

  std::string capability = "9.0";                ///< Of "the device".
  std::atomic<bool> capturing{false};            ///< Streams are being captured.
  mutable std::atomic<int> failing_enqueue{-1};  ///< The one that fails, counted over all contexts; -1: none.
  bool automatic_budget_fails = false;
  bool explicit_budget_fails = false;

 private:
  KernelRunner& runner_;
  std::uint32_t alignment_;
  mutable Counts counts_{};
  friend class ReferenceEngineContext;
  friend class LoadedReferenceEngine;
};

}  // namespace tandem::testing
