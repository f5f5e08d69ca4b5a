#pragma once

#include "cli/inspect_files.h"
#include "cli/json.h"

#include <tandem/backend.h>

/// What `tandem inspect` says, as JSON; the text is made from the same object. docs/command-line.md has every field.
namespace tandem::cli {

/// A program and what of it is available with these `backends` and the operators that are built in.
[[nodiscard]] Json program_json(const InspectedProgram& program, const BackendRegistry& backends);

[[nodiscard]] Json data_json(const InspectedData& data);

}  // namespace tandem::cli
