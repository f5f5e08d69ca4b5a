#pragma once

#include <tandem/backend.h>

#include <memory>

namespace tandem::aoti {

/// AOTInductor libraries whose code runs on the host, `AotiHostBackend` in programs.
///
/// Compile specs (`target_device` and others) were the exporter's; none matters here.
[[nodiscard]] std::shared_ptr<Backend> make_aoti_host_backend();

}  // namespace tandem::aoti
