#pragma once

#include <tandem/program.h>
#include <tandem/result.h>

#include <string_view>

namespace tandem::cli {

/// Asks the operators of a method whether they take the arguments that they get, as loading does, but without
/// delegates.
///
/// Errors: as an operator says, with instruction and argument; NotFound, InvalidExternalData, an external tensor.
[[nodiscard]] Status check_operators(const Program& program, std::string_view method);

}  // namespace tandem::cli
