#include "format/pte/method_writer.h"

#include "format/pte/value_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace tandem::format {
namespace {

using flatbuffers::Offset;

class MethodWriter {
 public:
  MethodWriter(TableWriter& writer, const FieldPath& field, const Method& method)
      : writer_{writer}, builder_{writer.builder()}, field_{field}, method_{method} {}

  Result<Offset<schema::ExecutionPlan>> write() {
    TANDEM_TRY(const auto values, write_values(writer_, field_, method_.values));
    TANDEM_TRY(const auto chains, write_chains());
    TANDEM_TRY(const auto operators, write_operators());
    TANDEM_TRY(const auto delegates, write_delegates());
    TANDEM_TRY(const auto sizes, write_arena_sizes());
    TANDEM_TRY(const auto devices, write_arena_devices());
    const auto name = writer_.text(method_.name);
    const auto encoded_inputs = writer_.text(method_.encoded_inputs);
    const auto container =
        schema::CreateContainerMetadata(builder_, encoded_inputs, writer_.text(method_.encoded_outputs));
    const auto inputs = writer_.list<std::int32_t>(method_.inputs);
    const auto outputs = writer_.list<std::int32_t>(method_.outputs);
    TANDEM_CHECK_OK(writer_.check_room(field_));
    return schema::CreateExecutionPlan(builder_, name, container, values, inputs, outputs, chains, operators, delegates,
                                       sizes, devices);
  }

 private:
  template <class Table>
  using Tables = Offset<flatbuffers::Vector<Offset<Table>>>;

  /// One table per item.
  template <class Table, class Item, class Write>
  Result<Tables<Table>> write_each(const FieldPath& parent, std::string_view name, const std::vector<Item>& items,
                                   Write write) {
    std::vector<Offset<Table>> out;
    out.reserve(items.size());
    for (const Item& item : items) {
      const FieldPath field = parent.child(name, out.size());
      TANDEM_TRY(const Offset<Table> table, write(field, item));
      TANDEM_CHECK_OK(writer_.check_room(field));
      out.push_back(table);
    }
    return writer_.tables(out);
  }

  Result<Tables<schema::Chain>> write_chains() {
    return write_each<schema::Chain>(
        field_, "chains", method_.chains,
        [this](const FieldPath& field, const Chain& chain) -> Result<Offset<schema::Chain>> {
          const auto write = [this](const FieldPath& /*field*/, const Instruction& instruction) {
            return std::visit([this](const auto& call) { return write_call(call); }, instruction);
          };
          TANDEM_TRY(const auto instructions,
                     write_each<schema::Instruction>(field, "instructions", chain.instructions, write));
          const auto inputs = writer_.list<std::int32_t>(chain.inputs);
          const auto outputs = writer_.list<std::int32_t>(chain.outputs);
          return schema::CreateChain(builder_, inputs, outputs, instructions);
        });
  }

  template <class Call>
  Result<Offset<schema::Instruction>> wrap(Offset<Call> call) {
    constexpr auto kKind = schema::InstructionArgumentsTraits<Call>::enum_value;
    return schema::CreateInstruction(builder_, kKind, call.Union());
  }
  // Indices beyond 2^31 become negative, which reading back refuses.
  Result<Offset<schema::Instruction>> write_call(const KernelCall& call) {
    const auto args = writer_.list<std::int32_t>(call.args);
    return wrap(schema::CreateKernelCall(builder_, static_cast<std::int32_t>(call.op), args));
  }
  Result<Offset<schema::Instruction>> write_call(const DelegateCall& call) {
    const auto args = writer_.list<std::int32_t>(call.args);
    return wrap(schema::CreateDelegateCall(builder_, static_cast<std::int32_t>(call.delegate), args));
  }
  Result<Offset<schema::Instruction>> write_call(const MoveCall& call) {
    return wrap(schema::CreateMoveCall(builder_, call.from, call.to));
  }
  Result<Offset<schema::Instruction>> write_call(const JumpFalseCall& call) {
    return wrap(schema::CreateJumpFalseCall(builder_, call.condition, static_cast<std::int32_t>(call.destination)));
  }
  Result<Offset<schema::Instruction>> write_call(const FreeCall& call) {
    return wrap(schema::CreateFreeCall(builder_, call.value));
  }

  Result<Tables<schema::Operator>> write_operators() {
    return write_each<schema::Operator>(
        field_, "operators", method_.operators,
        [this](const FieldPath& /*field*/, const Operator& op) -> Result<Offset<schema::Operator>> {
          const auto name = writer_.text(op.name);
          return schema::CreateOperator(builder_, name, writer_.text(op.overload));
        });
  }

  Result<Tables<schema::BackendDelegate>> write_delegates() {
    const auto write_spec = [this](const FieldPath& /*field*/,
                                   const CompileSpec& spec) -> Result<Offset<schema::CompileSpec>> {
      const auto key = writer_.text(spec.key);
      return schema::CreateCompileSpec(builder_, key, writer_.bytes(spec.value));
    };
    return write_each<schema::BackendDelegate>(
        field_, "delegates", method_.delegates,
        [&](const FieldPath& field, const Delegate& delegate) -> Result<Offset<schema::BackendDelegate>> {
          TANDEM_TRY(const auto specs,
                     write_each<schema::CompileSpec>(field, "compile_specs", delegate.compile_specs, write_spec));
          const auto location = delegate.inline_payload ? schema::DataLocation::INLINE : schema::DataLocation::SEGMENT;
          const auto payload = schema::CreateBackendDelegateDataReference(builder_, location, delegate.payload_index);
          return schema::CreateBackendDelegate(builder_, writer_.text(delegate.id), payload, specs);
        });
  }

  Result<Offset<flatbuffers::Vector<std::int64_t>>> write_arena_sizes() {
    std::vector<std::uint64_t> sizes;
    for (const Arena& arena : method_.arenas) {
      if (!std::in_range<std::int64_t>(arena.bytes)) {
        return writer_
            .fault()(field_.child("non_const_buffer_sizes", sizes.size()), nullptr, "more bytes than an arena can have")
            .with_expected(fmt::format("at most {}", std::numeric_limits<std::int64_t>::max()),
                           fmt::to_string(arena.bytes));
      }
      sizes.push_back(arena.bytes);
    }
    return writer_.list<std::int64_t>(sizes);
  }

  Result<Tables<schema::NonConstBufferDevice>> write_arena_devices() {
    std::vector<Offset<schema::NonConstBufferDevice>> out;
    for (std::size_t i = 0; i < method_.arenas.size(); ++i) {
      const DeviceId device = method_.arenas[i].device;
      if (device.type == DeviceType::Host) continue;
      const FieldPath field = field_.child("non_const_buffer_device", out.size());
      TANDEM_TRY(const StoredDevice stored, stored_device(writer_.fault(), field, device));
      out.push_back(
          schema::CreateNonConstBufferDevice(builder_, static_cast<std::int32_t>(i), stored.type, stored.index));
      TANDEM_CHECK_OK(writer_.check_room(field));
    }
    if (out.empty()) return Tables<schema::NonConstBufferDevice>{};
    return writer_.tables(out);
  }

  TableWriter& writer_;
  flatbuffers::FlatBufferBuilder& builder_;
  const FieldPath& field_;
  const Method& method_;
};

}  // namespace

Result<Offset<schema::ExecutionPlan>> write_method(TableWriter& writer, const FieldPath& field, const Method& method) {
  auto written = MethodWriter{writer, field, method}.write();
  if (!written.ok()) return std::move(written).error().with_method(std::string{method.name});
  return written;
}

}  // namespace tandem::format
