#pragma once

#include "device/gpu/gpu_api.h"

#include <string>

namespace tandem::device::gpu {

/// The vendor's failure as an Error. Clears the vendor's last error, so that nobody else finds it.
template <GpuApi Api>
[[nodiscard]] Error native_error(typename Api::Code code, std::string what, DeviceId device) {
  Api::clear_last_error();
  return Error{Api::meaning(code), std::move(what)}
      .with_native(Api::kOrigin, static_cast<std::int64_t>(code),
                   std::string{Api::error_name(code)} + ": " + Api::error_text(code))
      .with_device(to_string(device));
}

}  // namespace tandem::device::gpu
