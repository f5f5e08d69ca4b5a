#pragma once

#include "cli/json.h"

#include <tandem/result.h>

#include <string>

namespace tandem::cli::bench {

/// The JSON of an earlier `tandem bench --json`.
/// Errors: NotFound, AccessFailed; InvalidArgument, no JSON, with the offset.
[[nodiscard]] Result<Json> read_bench(const std::string& file);

/// How the modes of two benches of one method compare: new over old, of what a run takes. A ratio that is within both
/// resolutions together is "same".
///
/// Errors: InvalidArgument, naming what differs: another schema, program, data, method, device, processor or inputs; a
///   table that is void; a field that is missing or has another type.
[[nodiscard]] Result<Json> compare_benches(const Json& old_bench, const Json& new_bench);

/// The same as a table.
[[nodiscard]] std::string comparison_text(const Json& comparison);

}  // namespace tandem::cli::bench
