#pragma once

#include "bench/suite/machine.h"

#include <tandem/backend.h>

#include <memory>

namespace tandem::suite {

inline constexpr const char* kBackendId = "SuiteBackend";

/// The backend whose payloads are plans. Weights are brought to the machine when a program is loaded.
/// Lifetime: the machine outlives it.
[[nodiscard]] std::shared_ptr<Backend> make_plan_backend(Machine& machine);

}  // namespace tandem::suite
