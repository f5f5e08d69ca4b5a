#pragma once

#include "bench/suite/machine.h"
#include "bench/suite/plan.h"

#include <tandem/program.h>
#include <tandem/program_builder.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tandem::suite {

/// A tensor of a model.
struct ModelValue {
  enum class Role : std::uint8_t { Input, Output, Between, State };
  Role role = Role::Between;
  std::vector<std::int64_t> sizes{};  ///< Upper bounds where `dynamic`, which holds for the first extent.
  ScalarType dtype = ScalarType::Float;
  bool dynamic = false;
  bool on_host = false;  ///< Inputs and outputs: callers have them on the host, wherever the method runs.
  [[nodiscard]] std::size_t bytes() const;
  /// The elements of one index of the first extent.
  [[nodiscard]] std::size_t row_bytes() const;
};

/// A call of one delegate.
struct ModelCall {
  Plan plan{};
  std::vector<std::size_t> arguments{};  ///< Values, as in the plan.
};

/// What a scenario runs, from which everything else is made: the program for Tandem, and the same kernels on plain
/// buffers. All inputs, or none, may be on the host; one output.
class Model {
 public:
  std::size_t add(ModelValue value);
  /// Adds a call; `arguments` are inputs and states, then the output. Accesses follow from the values' roles.
  void call(std::vector<KernelSpec> kernels, std::vector<std::size_t> arguments, std::vector<float> weights = {},
            std::size_t scratch_floats = 0);

  [[nodiscard]] const std::vector<ModelValue>& values() const { return values_; }
  [[nodiscard]] const std::vector<ModelCall>& calls() const { return calls_; }
  [[nodiscard]] std::vector<std::size_t> inputs() const { return of_role(ModelValue::Role::Input); }
  [[nodiscard]] std::size_t output() const { return of_role(ModelValue::Role::Output).front(); }

 private:
  [[nodiscard]] std::vector<std::size_t> of_role(ModelValue::Role role) const;
  std::vector<ModelValue> values_{};
  std::vector<ModelCall> calls_{};
};

/// The file of a program with the method "forward", for a method on `device`.
[[nodiscard]] Result<std::shared_ptr<const BuiltProgram>> write_program(const Model& model, DeviceId device);
/// Lifetime: what is returned shares the file.
[[nodiscard]] Result<std::shared_ptr<const Program>> read_program(std::shared_ptr<const BuiltProgram> file);

/// A kernel that computes exactly, however long it takes: x becomes amount - x, an odd number of times. From argument
/// 0 to argument 1, `width` floats, on as few blocks as leave most of a GPU free.
[[nodiscard]] KernelSpec exact_kernel(std::int64_t width, std::int32_t repeats, float amount);
/// `links` delegates in a row, each with such a kernel; another `amount` gives other results.
[[nodiscard]] Model chain_of(int links, std::int32_t repeats, float amount);

/// Numbers from -0.5 to 0.5 with few digits, so that sums of some of them are exact; other ones for another `salt`.
[[nodiscard]] std::vector<float> some_floats(std::size_t count, std::uint32_t salt);

}  // namespace tandem::suite
