#pragma once

#include <tandem/program.h>
#include <tandem/shared_buffers.h>

namespace tandem::facade {

/// `wanted`, if it decides; else what the program's constant method `get_mutable_buffer_metadata` says.
/// Source: ExecuTorch's export of buffers for sessions, version 1.
[[nodiscard]] SharedBuffers shared_buffers(const Program& program, const SharedBuffers& wanted);

}  // namespace tandem::facade
