#pragma once

#include "cli/pack/manifest.h"

#include <tandem/program_builder.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cli {

/// Gives mutable tensors a place, one behind the other.
class StateMemory {
 public:
  /// What starts anew with a method; shared tensors keep their places.
  void start_method() noexcept {
    host_end_ = 0;
    devices_.clear();
  }
  /// Nothing if the sizes overflow.
  [[nodiscard]] std::optional<PlannedMemory> place(const ManifestTensor& tensor);
  /// The method's arenas on devices.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, DeviceId>> device_arenas() const;

 private:
  struct DeviceArena {
    DeviceId device{};
    std::uint64_t end = 0;
  };

  std::uint64_t host_end_ = 0;
  std::vector<DeviceArena> devices_{};
  std::uint64_t shared_end_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> shared_{};
};

}  // namespace tandem::cli
