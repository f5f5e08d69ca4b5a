#pragma once

#include "backends/custom/arguments.h"
#include "backends/custom/library.h"
#include "device/stream.h"

#include <tandem/backend.h>
#include <tandem/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tandem::custom {

/// What all instances of one delegate are made from. Immutable.
struct Setup {
  std::shared_ptr<const Library> library{};
  DeviceId device{};               ///< Where its calls run.
  std::optional<Stream> stream{};  ///< On a GPU: for what create() does there, and to have the device current.
  ArgumentTable arguments;         ///< As far as the program tells.
  std::vector<std::uint8_t> open;  ///< By argument: its sizes vary.
  std::span<const std::byte> blob{};
  std::vector<std::byte> owned_blob{};  ///< Backs `blob` where the file does not align it.

  explicit Setup(ArgumentTable table) : arguments{std::move(table)} {}
};

/// What a library says of its delegate.
struct Declaration {
  std::size_t output_count = 1;
  std::vector<AccessMode> accesses{};
  friend bool operator==(const Declaration&, const Declaration&) = default;
};

/// Where a library writes its text.
class ErrorText {
 public:
  [[nodiscard]] char* data() noexcept { return text_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  void clear() noexcept { text_[0] = '\0'; }
  /// An Error of the library's `function`, which returned `code`.
  [[nodiscard]] Error error(const char* function, std::int32_t code) noexcept;

 private:
  std::array<char, 512> text_{};
};

/// Calls `function(handle)`, which returns a Status, with the stream's device current.
template <class Function>
[[nodiscard]] Status launch_on(device::Stream& stream, Function&& function) {
  using Callee = std::remove_reference_t<Function>;
  const auto call = [](void* data, void* handle) -> Status { return (*static_cast<Callee*>(data))(handle); };
  return stream.launch_native(call, &function);
}

/// One state of a library: what create() made.
///
/// Lifetime: shares its setup. The destructor calls destroy(): no call of the state may be under way.
class Instance {
 public:
  /// Errors: BackendFailed, create() failed, with its code and text; IncompatibleDelegate, what it declares cannot be,
  /// or
  ///   the program leaves sizes open and the library has no shapes(); InvalidProgram, the call has fewer arguments than
  ///   the library has outputs.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const Setup> setup);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  [[nodiscard]] const Setup& setup() const noexcept { return *setup_; }
  [[nodiscard]] const TandemCustomDelegate& table() const noexcept { return setup_->library->table(); }
  [[nodiscard]] const Declaration& declaration() const noexcept { return declaration_; }
  [[nodiscard]] void* state() const noexcept { return state_; }

 private:
  explicit Instance(std::shared_ptr<const Setup> setup) noexcept : setup_{std::move(setup)} {}
  [[nodiscard]] Status call_create(TandemCustomSetup& call);
  [[nodiscard]] Status read_declaration(const TandemCustomSetup& call);
  /// On the device, or right away.
  template <class Function>
  [[nodiscard]] Status on_device(Function&& function) const;

  std::shared_ptr<const Setup> setup_;
  Declaration declaration_{};
  void* state_ = nullptr;
  bool created_ = false;
};

}  // namespace tandem::custom
