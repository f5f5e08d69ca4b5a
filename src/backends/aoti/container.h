#pragma once

#include "backends/aoti/call_state.h"
#include "backends/aoti/library.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::aoti {

/// What a constant is to the model that uses it.
/// Source: ConstantType in PyTorch's torch/csrc/inductor/aoti_runtime/utils.h.
enum class ConstantKind : std::int32_t { Unknown = 0, Parameter = 1, Buffer = 2, TensorConstant = 3, Folded = 4 };

/// One constant as the library declares it.
struct ConstantInfo {
  std::string name{};  ///< Internal; what binding goes by.
  std::string fqn{};   ///< Name in the model; empty for what the compiler made up.
  ConstantKind kind = ConstantKind::Unknown;
  bool tells_kind = false;  ///< Whether the library says what its constants are.
  bool folded = false;      ///< Computed from the others, not stored.
  std::int32_t dtype = -1;  ///< -1 if the library does not tell.
  std::size_t bytes = 0;    ///< In the blob, with padding.
};

/// A running copy of a library's model: constants, and one run at a time.
///
/// Lifetime: shares its library. Handles that it still holds at the end are swept.
/// Thread-safety: none.
class Container {
 public:
  /// Makes one on `device`.
  /// Errors: BackendFailed, with the library's code and text.
  [[nodiscard]] static Result<std::unique_ptr<Container>> create(std::shared_ptr<const Library> library,
                                                                 AotiDevice& device);
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  ~Container();

  [[nodiscard]] std::size_t input_count() const noexcept { return input_count_; }
  [[nodiscard]] std::size_t output_count() const noexcept { return output_count_; }
  /// Empty if the library does not tell.
  [[nodiscard]] std::string input_name(std::size_t input) const;

  /// Errors: IncompatibleDelegate, the library does not say what constants it has; BackendFailed.
  [[nodiscard]] Result<std::vector<ConstantInfo>> constants();
  /// Copies the weights into the container. At most once: a second call would free memory that handles refer to.
  /// The handles of the constants that are not folded, in their order, are the container's.
  /// Errors: IncompatibleDelegate, the library has its weights built in; BackendFailed.
  [[nodiscard]] Result<std::vector<AtenTensor*>> load_blob(std::span<const std::byte> blob);
  /// Whether bind() can be called.
  [[nodiscard]] bool can_bind() const noexcept { return library_->symbols().bind_constants != nullptr; }
  /// Makes the container use the tensors' memory as its constants, all at once. The handles stay the caller's.
  /// Lifetime: the memory outlives the container.
  [[nodiscard]] Status bind(std::span<const ConstantPair> constants);
  /// Computes the folded constants now, so that no run does; on the device's own stream if there is one.
  [[nodiscard]] Status fold();

  /// Runs once, on the device's own word for a stream. Input handles are stolen (their entries become null), outputs
  /// are the caller's to delete. Preconditions: a CallScope of state(); the counts are the container's own; output
  /// entries are null. Errors: BackendFailed, with the library's code and text.
  [[nodiscard]] Status run(std::span<AtenTensor*> inputs, std::span<AtenTensor*> outputs, void* stream);

  [[nodiscard]] CallState& state() noexcept { return state_; }
  [[nodiscard]] const std::shared_ptr<AotiDevice>& device() const noexcept { return device_; }

 private:
  Container(std::shared_ptr<const Library> library, std::shared_ptr<AotiDevice> device) noexcept
      : library_{std::move(library)}, device_{std::move(device)} {
    state_.device = device_.get();
  }

  /// Calls into the library; a status or an exception becomes an Error.
  template <class Function, class... Arguments>
  Status call(const char* what, Function function, Arguments... arguments);
  [[nodiscard]] Error failure(const char* what, std::int32_t status, const char* exception);

  std::shared_ptr<const Library> library_;
  std::shared_ptr<AotiDevice> device_;
  CallState state_;
  ContainerHandle handle_ = nullptr;
  std::size_t input_count_ = 0;
  std::size_t output_count_ = 0;
};

}  // namespace tandem::aoti
