#pragma once

#include "backends/custom/instance.h"

#include <tandem/backend.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::custom {

/// One state of a library, and its calls. enqueue() allocates nothing.
class CustomContext final : public DelegateContext {
 public:
  explicit CustomContext(std::unique_ptr<Instance> instance);

  /// Errors: as ArgumentTable::check(); BackendFailed, the library's functions failed, or shapes() gives sizes that an
  ///   output has no room for (argument, expected, found).
  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> arguments) override;
  /// Errors: BackendFailed, with the library's code and text.
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override;

 private:
  /// Sizes and strides of one output, where shapes() decides them.
  struct OutputShape {
    std::vector<std::int64_t> sizes{};
    std::vector<std::int64_t> strides{};
  };

  [[nodiscard]] std::size_t first_output() const noexcept { return arguments_.size() - outputs_.size(); }
  [[nodiscard]] bool has_shapes() const noexcept { return instance_->table().shapes != nullptr; }
  [[nodiscard]] bool numbers_changed(std::span<Argument* const> arguments) const noexcept;
  /// Asks the library for the outputs' sizes. The inputs are set.
  [[nodiscard]] Status find_shapes(std::span<const Argument* const> arguments);
  [[nodiscard]] Status take_shape(std::size_t output, const TensorArg& planned);
  [[nodiscard]] Result<std::size_t> find_scratch();
  void begin_call(void* stream, std::span<std::byte> scratch) noexcept;

  std::unique_ptr<Instance> instance_;
  ArgumentTable arguments_;
  std::vector<OutputShape> outputs_;
  std::vector<std::int64_t*> output_sizes_;  ///< What shapes() writes to.
  std::vector<std::uint64_t> numbers_;       ///< At the last find_shapes().
  ErrorText text_;
  TandemCustomCall call_{};
};

}  // namespace tandem::custom
