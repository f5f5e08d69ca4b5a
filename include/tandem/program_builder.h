#pragma once

#include <tandem/device.h>
#include <tandem/export.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

class MethodBuilder;

namespace facade {
struct MethodDraft;
struct ProgramDraft;
}  // namespace facade

/// Something in a method under construction. Only the MethodBuilder that made it takes it.
struct BuilderHandle {
  const MethodBuilder* method = nullptr;
  std::int32_t index = -1;
};
struct ValueHandle : BuilderHandle {};
struct TensorHandle : ValueHandle {};
struct IntHandle : ValueHandle {};
struct DelegateHandle : BuilderHandle {};
/// A place in a chain that instructions jump to.
struct LabelHandle : BuilderHandle {};

/// A place in a method's arena. Arena 2 is the one that the methods of a Module share: what is to be one state in
/// several methods has the same offset there, and the same size and name.
struct PlannedMemory {
  std::uint32_t arena = 1;   ///< 1..255.
  std::uint64_t offset = 0;  ///< In bytes.
};

struct TensorSpec {
  std::vector<std::int64_t> sizes{};
  ScalarType dtype = ScalarType::Float;
  std::vector<std::uint8_t> dim_order{};  ///< Axes from outermost to innermost; empty means 0..n-1.
  bool dynamic = false;                   ///< `sizes` are upper bounds.
  std::optional<PlannedMemory> memory{};  ///< Without it the runtime finds a place; ExecuTorch's does not.
  DeviceId device{};                      ///< The file's tag.
  std::string name{};                     ///< Fully qualified name. A planned tensor with one is a state.
};

struct DelegateSpec {
  std::string id{};  ///< Of the backend.
  std::span<const std::byte> payload{};
  bool inline_payload = false;  ///< In the body instead of a segment; an empty payload always is.
  std::vector<std::pair<std::string, std::string>> compile_specs{};
};

/// The instructions and values of one method. Values and instructions are kept in the order of the calls.
///
/// Misuse does not stop a call: the first error is kept and returned by ProgramBuilder::build(). Bytes and texts that
/// are passed in are copied.
///
/// Lifetime: owned by its ProgramBuilder.
class TANDEM_EXPORT MethodBuilder {
 public:
  ~MethodBuilder();
  MethodBuilder(const MethodBuilder&) = delete;
  MethodBuilder& operator=(const MethodBuilder&) = delete;

  // ---- values -----------------------------------------------------------------------------------------------------

  /// A tensor without contents: an input, an output, or what instructions compute.
  ///
  /// Errors: InvalidArgument, an arena of no such number or an offset that overflows.
  TensorHandle tensor(TensorSpec spec);
  TensorHandle tensor(std::initializer_list<std::int64_t> sizes, ScalarType dtype = ScalarType::Float);
  /// A tensor that the file holds.
  ///
  /// Shapes: `bytes` are the elements in the order of `spec.dim_order`.
  /// Errors: InvalidArgument, `spec.memory` is set; InvalidProgram, another number of bytes than the sizes ask for.
  TensorHandle constant(TensorSpec spec, std::span<const std::byte> bytes);
  TensorHandle constant(std::initializer_list<std::int64_t> sizes, const std::vector<float>& elements);
  /// A tensor that keeps its contents from run to run. It starts with `initial`, or with zeros. Without `spec.memory`
  /// it gets a place of its own in arena 1.
  ///
  /// Errors: as tensor(); InvalidProgram, another number of bytes than the sizes ask for.
  TensorHandle state(TensorSpec spec, std::span<const std::byte> initial = {});
  TensorHandle state(std::initializer_list<std::int64_t> sizes, const std::vector<float>& initial);
  /// A tensor whose bytes are in a data file under the key `spec.name`: a constant, or with `spec.memory` a state's
  /// initial values. See ProgramBuilder::external_data().
  ///
  /// Errors: as tensor(); InvalidArgument, no name.
  TensorHandle external(TensorSpec spec);

  IntHandle number(std::int64_t value);
  ValueHandle real(double value);
  ValueHandle flag(bool value);
  ValueHandle text(std::string_view value);
  ValueHandle none();
  /// A list of new numbers; a list of given ones, which earlier instructions may compute.
  ValueHandle int_list(std::initializer_list<std::int64_t> items);
  ValueHandle int_list_of(const std::vector<IntHandle>& items);
  ValueHandle double_list(std::vector<double> items);
  ValueHandle bool_list(const std::vector<bool>& items);
  ValueHandle tensor_list(const std::vector<TensorHandle>& items);
  /// nullopt stands for None.
  ValueHandle optional_tensor_list(const std::vector<std::optional<TensorHandle>>& items);

  MethodBuilder& inputs(const std::vector<ValueHandle>& values);
  MethodBuilder& outputs(const std::vector<ValueHandle>& values);

  // ---- instructions -----------------------------------------------------------------------------------------------

  /// Calls an operator, "aten::add.out".
  ///
  /// Shapes: `args` are the operator's arguments in the order of its schema, `out` included, and then its result,
  ///   which for an `out` overload is the same value again.
  MethodBuilder& kernel(std::string_view op, const std::vector<ValueHandle>& args);
  [[nodiscard]] DelegateHandle delegate(const DelegateSpec& spec);
  /// Calls a delegate: its inputs, then its outputs.
  MethodBuilder& call(DelegateHandle delegate, const std::vector<ValueHandle>& args);
  MethodBuilder& move(ValueHandle from, ValueHandle to);
  /// Goes on at `target` if `condition`, a bool or a tensor of bool, is false.
  MethodBuilder& jump_if_false(ValueHandle condition, LabelHandle target);
  MethodBuilder& free(TensorHandle tensor);

  /// A label to be placed later, before or behind the jumps to it; here(): one that is placed.
  [[nodiscard]] LabelHandle label();
  [[nodiscard]] LabelHandle here();
  /// The label stands for the next instruction, or for the chain's end.
  ///
  /// Errors: InvalidArgument, it was placed before; from build(): it never was, or a jump of another chain names it.
  MethodBuilder& place(LabelHandle label);
  /// Instructions from now on belong to a new chain, which runs when the ones before it have ended.
  MethodBuilder& next_chain();

  /// Puts an arena on a device, or makes it larger than its tensors need.
  ///
  /// Errors: InvalidArgument, no such number.
  MethodBuilder& arena(std::uint32_t number, DeviceId device, std::uint64_t least_bytes = 0);

 private:
  friend class ProgramBuilder;
  explicit MethodBuilder(std::unique_ptr<facade::MethodDraft> draft) noexcept;
  std::unique_ptr<facade::MethodDraft> draft_;
};

/// Units: bytes, powers of two up to 2^30.
/// Source: the names and defaults are those of ExecutorchBackendConfig in ExecuTorch's exir/capture/_config.py.
struct ProgramBuilderOptions {
  std::uint64_t segment_alignment = 128;
  std::uint64_t constant_tensor_alignment = 16;
  std::uint64_t delegate_alignment = 1;  ///< Of payloads in segments, beyond that of segments.
};

/// Files as bytes. Both start at a multiple of 16, as Program::from_bytes() asks.
struct BuiltProgram {
  std::vector<std::byte> pte{};
  std::vector<std::byte> ptd{};  ///< Empty if there is no external data.
};

/// Makes program files without an exporter, for tests and tools.
///
///     ProgramBuilder program;
///     MethodBuilder& forward = program.method("forward");
///     const auto x = forward.tensor({2, 3}), y = forward.tensor({2, 3});
///     forward.kernel("aten::add.out", {x, x, forward.number(1), y, y}).inputs({x}).outputs({y});
///     TANDEM_TRY(const BuiltProgram built, program.build());
///     TANDEM_TRY(const auto loaded, Program::from_bytes(built.pte));
///
/// Thread-safety: none; the methods of one builder count as the builder.
class TANDEM_EXPORT ProgramBuilder {
 public:
  explicit ProgramBuilder(const ProgramBuilderOptions& options = {});
  ProgramBuilder(ProgramBuilder&&) noexcept;
  ProgramBuilder& operator=(ProgramBuilder&&) noexcept;
  ~ProgramBuilder();

  /// Starts a method. Lifetime: the reference holds as long as the builder, also when that is moved.
  MethodBuilder& method(std::string_view name);
  /// Data that delegates ask for by key, in the `.pte`; external_data(): in the `.ptd`, where an entry gets the dtype,
  /// sizes and order of the external() tensor of that name, if there is one.
  ///
  /// Errors: InvalidArgument, an alignment that is no power of two up to 2^30.
  ProgramBuilder& named_data(std::string_view key, std::span<const std::byte> bytes, std::uint64_t alignment = 1);
  ProgramBuilder& external_data(std::string_view key, std::span<const std::byte> bytes, std::uint64_t alignment = 1);

  /// The same calls give the same bytes. May be called again, and calls may follow.
  ///
  /// Errors: the first of the calls so far. InvalidArgument: a handle of another method, a label (see place()), an
  ///   option that is no alignment, two tensors of one external key with different layouts. InvalidProgram and
  ///   InvalidExternalData: what cannot be in a file, with method, value and field (two methods of one name, a list or
  ///   condition of the wrong kind, a size beyond 32 bits...).
  [[nodiscard]] Result<BuiltProgram> build() const;
  /// Builds and writes the files.
  ///
  /// Errors: as build(); InvalidArgument, there is external data, but no `ptd`; NotFound, AccessFailed (a path).
  [[nodiscard]] Status save(const std::filesystem::path& pte, const std::filesystem::path& ptd = {}) const;

 private:
  std::unique_ptr<facade::ProgramDraft> draft_;
};

}  // namespace tandem
