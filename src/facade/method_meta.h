#pragma once

#include "format/pte/pte.h"

#include <tandem/program.h>

namespace tandem::facade {

/// What the file says of a method, as the public API shows it.
[[nodiscard]] MethodMeta describe_method(const format::Method& method);

/// Errors: MethodNotFound, naming the methods that there are.
[[nodiscard]] Result<const format::Method*> find_method(const Program& program, std::string_view name);

}  // namespace tandem::facade
