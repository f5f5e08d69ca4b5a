#pragma once

#include "support/file_bytes.h"

#include <tandem_schema/flat_tensor_generated.h>
#include <tandem_schema/program_generated.h>

#include <cstddef>
#include <string>
#include <string_view>

/// Files built in code, so that a test shows the one thing that is wrong with its file.
namespace tandem::testing {

inline constexpr std::size_t kSegmentAlignment = 16;

/// A `.pte`: with an extended header of 32 bytes if there is segment data, else without.
[[nodiscard]] FileBytes pte_file(const format::schema::ProgramT& program, std::string_view segment_data = {});
[[nodiscard]] FileBytes ptd_file(const format::schema::FlatTensorT& data, std::string_view segment_data = {});

/// The tables of a file from pte_file().
[[nodiscard]] const format::schema::Program* tables(const FileBytes& file);

/// A method with a value of each kind, each kind of instruction, two arenas, two delegates, and segments for
/// constants, initial values, a payload and named data (in this order, 64 bytes each).
[[nodiscard]] format::schema::ProgramT rich_program();
[[nodiscard]] std::string rich_segment_data();

// Positions in rich_program()'s values.
inline constexpr std::size_t kPlanned = 0;
inline constexpr std::size_t kConstant = 1;
inline constexpr std::size_t kInt = 2;
inline constexpr std::size_t kBool = 3;
inline constexpr std::size_t kDouble = 4;
inline constexpr std::size_t kString = 5;
inline constexpr std::size_t kNull = 6;
inline constexpr std::size_t kIntList = 7;
inline constexpr std::size_t kDoubleList = 8;
inline constexpr std::size_t kBoolList = 9;
inline constexpr std::size_t kTensorList = 10;
inline constexpr std::size_t kOptionalTensorList = 11;
inline constexpr std::size_t kBoolTensor = 12;
inline constexpr std::size_t kInitial = 13;
inline constexpr std::size_t kExternal = 14;
inline constexpr std::size_t kUnplanned = 15;

// Positions in its only chain.
inline constexpr std::size_t kKernelCall = 0;
inline constexpr std::size_t kDelegateCall = 1;
inline constexpr std::size_t kMoveCall = 2;
inline constexpr std::size_t kJumpFalseCall = 3;
inline constexpr std::size_t kFreeCall = 4;

[[nodiscard]] format::schema::ExecutionPlanT& plan(format::schema::ProgramT& program);
[[nodiscard]] format::schema::TensorT& tensor(format::schema::ProgramT& program, std::size_t value);
[[nodiscard]] format::schema::InstructionArgumentsUnion& instruction(format::schema::ProgramT& program,
                                                                     std::size_t index);

}  // namespace tandem::testing
