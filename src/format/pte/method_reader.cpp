#include "format/pte/method_reader.h"

#include "format/pte/value_reader.h"

#include <utility>

namespace tandem::format {
namespace {

class MethodReader {
 public:
  MethodReader(TableReader& reader, const FieldPath& field, const schema::ExecutionPlan& table,
               const ProgramParts& parts)
      : reader_{reader}, fault_{reader.fault()}, field_{field}, table_{table}, parts_{parts} {}

  Result<Method> read() {
    TANDEM_TRY(out_.name, reader_.text(field_.child("name"), &table_, table_.name()));
    if (Status status = read_parts(); !status.ok())
      return std::move(status).error().with_method(std::string{out_.name});
    return std::move(out_);
  }

 private:
  using Int32List = flatbuffers::Vector<std::int32_t>;

  // In the order of need: tensors lie in arenas, lists and instructions name values.
  Status read_parts() {
    TANDEM_CHECK_OK(read_container());
    TANDEM_CHECK_OK(read_arenas());
    TANDEM_CHECK_OK(reader_.require(field_.child("values"), &table_, table_.values()));
    const TensorMemory memory{out_.arenas, parts_.constants, parts_.initials};
    TANDEM_TRY(out_.values, read_values(reader_, field_, *table_.values(), memory));
    TANDEM_TRY(out_.inputs, value_list(field_, "inputs", &table_, table_.inputs()));
    TANDEM_TRY(out_.outputs, value_list(field_, "outputs", &table_, table_.outputs()));
    TANDEM_CHECK_OK(read_operators());
    TANDEM_CHECK_OK(read_delegates());
    return read_chains();
  }

  Status read_container() {
    const auto* container = table_.container_meta_type();
    if (container == nullptr) return {};
    const FieldPath field = field_.child("container_meta_type");
    TANDEM_TRY(out_.encoded_inputs,
               reader_.optional_text(field.child("encoded_inp_str"), container->encoded_inp_str()));
    TANDEM_TRY(out_.encoded_outputs,
               reader_.optional_text(field.child("encoded_out_str"), container->encoded_out_str()));
    return {};
  }

  Status read_arenas() {
    const auto* sizes = table_.non_const_buffer_sizes();
    const FieldPath sizes_field = field_.child("non_const_buffer_sizes");
    TANDEM_TRY(const auto bytes, reader_.list<std::int64_t>(sizes_field, &table_, sizes));
    if (bytes.empty()) {
      return fault_(sizes_field, sizes, "the placeholder for arena 0 is missing").with_expected("at least 1", "0");
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] < 0) {
        return fault_(field_.child("non_const_buffer_sizes", i), sizes, "a negative arena size")
            .with_expected("at least 0", fmt::to_string(bytes[i]));
      }
      out_.arenas.push_back({static_cast<std::uint64_t>(bytes[i]), DeviceId{}});
    }
    const auto* devices = table_.non_const_buffer_device();
    if (devices == nullptr) return {};
    std::vector<bool> placed(out_.arenas.size(), false);
    std::size_t entry = 0;
    for (const schema::NonConstBufferDevice* device : *devices) {
      const FieldPath field = field_.child("non_const_buffer_device", entry++);
      const std::int32_t index = device->buffer_idx();
      TANDEM_CHECK_OK(
          reader_.check_index(field.child("buffer_idx"), device, index, out_.arenas.size(), "memory arenas", 1));
      const auto arena = static_cast<std::size_t>(index);
      if (placed[arena]) {
        return fault_(field.child("buffer_idx"), device, "two devices for one arena")
            .with_expected("each arena at most once", fmt::to_string(index));
      }
      placed[arena] = true;
      TANDEM_TRY(out_.arenas[arena].device,
                 read_device(fault_, field, device, device->device_type(), device->device_index()));
    }
    return {};
  }

  Status read_operators() {
    const auto* operators = table_.operators();
    if (operators == nullptr) return {};
    for (const schema::Operator* op : *operators) {
      const FieldPath field = field_.child("operators", out_.operators.size());
      Operator out;
      TANDEM_TRY(out.name, reader_.text(field.child("name"), op, op->name()));
      TANDEM_TRY(out.overload, reader_.optional_text(field.child("overload"), op->overload()));
      out_.operators.push_back(out);
    }
    return {};
  }

  Status read_delegates() {
    const auto* delegates = table_.delegates();
    TANDEM_CHECK_OK(reader_.require(field_.child("delegates"), &table_, delegates));
    for (const schema::BackendDelegate* delegate : *delegates) {
      const FieldPath field = field_.child("delegates", out_.delegates.size());
      Delegate out;
      TANDEM_TRY(out.id, reader_.text(field.child("id"), delegate, delegate->id()));
      TANDEM_CHECK_OK(read_payload(field.child("processed"), *delegate, out));
      if (const auto* specs = delegate->compile_specs(); specs != nullptr) {
        for (const schema::CompileSpec* spec : *specs) {
          const FieldPath spec_field = field.child("compile_specs", out.compile_specs.size());
          TANDEM_TRY(const auto key, reader_.text(spec_field.child("key"), spec, spec->key()));
          out.compile_specs.push_back({key, bytes_of(spec->value())});
        }
      }
      out_.delegates.push_back(std::move(out));
    }
    return {};
  }

  Status read_payload(const FieldPath& field, const schema::BackendDelegate& delegate, Delegate& out) {
    const auto* reference = delegate.processed();
    TANDEM_CHECK_OK(reader_.require(field, &delegate, reference));
    const FieldPath index_field = field.child("index");
    out.payload_index = reference->index();
    switch (reference->location()) {
      case schema::DataLocation::INLINE:
        TANDEM_CHECK_OK(reader_.check_index(index_field, reference, out.payload_index,
                                            parts_.inline_delegate_data.size(), "inline payloads"));
        out.inline_payload = true;
        out.payload = parts_.inline_delegate_data[out.payload_index];
        return {};
      case schema::DataLocation::SEGMENT:
        TANDEM_CHECK_OK(
            reader_.check_index(index_field, reference, out.payload_index, parts_.segments.size(), "segments"));
        out.payload = bytes_of(fault_.file, parts_.segments[out.payload_index]);
        return {};
    }
    return fault_(field.child("location"), reference, "no such place of a payload")
        .with_expected("0..1", fmt::to_string(static_cast<int>(reference->location())));
  }

  Status read_chains() {
    const auto* chains = table_.chains();
    const FieldPath chains_field = field_.child("chains");
    TANDEM_CHECK_OK(reader_.require(chains_field, &table_, chains));
    if (chains->size() == 0) {
      return fault_(chains_field, chains, "a method needs a chain of instructions").with_expected("at least 1", "0");
    }
    for (const schema::Chain* chain : *chains) {
      const FieldPath field = field_.child("chains", out_.chains.size());
      TANDEM_TRY(Chain out, read_chain(field, *chain));
      out_.chains.push_back(std::move(out));
    }
    return {};
  }

  Result<Chain> read_chain(const FieldPath& field, const schema::Chain& chain) {
    Chain out;
    if (chain.inputs() != nullptr) {
      TANDEM_TRY(out.inputs, value_list(field, "inputs", &chain, chain.inputs()));
    }
    if (chain.outputs() != nullptr) {
      TANDEM_TRY(out.outputs, value_list(field, "outputs", &chain, chain.outputs()));
    }
    const auto* instructions = chain.instructions();
    TANDEM_CHECK_OK(reader_.require(field.child("instructions"), &chain, instructions));
    for (const schema::Instruction* instruction : *instructions) {
      const std::size_t index = out.instructions.size();
      auto read = read_instruction(field.child("instructions", index), *instruction, instructions->size());
      if (!read.ok()) {
        const auto chain_index = static_cast<int>(out_.chains.size());
        return std::move(read).error().with_instruction(chain_index, static_cast<int>(index));
      }
      out.instructions.push_back(*std::move(read));
    }
    return out;
  }

  Result<Instruction> read_instruction(const FieldPath& field, const schema::Instruction& table, std::size_t length) {
    using Kind = schema::InstructionArguments;
    // Of an unknown kind the verifier has checked nothing, so the kind comes first.
    if (table.instr_args_type() == Kind::NONE || table.instr_args_type() > Kind::MAX) {
      return fault_(field.child("instr_args_type"), &table, "no such kind of instruction")
          .with_expected("1..5", fmt::to_string(static_cast<int>(table.instr_args_type())));
    }
    TANDEM_CHECK_OK(reader_.require(field.child("instr_args"), &table, table.instr_args()));
    switch (table.instr_args_type()) {
      case Kind::KernelCall: {
        const schema::KernelCall& call = *table.instr_args_as_KernelCall();
        const std::int32_t op = call.op_index();
        TANDEM_CHECK_OK(reader_.check_index(field.child("op_index"), &call, op, out_.operators.size(), "operators"));
        TANDEM_TRY(auto args, value_list(field, "args", &call, call.args()));
        return Instruction{KernelCall{static_cast<std::uint32_t>(op), std::move(args)}};
      }
      case Kind::DelegateCall: {
        const schema::DelegateCall& call = *table.instr_args_as_DelegateCall();
        const std::int32_t delegate = call.delegate_index();
        TANDEM_CHECK_OK(
            reader_.check_index(field.child("delegate_index"), &call, delegate, out_.delegates.size(), "delegates"));
        TANDEM_TRY(auto args, value_list(field, "args", &call, call.args()));
        return Instruction{DelegateCall{static_cast<std::uint32_t>(delegate), std::move(args)}};
      }
      case Kind::MoveCall: {
        const schema::MoveCall& call = *table.instr_args_as_MoveCall();
        TANDEM_CHECK_OK(check_value(field.child("move_from"), &call, call.move_from()));
        TANDEM_CHECK_OK(check_value(field.child("move_to"), &call, call.move_to()));
        return Instruction{MoveCall{call.move_from(), call.move_to()}};
      }
      case Kind::JumpFalseCall:
        return read_jump(field, *table.instr_args_as_JumpFalseCall(), length);
      case Kind::FreeCall: {
        const schema::FreeCall& call = *table.instr_args_as_FreeCall();
        const FieldPath value_field = field.child("value_index");
        TANDEM_CHECK_OK(check_value(value_field, &call, call.value_index()));
        if (as_tensor(call.value_index()) == nullptr)
          return wrong_kind(value_field, &call, call.value_index(), "a Tensor");
        return Instruction{FreeCall{call.value_index()}};
      }
      case Kind::NONE:
        break;
    }
    return fault_(field, &table, "no such kind of instruction");
  }

  Result<Instruction> read_jump(const FieldPath& field, const schema::JumpFalseCall& call, std::size_t length) {
    const FieldPath condition_field = field.child("cond_value_index");
    const std::int32_t condition = call.cond_value_index();
    TANDEM_CHECK_OK(check_value(condition_field, &call, condition));
    const Tensor* tensor = as_tensor(condition);
    const bool is_bool = std::holds_alternative<bool>(out_.values[static_cast<std::size_t>(condition)]);
    if (!is_bool && (tensor == nullptr || tensor->dtype != ScalarType::Bool)) {
      return wrong_kind(condition_field, &call, condition, "a Bool or a Tensor of bool");
    }
    // The position behind the last instruction is the end of the chain.
    const std::int32_t destination = call.destination_instruction();
    TANDEM_CHECK_OK(reader_.check_index(field.child("destination_instruction"), &call, destination, length + 1,
                                        "chain's positions"));
    return Instruction{JumpFalseCall{condition, static_cast<std::uint32_t>(destination)}};
  }

  Result<std::vector<std::int32_t>> value_list(const FieldPath& parent, std::string_view name, const void* table,
                                               const Int32List* list) {
    return reader_.indices(parent, name, table, list, out_.values.size(), "values");
  }

  Status check_value(const FieldPath& field, const void* table, std::int32_t value) const {
    return reader_.check_index(field, table, value, out_.values.size(), "values");
  }

  const Tensor* as_tensor(std::int32_t value) const {
    return std::get_if<Tensor>(&out_.values[static_cast<std::size_t>(value)]);
  }

  Error wrong_kind(const FieldPath& field, const void* table, std::int32_t value, std::string_view expected) const {
    const Tensor* tensor = as_tensor(value);
    const auto kind = (*table_.values())[static_cast<flatbuffers::uoffset_t>(value)]->val_type();
    std::string found = fmt::format("value {}, {}", value, schema::EnumNameKernelTypes(kind));
    if (tensor != nullptr) found += fmt::format(" of {}", name_of(tensor->dtype));
    return fault_(field, table, "the instruction names a value of another kind")
        .with_expected(std::string{expected}, std::move(found));
  }

  TableReader& reader_;
  const FaultMaker& fault_;
  const FieldPath& field_;
  const schema::ExecutionPlan& table_;
  const ProgramParts& parts_;
  Method out_{};
};

}  // namespace

Result<Method> read_method(TableReader& reader, const FieldPath& field, const schema::ExecutionPlan& table,
                           const ProgramParts& parts) {
  return MethodReader{reader, field, table, parts}.read();
}

}  // namespace tandem::format
