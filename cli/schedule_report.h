#pragma once

#include "cli/json.h"
#include "format/pte/pte.h"
#include "runtime/schedule.h"
#include "runtime/work_count.h"

#include <string>

namespace tandem::cli {

/// steps, delegates, operators, copies (count and bytes, by direction), host_waits.
[[nodiscard]] Json work_json(const runtime::WorkCount& work);

/// What happens in a run: buffers, values that live elsewhere than the exporter planned them, steps with their streams
/// and the waits of the host. `method` is what the schedule was made from.
[[nodiscard]] Json schedule_json(const runtime::Schedule& schedule, const format::Method& method);

/// The same as tables.
[[nodiscard]] std::string schedule_text(const Json& report);

}  // namespace tandem::cli
