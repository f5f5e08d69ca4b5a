#pragma once

#include "format/ptd/ptd.h"
#include "format/pte/pte.h"

#include <nlohmann/json.hpp>

namespace tandem::testing {

/// What a reader found, in the layout of the fixtures' dump.json, which ExecuTorch's own deserializer wrote.
///
/// Two things in a dump are not kept by the reader and are left out here: a chain's `stacktrace`, and
/// `mutable_data_segments_idx`, which nothing may use. `storage_offset`, `constant_buffer` and the like are written as
/// the only value that the reader accepts or as absent.
[[nodiscard]] nlohmann::json dump(const format::Program& program, format::Bytes file);
[[nodiscard]] nlohmann::json dump(const format::DataFile& data, format::Bytes file);

}  // namespace tandem::testing
