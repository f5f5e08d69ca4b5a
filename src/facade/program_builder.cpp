#include <tandem/program_builder.h>

#include "base/checked.h"
#include "base/errno_error.h"
#include "facade/program_draft.h"
#include "format/write_options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <numeric>
#include <utility>

namespace tandem {

using facade::MethodDraft;

namespace {

/// "execution_plan" is not what a caller of the builder knows, so errors name the call.
Error misuse(const MethodDraft& draft, std::string call, std::string message) {
  return Error{ErrorCode::InvalidArgument, std::move(message)}
      .with_method(std::string{draft.method.name})
      .with_field(std::move(call));
}

/// The index behind a handle; -1, with the error kept, if it is not of this method.
std::int32_t index_of(MethodDraft& draft, const MethodBuilder* method, const BuilderHandle& handle,
                      std::string_view call, std::size_t argument) {
  if (handle.method == method) return handle.index;
  draft.program->fail(
      misuse(draft, std::string{call}, handle.method == nullptr ? "an empty handle" : "a handle of another method")
          .with_argument(static_cast<int>(argument)));
  return -1;
}

template <class Handle>
std::vector<std::int32_t> indices_of(MethodDraft& draft, const MethodBuilder* method,
                                     const std::vector<Handle>& handles, std::string_view call) {
  std::vector<std::int32_t> out;
  out.reserve(handles.size());
  for (const Handle& handle : handles) out.push_back(index_of(draft, method, handle, call, out.size()));
  return out;
}

std::int32_t add_value(MethodDraft& draft, format::ValueSpec value) {
  draft.method.values.push_back(std::move(value));
  return static_cast<std::int32_t>(draft.method.values.size() - 1);
}

void add_instruction(MethodDraft& draft, format::Instruction instruction) {
  draft.method.chains.back().instructions.push_back(std::move(instruction));
}

/// Arena `number`, made if it is new; null, with the error kept, if there cannot be one.
format::Arena* arena_of(MethodDraft& draft, std::uint32_t number, std::string_view call) {
  std::vector<format::Arena>& arenas = draft.method.arenas;
  if (number < 1 || number > facade::kMaxArena) {
    draft.program->fail(misuse(draft, std::string{call}, "no such arena")
                            .with_expected(fmt::format("1..{}", facade::kMaxArena), fmt::to_string(number)));
    return nullptr;
  }
  if (arenas.size() <= number) arenas.resize(number + 1);
  return &arenas[number];
}

format::Tensor describe(MethodDraft& draft, TensorSpec spec, std::string_view call) {
  format::Tensor out;
  out.dtype = spec.dtype;
  out.sizes = std::move(spec.sizes);
  out.dim_order = std::move(spec.dim_order);
  if (out.dim_order.empty()) {
    out.dim_order.resize(out.sizes.size());
    std::iota(out.dim_order.begin(), out.dim_order.end(), std::uint8_t{0});
  }
  out.dynamism = spec.dynamic ? format::ShapeDynamism::DynamicBound : format::ShapeDynamism::Static;
  out.device = spec.device;
  out.name = draft.program->keep(spec.name);
  // Sizes that have no byte count are refused when the file is written.
  out.bytes = base::checked_bytes(std::span<const std::int64_t>{out.sizes}, item_bytes(out.dtype)).value_or(0);
  if (spec.memory && arena_of(draft, spec.memory->arena, call) != nullptr) {
    out.allocation = {spec.memory->arena, spec.memory->offset};
    if (!base::checked_add(out.bytes, spec.memory->offset)) {
      draft.program->fail(misuse(draft, std::string{call}, "memory beyond what 64 bits can count"));
    }
  }
  return out;
}

format::Bytes bytes_of(const std::vector<float>& elements) { return std::as_bytes(std::span{elements}); }

Status write_file(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  const auto failed = [&] { return base::errno_error("file cannot be written", errno).with_file(path.string()); };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return failed();
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!written) {
    Error error = failed();
    std::fclose(file);
    return error;
  }
  if (std::fclose(file) != 0) return failed();
  return {};
}

}  // namespace

// ---- values -------------------------------------------------------------------------------------------------------

MethodBuilder::MethodBuilder(std::unique_ptr<MethodDraft> draft) noexcept : draft_{std::move(draft)} {}
MethodBuilder::~MethodBuilder() = default;

TensorHandle MethodBuilder::tensor(TensorSpec spec) {
  return {{{this, add_value(*draft_, describe(*draft_, std::move(spec), "tensor"))}}};
}
TensorHandle MethodBuilder::tensor(std::initializer_list<std::int64_t> sizes, ScalarType dtype) {
  return tensor({.sizes = sizes, .dtype = dtype});
}

TensorHandle MethodBuilder::constant(TensorSpec spec, std::span<const std::byte> bytes) {
  if (spec.memory) draft_->program->fail(misuse(*draft_, "constant", "a constant is not planned"));
  format::Tensor tensor = describe(*draft_, std::move(spec), "constant");
  tensor.source = format::DataSource::Constant;
  tensor.data = draft_->program->keep(bytes);
  return {{{this, add_value(*draft_, std::move(tensor))}}};
}
TensorHandle MethodBuilder::constant(std::initializer_list<std::int64_t> sizes, const std::vector<float>& elements) {
  return constant({.sizes = sizes}, bytes_of(elements));
}

TensorHandle MethodBuilder::state(TensorSpec spec, std::span<const std::byte> initial) {
  if (!spec.memory) draft_->unplaced_states.push_back(draft_->method.values.size());
  format::Tensor tensor = describe(*draft_, std::move(spec), "state");
  if (!initial.empty()) {
    tensor.source = format::DataSource::Initial;
    tensor.data = draft_->program->keep(initial);
  }
  return {{{this, add_value(*draft_, std::move(tensor))}}};
}
TensorHandle MethodBuilder::state(std::initializer_list<std::int64_t> sizes, const std::vector<float>& initial) {
  return state({.sizes = sizes}, bytes_of(initial));
}

TensorHandle MethodBuilder::external(TensorSpec spec) {
  if (spec.name.empty()) draft_->program->fail(misuse(*draft_, "external", "external data needs a name"));
  format::Tensor tensor = describe(*draft_, std::move(spec), "external");
  tensor.source = format::DataSource::External;
  return {{{this, add_value(*draft_, std::move(tensor))}}};
}

IntHandle MethodBuilder::number(std::int64_t value) { return {{{this, add_value(*draft_, value)}}}; }
ValueHandle MethodBuilder::real(double value) { return {{this, add_value(*draft_, value)}}; }
ValueHandle MethodBuilder::flag(bool value) { return {{this, add_value(*draft_, value)}}; }
ValueHandle MethodBuilder::text(std::string_view value) {
  return {{this, add_value(*draft_, draft_->program->keep(value))}};
}
ValueHandle MethodBuilder::none() { return {{this, add_value(*draft_, {})}}; }

ValueHandle MethodBuilder::int_list(std::initializer_list<std::int64_t> items) {
  std::vector<IntHandle> numbers;
  for (const std::int64_t item : items) numbers.push_back(number(item));
  return int_list_of(numbers);
}
ValueHandle MethodBuilder::int_list_of(const std::vector<IntHandle>& items) {
  return {{this, add_value(*draft_, format::IntList{indices_of(*draft_, this, items, "int_list_of")})}};
}
ValueHandle MethodBuilder::double_list(std::vector<double> items) {
  return {{this, add_value(*draft_, format::DoubleList{std::move(items)})}};
}
ValueHandle MethodBuilder::bool_list(const std::vector<bool>& items) {
  return {{this, add_value(*draft_, format::BoolList{{items.begin(), items.end()}})}};
}
ValueHandle MethodBuilder::tensor_list(const std::vector<TensorHandle>& items) {
  return {{this, add_value(*draft_, format::TensorList{indices_of(*draft_, this, items, "tensor_list")})}};
}
ValueHandle MethodBuilder::optional_tensor_list(const std::vector<std::optional<TensorHandle>>& items) {
  format::OptionalTensorList list;
  for (const auto& item : items) {
    const std::size_t argument = list.items.size();
    list.items.push_back(item ? index_of(*draft_, this, *item, "optional_tensor_list", argument) : -1);
  }
  return {{this, add_value(*draft_, std::move(list))}};
}

MethodBuilder& MethodBuilder::inputs(const std::vector<ValueHandle>& values) {
  draft_->method.inputs = indices_of(*draft_, this, values, "inputs");
  return *this;
}
MethodBuilder& MethodBuilder::outputs(const std::vector<ValueHandle>& values) {
  draft_->method.outputs = indices_of(*draft_, this, values, "outputs");
  return *this;
}

// ---- instructions -------------------------------------------------------------------------------------------------

MethodBuilder& MethodBuilder::kernel(std::string_view op, const std::vector<ValueHandle>& args) {
  const std::size_t dot = op.find('.');
  const std::string_view name = op.substr(0, dot);
  const std::string_view overload = dot == std::string_view::npos ? std::string_view{} : op.substr(dot + 1);
  std::vector<format::Operator>& known = draft_->method.operators;
  std::uint32_t index = 0;
  while (index < known.size() && (known[index].name != name || known[index].overload != overload)) ++index;
  if (index == known.size()) known.push_back({draft_->program->keep(name), draft_->program->keep(overload)});
  add_instruction(*draft_, format::KernelCall{index, indices_of(*draft_, this, args, fmt::format("kernel {}", op))});
  return *this;
}

DelegateHandle MethodBuilder::delegate(const DelegateSpec& spec) {
  facade::ProgramDraft& program = *draft_->program;
  format::Delegate delegate{.id = program.keep(spec.id),
                            .inline_payload = spec.inline_payload || spec.payload.empty(),
                            .payload = program.keep(spec.payload)};
  for (const auto& [key, value] : spec.compile_specs) {
    delegate.compile_specs.push_back({program.keep(key), std::as_bytes(std::span{program.keep(value)})});
  }
  draft_->method.delegates.push_back(std::move(delegate));
  return {{this, static_cast<std::int32_t>(draft_->method.delegates.size() - 1)}};
}

MethodBuilder& MethodBuilder::call(DelegateHandle delegate, const std::vector<ValueHandle>& args) {
  const std::int32_t index = index_of(*draft_, this, delegate, "call", 0);
  add_instruction(*draft_, format::DelegateCall{static_cast<std::uint32_t>(index),
                                                indices_of(*draft_, this, args, fmt::format("call {}", index))});
  return *this;
}

MethodBuilder& MethodBuilder::move(ValueHandle from, ValueHandle to) {
  add_instruction(*draft_, format::MoveCall{index_of(*draft_, this, from, "move", 0),  //
                                            index_of(*draft_, this, to, "move", 1)});
  return *this;
}

MethodBuilder& MethodBuilder::jump_if_false(ValueHandle condition, LabelHandle target) {
  const std::int32_t label = index_of(*draft_, this, target, "jump_if_false", 1);
  add_instruction(*draft_, format::JumpFalseCall{index_of(*draft_, this, condition, "jump_if_false", 0),
                                                 static_cast<std::uint32_t>(label)});
  return *this;
}

MethodBuilder& MethodBuilder::free(TensorHandle tensor) {
  add_instruction(*draft_, format::FreeCall{index_of(*draft_, this, tensor, "free", 0)});
  return *this;
}

LabelHandle MethodBuilder::label() {
  draft_->labels.emplace_back();
  return {{this, static_cast<std::int32_t>(draft_->labels.size() - 1)}};
}
LabelHandle MethodBuilder::here() {
  const LabelHandle out = label();
  place(out);
  return out;
}

MethodBuilder& MethodBuilder::place(LabelHandle label) {
  const std::int32_t index = index_of(*draft_, this, label, "place", 0);
  if (index < 0) return *this;
  facade::LabelDraft& draft = draft_->labels[static_cast<std::size_t>(index)];
  if (draft.instruction) draft_->program->fail(misuse(*draft_, "place", "a label is placed twice"));
  draft.instruction = static_cast<std::uint32_t>(draft_->method.chains.back().instructions.size());
  draft.chain = draft_->method.chains.size() - 1;
  return *this;
}

MethodBuilder& MethodBuilder::next_chain() {
  draft_->method.chains.emplace_back();
  return *this;
}

MethodBuilder& MethodBuilder::arena(std::uint32_t number, DeviceId device, std::uint64_t least_bytes) {
  if (format::Arena* arena = arena_of(*draft_, number, "arena"); arena != nullptr) *arena = {least_bytes, device};
  return *this;
}

// ---- program ------------------------------------------------------------------------------------------------------

ProgramBuilder::ProgramBuilder(const ProgramBuilderOptions& options)
    : draft_{std::make_unique<facade::ProgramDraft>()} {
  draft_->options = options;
}
ProgramBuilder::ProgramBuilder(ProgramBuilder&&) noexcept = default;
ProgramBuilder& ProgramBuilder::operator=(ProgramBuilder&&) noexcept = default;
ProgramBuilder::~ProgramBuilder() = default;

MethodBuilder& ProgramBuilder::method(std::string_view name) {
  auto draft = std::make_unique<MethodDraft>();
  draft->program = draft_.get();
  draft->method.name = draft_->keep(name);
  draft->method.arenas.resize(2);  // the placeholder, and the one that every exporter has
  draft->method.chains.emplace_back();
  draft_->methods.push_back(draft.get());
  draft_->builders.push_back(std::unique_ptr<MethodBuilder>{new MethodBuilder{std::move(draft)}});
  return *draft_->builders.back();
}

namespace {

void add_data(facade::ProgramDraft& draft, std::vector<facade::DataDraft>& list, std::string_view key,
              format::Bytes bytes, std::uint64_t alignment) {
  if (!format::is_alignment(alignment)) {
    draft.fail(facade::not_an_alignment(alignment).with_key(std::string{key}));
  }
  list.push_back({draft.keep(key), draft.keep(bytes), alignment});
}

}  // namespace

ProgramBuilder& ProgramBuilder::named_data(std::string_view key, std::span<const std::byte> bytes,
                                           std::uint64_t alignment) {
  add_data(*draft_, draft_->named_data, key, bytes, alignment);
  return *this;
}
ProgramBuilder& ProgramBuilder::external_data(std::string_view key, std::span<const std::byte> bytes,
                                              std::uint64_t alignment) {
  add_data(*draft_, draft_->external_data, key, bytes, alignment);
  return *this;
}

Result<BuiltProgram> ProgramBuilder::build() const { return facade::assemble(*draft_); }

Status ProgramBuilder::save(const std::filesystem::path& pte, const std::filesystem::path& ptd) const {
  TANDEM_TRY(const BuiltProgram built, build());
  if (!built.ptd.empty()) {
    if (ptd.empty()) return Error{ErrorCode::InvalidArgument, "external data, but no path for it"};
    TANDEM_CHECK_OK(write_file(ptd, built.ptd));
  }
  return write_file(pte, built.pte);
}

}  // namespace tandem
