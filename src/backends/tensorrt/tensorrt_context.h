#pragma once

#include "backends/tensorrt/loaded_engine.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tandem::tensorrt {

/// One instance's use of an engine. Tells the library shapes and addresses that changed, and nothing else.
///
/// bind() errors: InvalidArgument (sizes outside the profile, an aliased input without elements, strides that are not
///   dense, a tensor of another device, an output that the program does not plan so large); BackendFailed.
/// enqueue() errors: InvalidArgument (no address, one that is not aligned, an output that is too small); BackendFailed.
class TensorRTContext final : public DelegateContext {
 public:
  TensorRTContext(std::shared_ptr<const LoadedEngine> loaded, std::unique_ptr<EngineContext> context);

  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> arguments) override;
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override;

 private:
  /// What the library was told of a tensor.
  struct Told {
    std::vector<std::int64_t> sizes{};
    void* address = nullptr;
    std::uint64_t bytes = 0;  ///< At `sizes`.
  };
  struct Output : Told {
    std::optional<std::size_t> place{};  ///< In scratch: the program does not want it.
  };

  [[nodiscard]] Status check_input(std::size_t i, const Argument& argument) const;
  [[nodiscard]] Result<bool> tell_shapes(std::span<const Argument* const> arguments);
  [[nodiscard]] Status learn_outputs();
  [[nodiscard]] Status check_output(std::size_t i, const Argument& argument) const;
  void plan_scratch(std::span<const Argument* const> arguments);
  [[nodiscard]] Status tell_scratch(std::span<std::byte> scratch);
  [[nodiscard]] Status tell_address(std::size_t tensor, Told& told, void* address);
  [[nodiscard]] Result<void*> address_of(const EngineTensor& tensor, std::size_t argument, const Told& told,
                                         const Argument& from) const;
  /// Copies for outputs that are written in an input's memory and are wanted elsewhere too.
  [[nodiscard]] Status reflect(EnqueueArgs& args) const;
  [[nodiscard]] bool has_planned_shape(const Output& output, const TensorArg& tensor) const noexcept;

  std::shared_ptr<const LoadedEngine> loaded_;
  std::unique_ptr<EngineContext> context_;
  std::vector<Told> inputs_;
  std::vector<Output> outputs_;
  bool shapes_known_ = false;
  std::size_t engine_scratch_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;  ///< With what this object puts there itself.
  std::byte* scratch_ = nullptr;   ///< Aligned; null: the library was not told yet.
  std::byte* told_scratch_ = nullptr;
};

}  // namespace tandem::tensorrt
