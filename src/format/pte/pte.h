#pragma once

#include <tandem/device.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

/// What a `.pte` file says, as plain data. Views (string_view, span) point into the file's bytes.
/// Source: ExecuTorch schema/program.fbs and extended header; our own description is docs/file-formats.md.
namespace tandem::format {

using Bytes = std::span<const std::byte>;

struct ExtendedHeader {
  std::uint32_t length = 0;
  std::uint64_t program_bytes = 0;
  std::uint64_t segment_base_offset = 0;
  std::uint64_t segment_data_bytes = 0;  ///< 0 where the header is too short to tell.
};

/// A range of the file: `offset` from byte 0 of the file, already based and checked.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

enum class ShapeDynamism : std::uint8_t { Static = 0, DynamicBound = 1, DynamicUnbound = 2 };

struct Allocation {
  std::uint32_t memory_id = 0;  ///< Index into Method::arenas; at least 1.
  std::uint64_t offset = 0;
};

/// Where a tensor's first bytes come from.
enum class DataSource : std::uint8_t {
  None,      ///< Memory planned (if `allocation`) or supplied later; no initial bytes.
  Constant,  ///< `data`: in this file.
  Initial,   ///< `data`: initial bytes of planned, mutable memory, in this file.
  External,  ///< Constant (no `allocation`) or initial bytes, under `name` in a data file.
};

struct Tensor {
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};      ///< Upper bounds where dynamic.
  std::vector<std::uint8_t> dim_order{};  ///< A permutation, outermost axis first.
  ShapeDynamism dynamism = ShapeDynamism::Static;
  std::uint32_t data_buffer_idx = 0;  ///< As stored; `source` and `data` say what it means.
  std::optional<Allocation> allocation{};
  DataSource source = DataSource::None;
  Bytes data{};             ///< Exactly `bytes` long for Constant and Initial.
  std::uint64_t bytes = 0;  ///< Of the stored sizes.
  bool has_extra_info = false;
  std::string_view name{};  ///< Fully qualified name; empty if none.
  DeviceId device{};        ///< As tagged in the file.
  bool requires_grad = false;
  std::uint8_t layout = 0;
};

/// Indices into Method::values; each names an Int.
struct IntList {
  std::vector<std::int32_t> items{};
};
struct DoubleList {
  std::vector<double> items{};
};
struct BoolList {
  std::vector<std::uint8_t> items{};
};
/// Indices into Method::values; each names a Tensor before the list.
struct TensorList {
  std::vector<std::int32_t> items{};
};
/// As TensorList; -1 = None.
struct OptionalTensorList {
  std::vector<std::int32_t> items{};
};

/// monostate is None.
using ValueSpec = std::variant<std::monostate, std::int64_t, bool, double, Tensor, std::string_view, IntList,
                               DoubleList, BoolList, TensorList, OptionalTensorList>;

struct KernelCall {
  std::uint32_t op = 0;
  std::vector<std::int32_t> args{};
};
struct DelegateCall {
  std::uint32_t delegate = 0;
  std::vector<std::int32_t> args{};
};
struct MoveCall {
  std::int32_t from = 0;
  std::int32_t to = 0;
};
struct JumpFalseCall {
  std::int32_t condition = 0;
  std::uint32_t destination = 0;  ///< Instruction of the same chain; its length means "end of the chain".
};
struct FreeCall {
  std::int32_t value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Chain {
  std::vector<std::int32_t> inputs{};   ///< Not used to run.
  std::vector<std::int32_t> outputs{};  ///< Not used to run.
  std::vector<Instruction> instructions{};
};

struct Operator {
  std::string_view name{};
  std::string_view overload{};
};

struct CompileSpec {
  std::string_view key{};
  Bytes value{};
};

struct Delegate {
  std::string_view id{};
  bool inline_payload = false;
  std::uint32_t payload_index = 0;  ///< Segment, or inline data.
  Bytes payload{};
  std::vector<CompileSpec> compile_specs{};
};

struct Arena {
  std::uint64_t bytes = 0;
  DeviceId device{};
};

struct Method {
  std::string_view name{};
  std::string_view encoded_inputs{};  ///< Pytree text.
  std::string_view encoded_outputs{};
  std::vector<ValueSpec> values{};
  std::vector<std::int32_t> inputs{};
  std::vector<std::int32_t> outputs{};
  std::vector<Chain> chains{};
  std::vector<Operator> operators{};
  std::vector<Delegate> delegates{};
  std::vector<Arena> arenas{};  ///< Index 0 is a placeholder.
};

struct NamedDataEntry {
  std::string_view key{};
  std::uint32_t segment = 0;
  Bytes data{};
};

struct SubsegmentOffsets {
  std::uint32_t segment = 0;
  std::vector<std::uint64_t> offsets{};
};

struct Program {
  std::uint32_t version = 0;
  std::uint32_t root_offset = 0;
  std::optional<ExtendedHeader> header{};
  std::vector<Segment> segments{};
  std::optional<SubsegmentOffsets> constant_segment{};
  std::vector<SubsegmentOffsets> mutable_segments{};
  std::vector<Bytes> inline_delegate_data{};
  std::vector<NamedDataEntry> named_data{};
  std::vector<Method> methods{};  ///< In file order.
};

/// Reads and verifies a whole `.pte`: after success every index, offset, size and jump target in the result is within
/// bounds, every list entry is of the kind that the list asks for, every planned tensor lies within its arena, and
/// every view within `file`. Constant, delegate and named-data bytes are not touched; they may lie at any address.
/// Whether planned tensors take each other's bytes, and whether a delegate takes the kinds of its arguments,
/// is not a question of format.
///
/// Lifetime: the result points into `file`.
/// Errors: InvalidArgument, `file` does not start at a multiple of 16; InvalidProgram, with field and offset, and with
///   method, value or instruction where it lies in one; NotSupported (a shape without bounds, a storage
///   offset).
[[nodiscard]] Result<Program> read_pte(Bytes file);

}  // namespace tandem::format
