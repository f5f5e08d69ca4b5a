#pragma once

#include "device/device.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tandem::runtime {

/// The bytes of one mutable buffer, and what they were in the beginning.
///
/// Lifetime: the device and `initial` outlive it.
/// Thread-safety: none; guarded by the turns of the states that use it.
class StateMemory {
 public:
  enum class Home : std::uint8_t {
    Device,   ///< Memory of the method's device.
    Staging,  ///< Host memory that the device's copies reach. On the host device: its memory.
    Host,     ///< Pageable host memory: what a copy reads of it, it reads when it is enqueued.
  };

  /// With its initial contents: `initial`, then zeros. Blocks. Errors: OutOfMemory; of the device's copies.
  [[nodiscard]] static Result<std::shared_ptr<StateMemory>> create(device::Device& device, Home home, std::size_t bytes,
                                                                   std::span<const std::byte> initial);

  [[nodiscard]] std::byte* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] Home home() const noexcept { return home_; }
  /// Blocks. Errors: of the device's copies.
  [[nodiscard]] Status reset();
  /// Tells whether the contents are the initial ones. Blocks. Precondition: nothing that writes them is under way.
  /// Errors: of the device's copies; OutOfMemory.
  [[nodiscard]] Result<bool> is_initial() const;
  /// Tells whether another buffer begins with the same contents.
  [[nodiscard]] bool begins_as(std::span<const std::byte> initial) const noexcept;

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };

  StateMemory(device::Device& device, Home home, std::span<const std::byte> initial) noexcept
      : device_{device}, home_{home}, initial_{initial} {}

  device::Device& device_;
  Home home_;
  std::span<const std::byte> initial_;
  bool is_zero_ = false;  ///< `initial_` is zeros alone.
  device::Buffer buffer_{};
  std::unique_ptr<std::byte, Free> host_{};
  std::span<std::byte> bytes_{};
};

}  // namespace tandem::runtime
