#pragma once

#include <tandem/export.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <tandem/result.h>

namespace tandem {

enum class DeviceType : std::int8_t { Host = 0, Cuda = 1, Hip = 2 };

/// One device of this machine. `host` has the single index 0.
struct DeviceId {
  DeviceType type = DeviceType::Host;
  std::int16_t index = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// "host", "cuda:1".
[[nodiscard]] TANDEM_EXPORT std::string to_string(DeviceId device);
/// Accepts "host", "cpu", "cuda", "cuda:N", "hip", "hip:N".
/// Errors: InvalidArgument for any other text.
[[nodiscard]] TANDEM_EXPORT Result<DeviceId> parse_device(std::string_view text);

}  // namespace tandem
