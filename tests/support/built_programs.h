#pragma once

#include <tandem/program_builder.h>

/// Programs made with the builder, of operators that ExecuTorch's portable library has too. All memory is planned, as
/// its runtime wants. Inputs and outputs are float unless said otherwise.
namespace tandem::testing {

/// forward(x[2,3]) = x + 2 * [[1, 2, 3], [4, 5, 6]], with the constant in the file.
[[nodiscard]] ProgramBuilder sum_program();
/// forward(x[3]) = x added `times` times to itself, in a loop.
[[nodiscard]] ProgramBuilder loop_program(int times);
/// forward(x[1]) = 2 * x where x > 0, else x * x.
[[nodiscard]] ProgramBuilder branch_program();
/// forward(x[1]): adds x to a state that starts at 100, and returns it.
[[nodiscard]] ProgramBuilder state_program();
/// forward(x[n,2]), n at most 4: x times [[1, 2, 3], [4, 5, 6]], which is in a data file under "weight".
[[nodiscard]] ProgramBuilder dynamic_program();
/// add(x[1]) and set(x[1]) change one state, named "total", and return it.
[[nodiscard]] ProgramBuilder shared_state_program();

}  // namespace tandem::testing
