#include "support/file_builder.h"

#include "base/checked.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

namespace schema = format::schema;

namespace {

template <class Table>
std::string body(const Table& table, const char* identifier) {
  flatbuffers::FlatBufferBuilder builder;
  builder.DedupVtables(false);  // So that a field can be dropped from one table alone.
  builder.ForceDefaults(true);  // So that every scalar is there to be overwritten.
  builder.Finish(Table::TableType::Pack(builder, &table), identifier);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Puts `header` behind the identifier of `body` and corrects the root offset.
std::string with_header(std::string body, const std::string& header) {
  std::uint32_t root = 0;
  std::memcpy(&root, body.data(), sizeof root);
  root += static_cast<std::uint32_t>(header.size());
  std::memcpy(body.data(), &root, sizeof root);
  return body.insert(8, header);
}

std::string padded(std::string text) {
  text.resize(base::align_up(text.size(), kSegmentAlignment));
  return text;
}

template <class Kind, class... Fields>
std::unique_ptr<schema::EValueT> value(Fields&&... fields) {
  auto out = std::make_unique<schema::EValueT>();
  out->val.Set(Kind{std::forward<Fields>(fields)...});
  return out;
}

template <class Kind, class Items>
std::unique_ptr<schema::EValueT> list(Items items) {
  Kind kind;
  kind.items.assign(items.begin(), items.end());
  return value<Kind>(std::move(kind));
}

schema::TensorT tensor_of(ScalarType dtype, std::vector<std::int32_t> sizes) {
  schema::TensorT out;
  out.scalar_type = static_cast<std::int8_t>(dtype);
  out.sizes = std::move(sizes);
  for (std::size_t i = 0; i < out.sizes.size(); ++i) out.dim_order.push_back(static_cast<std::uint8_t>(i));
  return out;
}

std::unique_ptr<schema::AllocationDetailsT> at(std::uint32_t memory_id, std::uint32_t offset) {
  auto out = std::make_unique<schema::AllocationDetailsT>();
  out->memory_id = memory_id;
  out->memory_offset_low = offset;
  return out;
}

std::unique_ptr<schema::ExtraTensorInfoT> extra(std::string name, schema::TensorDataLocation location) {
  auto out = std::make_unique<schema::ExtraTensorInfoT>();
  out->fully_qualified_name = std::move(name);
  out->location = location;
  return out;
}

template <class Call>
std::unique_ptr<schema::InstructionT> call_of(Call call) {
  auto out = std::make_unique<schema::InstructionT>();
  out->instr_args.Set(std::move(call));
  return out;
}

void add_values(schema::ExecutionPlanT& plan) {
  using Ints = std::vector<int>;
  auto& values = plan.values;
  schema::TensorT planned = tensor_of(ScalarType::Float, {2, 3});
  planned.allocation_info = at(1, 8);
  values.push_back(value<schema::TensorT>(std::move(planned)));
  schema::TensorT constant = tensor_of(ScalarType::Float, {4});
  constant.data_buffer_idx = 1;
  values.push_back(value<schema::TensorT>(std::move(constant)));
  schema::IntT integer;
  integer.int_val = 7;
  values.push_back(value<schema::IntT>(integer));
  schema::BoolT boolean;
  boolean.bool_val = true;
  values.push_back(value<schema::BoolT>(boolean));
  schema::DoubleT real;
  real.double_val = 2.5;
  values.push_back(value<schema::DoubleT>(real));
  schema::StringT text;
  text.string_val = "tanh";
  values.push_back(value<schema::StringT>(text));
  values.push_back(value<schema::NullT>());
  values.push_back(list<schema::IntListT>(Ints{2, 2}));
  values.push_back(list<schema::DoubleListT>(std::vector<double>{0.5, -1.0}));
  values.push_back(list<schema::BoolListT>(Ints{1, 0}));
  values.push_back(list<schema::TensorListT>(Ints{0, 1}));
  values.push_back(list<schema::OptionalTensorListT>(Ints{-1, 0}));
  schema::TensorT flag = tensor_of(ScalarType::Bool, {});
  flag.allocation_info = at(2, 63);
  values.push_back(value<schema::TensorT>(std::move(flag)));
  schema::TensorT initial = tensor_of(ScalarType::Long, {2});
  initial.data_buffer_idx = 1;
  initial.allocation_info = at(1, 32);
  values.push_back(value<schema::TensorT>(std::move(initial)));
  schema::TensorT external = tensor_of(ScalarType::Half, {2, 2});
  external.extra_tensor_info = extra("layer.weight", schema::TensorDataLocation::EXTERNAL);
  values.push_back(value<schema::TensorT>(std::move(external)));
  schema::TensorT unplanned = tensor_of(ScalarType::Float, {1, 8});
  unplanned.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  values.push_back(value<schema::TensorT>(std::move(unplanned)));
}

void add_instructions(schema::ExecutionPlanT& plan) {
  auto chain = std::make_unique<schema::ChainT>();
  schema::KernelCallT kernel;
  kernel.args = {0, 1, 0};
  chain->instructions.push_back(call_of(std::move(kernel)));
  schema::DelegateCallT delegate;
  delegate.delegate_index = 1;
  delegate.args = {0, 13};
  chain->instructions.push_back(call_of(std::move(delegate)));
  schema::MoveCallT move;
  move.move_from = 0;
  move.move_to = 13;
  chain->instructions.push_back(call_of(move));
  schema::JumpFalseCallT jump;
  jump.cond_value_index = 3;
  jump.destination_instruction = 5;
  chain->instructions.push_back(call_of(jump));
  schema::FreeCallT free;
  free.value_index = 0;
  chain->instructions.push_back(call_of(free));
  plan.chains.push_back(std::move(chain));
}

std::unique_ptr<schema::BackendDelegateT> delegate_of(schema::DataLocation location, std::uint32_t index) {
  auto out = std::make_unique<schema::BackendDelegateT>();
  out->id = "SomeBackend";
  out->processed = std::make_unique<schema::BackendDelegateDataReferenceT>();
  out->processed->location = location;
  out->processed->index = index;
  auto spec = std::make_unique<schema::CompileSpecT>();
  spec->key = "method_name";
  spec->value = {'f', 'o', 'r', 'w', 'a', 'r', 'd'};
  out->compile_specs.push_back(std::move(spec));
  return out;
}

std::unique_ptr<schema::SubsegmentOffsetsT> offsets_of(std::uint32_t segment, std::vector<std::uint64_t> offsets) {
  auto out = std::make_unique<schema::SubsegmentOffsetsT>();
  out->segment_index = segment;
  out->offsets = std::move(offsets);
  return out;
}

}  // namespace

FileBytes pte_file(const schema::ProgramT& program, std::string_view segment_data) {
  std::string file = body(program, "ET12");
  if (segment_data.empty()) return FileBytes{file};
  constexpr std::uint32_t kLength = 32;
  const std::uint64_t program_bytes = file.size() + kLength;
  std::string header = "eh00";
  append(header, kLength);
  append(header, program_bytes);
  append(header, base::align_up(program_bytes, kSegmentAlignment));
  append(header, std::uint64_t{segment_data.size()});
  return FileBytes{padded(with_header(std::move(file), header)) + std::string{segment_data}};
}

FileBytes ptd_file(const schema::FlatTensorT& data, std::string_view segment_data) {
  std::string file = body(data, "FT01");
  constexpr std::uint32_t kLength = 40;
  constexpr std::uint64_t kFlatbufferOffset = 48;
  // The body keeps its first 8 bytes in front of the header, so what is left behind the header is that much shorter.
  const std::uint64_t flatbuffer_bytes = file.size() - 8;
  std::string header = "FH01";
  append(header, kLength);
  append(header, kFlatbufferOffset);
  append(header, flatbuffer_bytes);
  append(header, base::align_up(kFlatbufferOffset + flatbuffer_bytes, kSegmentAlignment));
  append(header, std::uint64_t{segment_data.size()});
  return FileBytes{padded(with_header(std::move(file), header)) + std::string{segment_data}};
}

const schema::Program* tables(const FileBytes& file) { return schema::GetProgram(file.bytes().data()); }

schema::ProgramT rich_program() {
  schema::ProgramT program;
  auto plan = std::make_unique<schema::ExecutionPlanT>();
  plan->name = "forward";
  plan->container_meta_type = std::make_unique<schema::ContainerMetadataT>();
  plan->container_meta_type->encoded_inp_str = "one input";
  plan->container_meta_type->encoded_out_str = "one output";
  add_values(*plan);
  plan->inputs = {static_cast<int>(kPlanned)};
  plan->outputs = {static_cast<int>(kInitial)};
  auto op = std::make_unique<schema::OperatorT>();
  op->name = "aten::add";
  op->overload = "out";
  plan->operators.push_back(std::move(op));
  plan->delegates.push_back(delegate_of(schema::DataLocation::SEGMENT, 2));
  plan->delegates.push_back(delegate_of(schema::DataLocation::INLINE, 0));
  plan->non_const_buffer_sizes = {0, 64, 64};
  auto device = std::make_unique<schema::NonConstBufferDeviceT>();
  device->buffer_idx = 2;
  device->device_type = schema::DeviceType::CUDA;
  device->device_index = 1;
  plan->non_const_buffer_device.push_back(std::move(device));
  add_instructions(*plan);
  program.execution_plan.push_back(std::move(plan));

  auto payload = std::make_unique<schema::BackendDelegateInlineDataT>();
  payload->data = {'p', 'a', 'y'};
  program.backend_delegate_data.push_back(std::move(payload));
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto segment = std::make_unique<schema::DataSegmentT>();
    segment->offset = i * 64;
    segment->size = 64;
    program.segments.push_back(std::move(segment));
  }
  program.constant_segment = offsets_of(0, {0, 48});
  program.mutable_data_segments.push_back(offsets_of(1, {0, 8}));
  auto named = std::make_unique<schema::NamedDataT>();
  named->key = "weights";
  named->segment_index = 3;
  program.named_data.push_back(std::move(named));
  return program;
}

std::string rich_segment_data() {
  std::string out;
  for (int i = 0; i < 256; ++i) out += static_cast<char>(i);
  return out;
}

schema::ExecutionPlanT& plan(schema::ProgramT& program) { return *program.execution_plan.at(0); }
schema::TensorT& tensor(schema::ProgramT& program, std::size_t value) {
  return *plan(program).values.at(value)->val.AsTensor();
}
schema::InstructionArgumentsUnion& instruction(schema::ProgramT& program, std::size_t index) {
  return plan(program).chains.at(0)->instructions.at(index)->instr_args;
}

}  // namespace tandem::testing
