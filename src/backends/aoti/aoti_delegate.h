#pragma once

#include "backends/aoti/aoti_device.h"

#include <tandem/backend.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace tandem::aoti {

/// Options that the backend was given.
struct AotiOptions {
  bool prefers_graph = false;   ///< DelegateCapabilities::prefers_graph.
  bool shares_buffers = false;  ///< DelegateCapabilities::shares_buffers.
};

/// Loads a delegate's library and weights for `device` and makes the first context. Off the host that one has run once
/// on zeros, so that a library which does not fit the device is refused here.
///
/// `method` is what keys are named after where the payload names none.
/// Lifetime: `device` lives as long as the process.
/// Errors: InvalidArgument, no named data; those of Weights::load() and Library::open(), with method, backend and
///   delegate.
[[nodiscard]] Result<std::unique_ptr<Delegate>> prepare_delegate(AotiDevice& device, std::span<const std::byte> payload,
                                                                 const LoadContext& context, std::string_view method,
                                                                 AotiOptions options = {});

}  // namespace tandem::aoti
