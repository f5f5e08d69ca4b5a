#pragma once

#include "support/fixture_folder.h"

#include <tandem/backend.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

/// A tensor or number that a delegate's argument refers to, with memory of its own (64-byte aligned).
struct ArgumentMemory {
  Argument argument{};
  std::vector<std::int64_t> sizes{};
  std::vector<std::int64_t> strides{};
  std::vector<std::uint8_t> dim_order{};
  std::vector<std::byte> bytes{};
  bool dynamic = false;

  ArgumentMemory() = default;
  ArgumentMemory(const ArgumentMemory&) = delete;
  ArgumentMemory& operator=(const ArgumentMemory&) = delete;

  /// A tensor of these upper bounds; `dim_order` empty means 0..n-1.
  void make_tensor(ScalarType dtype, std::vector<std::int64_t> bounds, std::vector<std::uint8_t> order = {});
  void resize(std::span<const std::int64_t> to);
  [[nodiscard]] std::span<float> floats() {
    return {static_cast<float*>(argument.tensor.data), static_cast<std::size_t>(argument.tensor.numel())};
  }
};

/// One delegate with its context and arguments, driven as a runtime drives it: bind when sizes change or the context
/// asks for it, scratch as bound, results copied where they are not in place.
class DelegateRunner {
 public:
  /// `arguments`: inputs, then outputs; they stay the caller's.
  DelegateRunner(std::unique_ptr<DelegateContext> context, std::vector<ArgumentMemory*> arguments,
                 std::size_t output_count);

  [[nodiscard]] Status run();
  /// A run whose work `recorder` gets, or the stream as if it captured. Results are not taken.
  [[nodiscard]] Status record(Recorder& recorder, bool is_captured = false);
  /// Of the last run.
  [[nodiscard]] const std::vector<OutputResult>& results() const noexcept { return results_; }
  [[nodiscard]] DelegateContext& context() noexcept { return *context_; }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return scratch_.size(); }

 private:
  [[nodiscard]] Status bind_if_needed();
  [[nodiscard]] EnqueueArgs enqueue_args();
  void take(const OutputResult& result, ArgumentMemory& memory);

  std::unique_ptr<DelegateContext> context_;
  std::vector<ArgumentMemory*> memory_;
  std::vector<Argument*> arguments_;
  std::vector<OutputResult> results_;
  std::vector<std::vector<std::int64_t>> bound_;
  std::vector<std::byte> scratch_;
  bool bind_ = true;
};

/// A method that consists of delegate calls only, over the fixture's values.
class FixtureMethod {
 public:
  FixtureMethod(const FixtureFolder& folder, std::string_view method, const Backend& backend);

  void set_input(std::size_t index, const FixtureValue& value);
  [[nodiscard]] Status run();
  [[nodiscard]] ArgumentMemory& input(std::size_t index) { return *values_.at(input_ids_.at(index)); }
  [[nodiscard]] ArgumentMemory& output(std::size_t index) { return *values_.at(output_ids_.at(index)); }
  [[nodiscard]] DelegateRunner& runner(std::size_t index) { return *runners_.at(index); }
  [[nodiscard]] std::size_t delegate_count() const noexcept { return runners_.size(); }
  [[nodiscard]] const Delegate& delegate(std::size_t index) const { return *delegates_.at(index); }

 private:
  void load(const std::string& payload, const LoadContext& context, const Backend& backend,
            std::vector<ArgumentMemory*> arguments);

  std::deque<std::unique_ptr<ArgumentMemory>> values_;
  std::vector<std::size_t> input_ids_;
  std::vector<std::size_t> output_ids_;
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<std::unique_ptr<DelegateRunner>> runners_;
  std::vector<std::size_t> calls_;
};

/// Runs every case of a method as its meta.json orders, on contexts of its own, and compares with the recorded
/// outputs: every difference is a failed expectation. Returns the number of runs.
std::size_t replay(const FixtureFolder& folder, std::string_view method, const Backend& backend);

/// Element `index` in C order.
[[nodiscard]] double element(const ArgumentMemory& memory, std::int64_t index);

}  // namespace tandem::testing
