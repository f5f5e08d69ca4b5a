#include "format/pte/pte.h"

#include "support/file_builder.h"
#include "support/promises.h"
#include "unit/format/fault_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tandem::testing {
namespace {

namespace schema = format::schema;
using format::read_pte;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

FileBytes rich_file(const schema::ProgramT& program = rich_program()) { return pte_file(program, rich_segment_data()); }

std::string text_of(format::Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

template <class Kind>
const Kind& value_of(const format::Program& program, std::size_t index) {
  return std::get<Kind>(program.methods.at(0).values.at(index));
}

template <class Kind>
const Kind& instruction_of(const format::Program& program, std::size_t index) {
  return std::get<Kind>(program.methods.at(0).chains.at(0).instructions.at(index));
}

// ---- what is read -------------------------------------------------------------------------------------------------

class RichProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    auto read = read_pte(file_.bytes());
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    program_ = *std::move(read);
  }

  FileBytes file_ = rich_file();
  format::Program program_{};
};

TEST_F(RichProgram, KeepsEveryPromise) { EXPECT_EQ(broken_promise(program_, file_.bytes()), ""); }

TEST_F(RichProgram, HasHeaderAndSegments) {
  ASSERT_TRUE(program_.header.has_value());
  EXPECT_EQ(program_.header->length, 32U);
  EXPECT_EQ(program_.header->segment_data_bytes, 256U);
  ASSERT_THAT(program_.segments, SizeIs(4));
  EXPECT_EQ(program_.segments[1].offset, program_.header->segment_base_offset + 64);
  EXPECT_EQ(program_.segments[1].bytes, 64U);
}

TEST_F(RichProgram, HasMethodParts) {
  ASSERT_THAT(program_.methods, SizeIs(1));
  const format::Method& method = program_.methods[0];
  EXPECT_EQ(method.name, "forward");
  EXPECT_EQ(method.encoded_inputs, "one input");
  EXPECT_EQ(method.encoded_outputs, "one output");
  EXPECT_THAT(method.inputs, ElementsAre(0));
  EXPECT_THAT(method.outputs, ElementsAre(13));
  ASSERT_THAT(method.operators, SizeIs(1));
  EXPECT_EQ(method.operators[0].name, "aten::add");
  EXPECT_EQ(method.operators[0].overload, "out");
}

TEST_F(RichProgram, HasArenasWithDevices) {
  const auto& arenas = program_.methods[0].arenas;
  ASSERT_THAT(arenas, SizeIs(3));
  EXPECT_EQ(arenas[1].bytes, 64U);
  EXPECT_EQ(arenas[1].device, DeviceId{});
  EXPECT_EQ(arenas[2].device, (DeviceId{DeviceType::Cuda, 1}));
}

TEST_F(RichProgram, HasPayloadsFromSegmentAndBody) {
  const auto& delegates = program_.methods[0].delegates;
  ASSERT_THAT(delegates, SizeIs(2));
  EXPECT_EQ(delegates[0].id, "SomeBackend");
  EXPECT_FALSE(delegates[0].inline_payload);
  EXPECT_EQ(text_of(delegates[0].payload), rich_segment_data().substr(128, 64));
  EXPECT_TRUE(delegates[1].inline_payload);
  EXPECT_EQ(text_of(delegates[1].payload), "pay");
  ASSERT_THAT(delegates[1].compile_specs, SizeIs(1));
  EXPECT_EQ(delegates[1].compile_specs[0].key, "method_name");
  EXPECT_EQ(text_of(delegates[1].compile_specs[0].value), "forward");
}

TEST_F(RichProgram, HasNamedData) {
  ASSERT_THAT(program_.named_data, SizeIs(1));
  EXPECT_EQ(program_.named_data[0].key, "weights");
  EXPECT_EQ(text_of(program_.named_data[0].data), rich_segment_data().substr(192));
}

TEST_F(RichProgram, HasEveryKindOfValue) {
  EXPECT_EQ(value_of<std::int64_t>(program_, kInt), 7);
  EXPECT_EQ(value_of<bool>(program_, kBool), true);
  EXPECT_EQ(value_of<double>(program_, kDouble), 2.5);
  EXPECT_EQ(value_of<std::string_view>(program_, kString), "tanh");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(program_.methods[0].values[kNull]));
  EXPECT_THAT(value_of<format::IntList>(program_, kIntList).items, ElementsAre(2, 2));
  EXPECT_THAT(value_of<format::DoubleList>(program_, kDoubleList).items, ElementsAre(0.5, -1.0));
  EXPECT_THAT(value_of<format::BoolList>(program_, kBoolList).items, ElementsAre(1, 0));
  EXPECT_THAT(value_of<format::TensorList>(program_, kTensorList).items, ElementsAre(0, 1));
  EXPECT_THAT(value_of<format::OptionalTensorList>(program_, kOptionalTensorList).items, ElementsAre(-1, 0));
}

TEST_F(RichProgram, HasPlannedTensorWithoutData) {
  const auto& tensor = value_of<format::Tensor>(program_, kPlanned);
  EXPECT_EQ(tensor.dtype, ScalarType::Float);
  EXPECT_THAT(tensor.sizes, ElementsAre(2, 3));
  EXPECT_THAT(tensor.dim_order, ElementsAre(0, 1));
  EXPECT_EQ(tensor.bytes, 24U);
  ASSERT_TRUE(tensor.allocation.has_value());
  EXPECT_EQ(tensor.allocation->memory_id, 1U);
  EXPECT_EQ(tensor.allocation->offset, 8U);
  EXPECT_EQ(tensor.source, format::DataSource::None);
  EXPECT_THAT(tensor.data, IsEmpty());
}

TEST_F(RichProgram, HasConstantAtItsOffset) {
  const auto& tensor = value_of<format::Tensor>(program_, kConstant);
  EXPECT_EQ(tensor.source, format::DataSource::Constant);
  EXPECT_EQ(text_of(tensor.data), rich_segment_data().substr(48, 16));
}

TEST_F(RichProgram, HasInitialValuesOfPlannedTensor) {
  const auto& tensor = value_of<format::Tensor>(program_, kInitial);
  EXPECT_EQ(tensor.source, format::DataSource::Initial);
  EXPECT_TRUE(tensor.allocation.has_value());
  EXPECT_EQ(text_of(tensor.data), rich_segment_data().substr(64 + 8, 16));
}

TEST_F(RichProgram, HasExternalTensorByName) {
  const auto& tensor = value_of<format::Tensor>(program_, kExternal);
  EXPECT_EQ(tensor.source, format::DataSource::External);
  EXPECT_EQ(tensor.name, "layer.weight");
  EXPECT_THAT(tensor.data, IsEmpty());
}

TEST_F(RichProgram, HasUnplannedDynamicTensor) {
  const auto& tensor = value_of<format::Tensor>(program_, kUnplanned);
  EXPECT_EQ(tensor.source, format::DataSource::None);
  EXPECT_FALSE(tensor.allocation.has_value());
  EXPECT_EQ(tensor.dynamism, format::ShapeDynamism::DynamicBound);
}

TEST_F(RichProgram, HasEveryKindOfInstruction) {
  EXPECT_EQ(instruction_of<format::KernelCall>(program_, kKernelCall).op, 0U);
  EXPECT_THAT(instruction_of<format::KernelCall>(program_, kKernelCall).args, ElementsAre(0, 1, 0));
  EXPECT_EQ(instruction_of<format::DelegateCall>(program_, kDelegateCall).delegate, 1U);
  EXPECT_THAT(instruction_of<format::DelegateCall>(program_, kDelegateCall).args, ElementsAre(0, 13));
  EXPECT_EQ(instruction_of<format::MoveCall>(program_, kMoveCall).from, 0);
  EXPECT_EQ(instruction_of<format::MoveCall>(program_, kMoveCall).to, 13);
  EXPECT_EQ(instruction_of<format::JumpFalseCall>(program_, kJumpFalseCall).condition, 3);
  EXPECT_EQ(instruction_of<format::JumpFalseCall>(program_, kJumpFalseCall).destination, 5U);
  EXPECT_EQ(instruction_of<format::FreeCall>(program_, kFreeCall).value, 0);
}

// ---- what is also accepted ----------------------------------------------------------------------------------------

struct Change {
  const char* name;
  std::function<void(schema::ProgramT&)> make;
};

class PteAccepts : public ::testing::TestWithParam<Change> {};

TEST_P(PteAccepts, Change) {
  schema::ProgramT program = rich_program();
  GetParam().make(program);
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(broken_promise(*read, file.bytes()), "");
}

const Change kAccepted[] = {
    {"TensorThatFillsItsArena",
     [](auto& p) {
       plan(p).non_const_buffer_sizes = {0, 48, 64};
     }},
    {"EmptyTensorAtTheEndOfItsArena",
     [](auto& p) {
       tensor(p, kPlanned).sizes = {0, 3};
       tensor(p, kPlanned).allocation_info->memory_offset_low = 64;
     }},
    {"SixteenDimensions",
     [](auto& p) {
       tensor(p, kPlanned).sizes.assign(16, 1);
       tensor(p, kPlanned).dim_order = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
     }},
    {"OverlappingSegments",
     [](auto& p) {
       p.segments[3]->offset = 0;
       p.segments[3]->size = 256;
     }},
    {"EmptySegmentAtTheEnd",
     [](auto& p) {
       p.segments[3]->offset = 256;
       p.segments[3]->size = 0;
     }},
    {"ExternalTensorWithIndexPastConstants", [](auto& p) { tensor(p, kExternal).data_buffer_idx = 1000; }},
    {"TensorForInitialValuesFromOutside",
     [](auto& p) {
       tensor(p, kPlanned).extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
       tensor(p, kPlanned).extra_tensor_info->fully_qualified_name = "state";
       tensor(p, kPlanned).extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
     }},
    {"UnusedMutableIndexOutOfRange",
     [](auto& p) {
       tensor(p, kInitial).extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
       tensor(p, kInitial).extra_tensor_info->mutable_data_segments_idx = 9;
     }},
    {"CpuWithAnIndex",
     [](auto& p) {
       plan(p).non_const_buffer_device[0]->device_type = schema::DeviceType::CPU;
       plan(p).non_const_buffer_device[0]->device_index = -1;
     }},
    {"ConditionThatIsABoolTensor",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->cond_value_index = kBoolTensor; }},
    {"BackwardJump", [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->destination_instruction = 0; }},
    {"IntListThatNamesALaterInt",
     [](auto& p) {
       std::swap(plan(p).values[kInt], plan(p).values[kIntList]);
       plan(p).values[kInt]->val.AsIntList()->items = {kIntList};
     }},
    {"NoInstructions", [](auto& p) { plan(p).chains[0]->instructions.clear(); }},
    {"EmptyPayload", [](auto& p) { p.backend_delegate_data[0]->data.clear(); }},
    {"NoMethods", [](auto& p) { p.execution_plan.clear(); }},
};
INSTANTIATE_TEST_SUITE_P(, PteAccepts, ::testing::ValuesIn(kAccepted), kNameOfCase);

TEST(Pte, ReadsNullInOptionalTensorListAsNone) {
  schema::ProgramT program = rich_program();
  plan(program).values[kOptionalTensorList]->val.AsOptionalTensorList()->items = {static_cast<int>(kNull), 0};
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_THAT(value_of<format::OptionalTensorList>(*read, kOptionalTensorList).items, ElementsAre(-1, 0));
}

TEST(Pte, DoesNotReferToTheSegmentOfATableWithoutConstants) {
  schema::ProgramT program = rich_program();
  program.constant_segment->offsets = {0};
  program.constant_segment->segment_index = 99;
  tensor(program, kConstant).data_buffer_idx = 0;
  const FileBytes file = rich_file(program);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "ok");
}

TEST(Pte, ReadsConstantsOfFilesWithoutAConstantSegment) {
  schema::ProgramT program = rich_program();
  program.constant_segment.reset();
  for (const char* text : {"", "0123456789abcdef"}) {
    auto buffer = std::make_unique<schema::BufferT>();
    buffer->storage.assign(text, text + std::strlen(text));
    program.constant_buffer.push_back(std::move(buffer));
  }
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(text_of(value_of<format::Tensor>(*read, kConstant).data), "0123456789abcdef");
}

TEST(Pte, ReadsFileWithoutHeader) {
  schema::ProgramT program;
  program.execution_plan.push_back(std::make_unique<schema::ExecutionPlanT>());
  plan(program).name = "empty";
  plan(program).non_const_buffer_sizes = {0};
  plan(program).chains.push_back(std::make_unique<schema::ChainT>());
  program.segments.push_back(std::make_unique<schema::DataSegmentT>());  // {0, 0}
  const FileBytes file = pte_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_FALSE(read->header.has_value());
  EXPECT_THAT(read->segments, SizeIs(1));
}

// ---- what is refused: tables --------------------------------------------------------------------------------------

struct Breakage {
  const char* name;
  const char* fault;
  std::function<void(schema::ProgramT&)> make;
};

class PteRefuses : public ::testing::TestWithParam<Breakage> {};

TEST_P(PteRefuses, Breakage) {
  schema::ProgramT program = rich_program();
  GetParam().make(program);
  const FileBytes file = rich_file(program);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), GetParam().fault);
}

const Breakage kProgramBreakages[] = {
    {"SegmentPastEndOfData", "InvalidProgram at segments[2]", [](auto& p) { p.segments[2]->size = 129; }},
    {"SegmentThatWrapsAround", "InvalidProgram at segments[2]",
     [](auto& p) { p.segments[2]->offset = UINT64_MAX - 31; }},
    {"ConstantSegmentIndexOutOfRange", "InvalidProgram at constant_segment.segment_index",
     [](auto& p) { p.constant_segment->segment_index = 4; }},
    {"ConstantOffsetPastSegment", "InvalidProgram at constant_segment.offsets[1]",
     [](auto& p) { p.constant_segment->offsets[1] = 65; }},
    {"ConstantsInBodyAndSegment", "InvalidProgram at constant_buffer",
     [](auto& p) { p.constant_buffer.push_back(std::make_unique<schema::BufferT>()); }},
    {"MutableSegmentIndexOutOfRange", "InvalidProgram at mutable_data_segments[0].segment_index",
     [](auto& p) { p.mutable_data_segments[0]->segment_index = 4; }},
    {"MutableOffsetPastSegment", "InvalidProgram at mutable_data_segments[0].offsets[1]",
     [](auto& p) { p.mutable_data_segments[0]->offsets[1] = 65; }},
    {"NamedDataSegmentOutOfRange", "InvalidProgram at named_data[0].segment_index",
     [](auto& p) { p.named_data[0]->segment_index = 4; }},
    {"NamedDataWithoutSegments", "InvalidProgram at named_data[0].segment_index",
     [](auto& p) {
       p.segments.clear();
       p.constant_segment.reset();
       p.mutable_data_segments.clear();
     }},
    {"KeyThatIsThereTwice", "InvalidProgram at named_data[1].key",
     [](auto& p) { p.named_data.push_back(std::make_unique<schema::NamedDataT>(*p.named_data[0])); }},
    {"TwoMethodsOfOneName", "InvalidProgram at execution_plan[1].name",
     [](auto& p) { p.execution_plan.push_back(std::move(rich_program().execution_plan[0])); }},
};
INSTANTIATE_TEST_SUITE_P(Program, PteRefuses, ::testing::ValuesIn(kProgramBreakages), kNameOfCase);

const Breakage kMethodBreakages[] = {
    {"InputOutOfRange", "InvalidProgram at execution_plan[0].inputs[0]", [](auto& p) { plan(p).inputs = {16}; }},
    {"NegativeInput", "InvalidProgram at execution_plan[0].inputs[0]", [](auto& p) { plan(p).inputs = {-1}; }},
    {"OutputOutOfRange", "InvalidProgram at execution_plan[0].outputs[1]",
     [](auto& p) {
       plan(p).outputs = {0, 16};
     }},
    {"NoChain", "InvalidProgram at execution_plan[0].chains", [](auto& p) { plan(p).chains.clear(); }},
    {"NoArenaPlaceholder", "InvalidProgram at execution_plan[0].non_const_buffer_sizes",
     [](auto& p) { plan(p).non_const_buffer_sizes.clear(); }},
    {"NegativeArena", "InvalidProgram at execution_plan[0].non_const_buffer_sizes[1]",
     [](auto& p) { plan(p).non_const_buffer_sizes[1] = -1; }},
    {"DeviceOfThePlaceholder", "InvalidProgram at execution_plan[0].non_const_buffer_device[0].buffer_idx",
     [](auto& p) { plan(p).non_const_buffer_device[0]->buffer_idx = 0; }},
    {"DeviceOfNoArena", "InvalidProgram at execution_plan[0].non_const_buffer_device[0].buffer_idx",
     [](auto& p) { plan(p).non_const_buffer_device[0]->buffer_idx = 3; }},
    {"TwoDevicesOfOneArena", "InvalidProgram at execution_plan[0].non_const_buffer_device[1].buffer_idx",
     [](auto& p) {
       auto& devices = plan(p).non_const_buffer_device;
       devices.push_back(std::make_unique<schema::NonConstBufferDeviceT>(*devices[0]));
     }},
    {"UnknownDeviceType", "InvalidProgram at execution_plan[0].non_const_buffer_device[0].device_type",
     [](auto& p) { plan(p).non_const_buffer_device[0]->device_type = static_cast<schema::DeviceType>(2); }},
    {"NegativeDeviceIndex", "InvalidProgram at execution_plan[0].non_const_buffer_device[0].device_index",
     [](auto& p) { plan(p).non_const_buffer_device[0]->device_index = -1; }},
    {"PayloadWithoutReference", "InvalidProgram at execution_plan[0].delegates[0].processed",
     [](auto& p) { plan(p).delegates[0]->processed.reset(); }},
    {"PayloadSegmentOutOfRange", "InvalidProgram at execution_plan[0].delegates[0].processed.index",
     [](auto& p) { plan(p).delegates[0]->processed->index = 4; }},
    {"InlinePayloadOutOfRange", "InvalidProgram at execution_plan[0].delegates[1].processed.index",
     [](auto& p) { plan(p).delegates[1]->processed->index = 1; }},
    {"UnknownPayloadLocation", "InvalidProgram at execution_plan[0].delegates[1].processed.location",
     [](auto& p) { plan(p).delegates[1]->processed->location = static_cast<schema::DataLocation>(2); }},
};
INSTANTIATE_TEST_SUITE_P(Method, PteRefuses, ::testing::ValuesIn(kMethodBreakages), kNameOfCase);

const Breakage kValueBreakages[] = {
    {"ValueOfNoKind", "InvalidProgram at execution_plan[0].values[2].val_type",
     [](auto& p) { plan(p).values[kInt]->val.Reset(); }},
    {"IntListItemOutOfRange", "InvalidProgram at execution_plan[0].values[7].items[1]",
     [](auto& p) { plan(p).values[kIntList]->val.AsIntList()->items[1] = std::int64_t{1} << 32; }},
    {"IntListOfABool", "InvalidProgram at execution_plan[0].values[7].items[0]",
     [](auto& p) { plan(p).values[kIntList]->val.AsIntList()->items[0] = kBool; }},
    {"TensorListItemOutOfRange", "InvalidProgram at execution_plan[0].values[10].items[0]",
     [](auto& p) { plan(p).values[kTensorList]->val.AsTensorList()->items[0] = -1; }},
    {"TensorListOfALaterTensor", "InvalidProgram at execution_plan[0].values[10].items[0]",
     [](auto& p) { plan(p).values[kTensorList]->val.AsTensorList()->items[0] = kInitial; }},
    {"TensorListOfItself", "InvalidProgram at execution_plan[0].values[10].items[0]",
     [](auto& p) { plan(p).values[kTensorList]->val.AsTensorList()->items[0] = kTensorList; }},
    {"TensorListOfAnInt", "InvalidProgram at execution_plan[0].values[10].items[1]",
     [](auto& p) { plan(p).values[kTensorList]->val.AsTensorList()->items[1] = kInt; }},
    {"OptionalTensorListItemOutOfRange", "InvalidProgram at execution_plan[0].values[11].items[0]",
     [](auto& p) { plan(p).values[kOptionalTensorList]->val.AsOptionalTensorList()->items[0] = -2; }},
    {"OptionalTensorListOfALaterTensor", "InvalidProgram at execution_plan[0].values[11].items[1]",
     [](auto& p) { plan(p).values[kOptionalTensorList]->val.AsOptionalTensorList()->items[1] = kBoolTensor; }},
    {"OptionalTensorListOfAnInt", "InvalidProgram at execution_plan[0].values[11].items[1]",
     [](auto& p) { plan(p).values[kOptionalTensorList]->val.AsOptionalTensorList()->items[1] = kInt; }},
};
INSTANTIATE_TEST_SUITE_P(Value, PteRefuses, ::testing::ValuesIn(kValueBreakages), kNameOfCase);

const Breakage kTensorBreakages[] = {
    {"UnknownScalarType", "InvalidProgram at execution_plan[0].values[0].scalar_type",
     [](auto& p) { tensor(p, kPlanned).scalar_type = 30; }},
    {"NegativeScalarType", "InvalidProgram at execution_plan[0].values[0].scalar_type",
     [](auto& p) { tensor(p, kPlanned).scalar_type = -1; }},
    {"SeventeenDimensions", "InvalidProgram at execution_plan[0].values[0].sizes",
     [](auto& p) { tensor(p, kPlanned).sizes.assign(17, 1); }},
    {"NegativeSize", "InvalidProgram at execution_plan[0].values[0].sizes[1]",
     [](auto& p) { tensor(p, kPlanned).sizes[1] = -1; }},
    {"ByteCountOverflow", "InvalidProgram at execution_plan[0].values[0].sizes",
     [](auto& p) {
       tensor(p, kPlanned).sizes.assign(3, 1 << 30);
       tensor(p, kPlanned).dim_order = {0, 1, 2};
     }},
    {"ShortDimOrder", "InvalidProgram at execution_plan[0].values[0].dim_order",
     [](auto& p) { tensor(p, kPlanned).dim_order = {0}; }},
    {"DimOrderWithAnAxisTwice", "InvalidProgram at execution_plan[0].values[0].dim_order",
     [](auto& p) {
       tensor(p, kPlanned).dim_order = {1, 1};
     }},
    {"DimOrderWithAnUnknownAxis", "InvalidProgram at execution_plan[0].values[0].dim_order",
     [](auto& p) {
       tensor(p, kPlanned).dim_order = {0, 2};
     }},
    {"UnboundedShape", "NotSupported at execution_plan[0].values[0].shape_dynamism",
     [](auto& p) { tensor(p, kPlanned).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_UNBOUND; }},
    {"UnknownDynamism", "InvalidProgram at execution_plan[0].values[0].shape_dynamism",
     [](auto& p) { tensor(p, kPlanned).shape_dynamism = static_cast<schema::TensorShapeDynamism>(3); }},
    {"StorageOffset", "NotSupported at execution_plan[0].values[0].storage_offset",
     [](auto& p) { tensor(p, kPlanned).storage_offset = 1; }},
    {"AllocationInThePlaceholder", "InvalidProgram at execution_plan[0].values[0].allocation_info.memory_id",
     [](auto& p) { tensor(p, kPlanned).allocation_info->memory_id = 0; }},
    {"AllocationInNoArena", "InvalidProgram at execution_plan[0].values[0].allocation_info.memory_id",
     [](auto& p) { tensor(p, kPlanned).allocation_info->memory_id = 3; }},
    {"AllocationPastItsArena", "InvalidProgram at execution_plan[0].values[0].allocation_info",
     [](auto& p) { tensor(p, kPlanned).allocation_info->memory_offset_low = 41; }},
    {"AllocationWithAHighOffset", "InvalidProgram at execution_plan[0].values[0].allocation_info",
     [](auto& p) { tensor(p, kPlanned).allocation_info->memory_offset_high = 1; }},
    {"ConstantOutOfRange", "InvalidProgram at execution_plan[0].values[1].data_buffer_idx",
     [](auto& p) { tensor(p, kConstant).data_buffer_idx = 2; }},
    {"ConstantPastItsSegment", "InvalidProgram at execution_plan[0].values[1].data_buffer_idx",
     [](auto& p) { p.constant_segment->offsets[1] = 52; }},
    {"ConstantWithoutConstants", "InvalidProgram at execution_plan[0].values[1].data_buffer_idx",
     [](auto& p) { p.constant_segment.reset(); }},
    {"InitialValuesOutOfRange", "InvalidProgram at execution_plan[0].values[13].data_buffer_idx",
     [](auto& p) { tensor(p, kInitial).data_buffer_idx = 2; }},
    {"InitialValuesPastTheirSegment", "InvalidProgram at execution_plan[0].values[13].data_buffer_idx",
     [](auto& p) { p.mutable_data_segments[0]->offsets[1] = 49; }},
    {"InitialValuesWithoutSegment", "InvalidProgram at execution_plan[0].values[13].data_buffer_idx",
     [](auto& p) { p.mutable_data_segments.clear(); }},
    {"ExternalWithoutName", "InvalidProgram at execution_plan[0].values[14].extra_tensor_info.fully_qualified_name",
     [](auto& p) { tensor(p, kExternal).extra_tensor_info->fully_qualified_name.clear(); }},
    {"UnknownDataLocation", "InvalidProgram at execution_plan[0].values[14].extra_tensor_info.location",
     [](auto& p) { tensor(p, kExternal).extra_tensor_info->location = static_cast<schema::TensorDataLocation>(2); }},
    {"UnknownDeviceType", "InvalidProgram at execution_plan[0].values[14].extra_tensor_info.device_type",
     [](auto& p) { tensor(p, kExternal).extra_tensor_info->device_type = static_cast<schema::DeviceType>(2); }},
    {"NegativeDeviceIndex", "InvalidProgram at execution_plan[0].values[14].extra_tensor_info.device_index",
     [](auto& p) {
       tensor(p, kExternal).extra_tensor_info->device_type = schema::DeviceType::CUDA;
       tensor(p, kExternal).extra_tensor_info->device_index = -1;
     }},
};
INSTANTIATE_TEST_SUITE_P(Tensor, PteRefuses, ::testing::ValuesIn(kTensorBreakages), kNameOfCase);

const Breakage kInstructionBreakages[] = {
    {"InstructionOfNoKind", "InvalidProgram at execution_plan[0].chains[0].instructions[0].instr_args_type",
     [](auto& p) { instruction(p, kKernelCall).Reset(); }},
    {"OperatorOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[0].op_index",
     [](auto& p) { instruction(p, kKernelCall).AsKernelCall()->op_index = 1; }},
    {"NegativeOperator", "InvalidProgram at execution_plan[0].chains[0].instructions[0].op_index",
     [](auto& p) { instruction(p, kKernelCall).AsKernelCall()->op_index = -1; }},
    {"KernelArgumentOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[0].args[2]",
     [](auto& p) { instruction(p, kKernelCall).AsKernelCall()->args[2] = 16; }},
    {"DelegateOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[1].delegate_index",
     [](auto& p) { instruction(p, kDelegateCall).AsDelegateCall()->delegate_index = 2; }},
    {"DelegateArgumentOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[1].args[0]",
     [](auto& p) { instruction(p, kDelegateCall).AsDelegateCall()->args[0] = -1; }},
    {"MoveFromOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[2].move_from",
     [](auto& p) { instruction(p, kMoveCall).AsMoveCall()->move_from = 16; }},
    {"MoveToOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[2].move_to",
     [](auto& p) { instruction(p, kMoveCall).AsMoveCall()->move_to = -1; }},
    {"ConditionOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[3].cond_value_index",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->cond_value_index = 16; }},
    {"ConditionThatIsAnInt", "InvalidProgram at execution_plan[0].chains[0].instructions[3].cond_value_index",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->cond_value_index = kInt; }},
    {"ConditionThatIsAFloatTensor", "InvalidProgram at execution_plan[0].chains[0].instructions[3].cond_value_index",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->cond_value_index = kPlanned; }},
    {"JumpPastTheEnd", "InvalidProgram at execution_plan[0].chains[0].instructions[3].destination_instruction",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->destination_instruction = 6; }},
    {"NegativeJump", "InvalidProgram at execution_plan[0].chains[0].instructions[3].destination_instruction",
     [](auto& p) { instruction(p, kJumpFalseCall).AsJumpFalseCall()->destination_instruction = -1; }},
    {"FreeOutOfRange", "InvalidProgram at execution_plan[0].chains[0].instructions[4].value_index",
     [](auto& p) { instruction(p, kFreeCall).AsFreeCall()->value_index = 16; }},
    {"FreeOfAnInt", "InvalidProgram at execution_plan[0].chains[0].instructions[4].value_index",
     [](auto& p) { instruction(p, kFreeCall).AsFreeCall()->value_index = kInt; }},
    {"ChainInputOutOfRange", "InvalidProgram at execution_plan[0].chains[0].inputs[0]",
     [](auto& p) { plan(p).chains[0]->inputs = {16}; }},
    {"ChainOutputOutOfRange", "InvalidProgram at execution_plan[0].chains[0].outputs[0]",
     [](auto& p) { plan(p).chains[0]->outputs = {16}; }},
};
INSTANTIATE_TEST_SUITE_P(Instruction, PteRefuses, ::testing::ValuesIn(kInstructionBreakages), kNameOfCase);

// ---- what is refused: missing fields ------------------------------------------------------------------------------

struct Missing {
  const char* name;
  const char* fault;
  std::function<void(FileBytes&, const schema::Program&)> drop;
};

class PteRequires : public ::testing::TestWithParam<Missing> {};

TEST_P(PteRequires, Field) {
  FileBytes file = rich_file();
  GetParam().drop(file, *tables(file));
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), GetParam().fault);
}

const schema::ExecutionPlan* plan_of(const schema::Program& p) { return p.execution_plan()->Get(0); }
const schema::EValue* table_of(const schema::Program& p, std::size_t value) {
  return plan_of(p)->values()->Get(static_cast<flatbuffers::uoffset_t>(value));
}
const schema::Instruction* call_of(const schema::Program& p, std::size_t index) {
  return plan_of(p)->chains()->Get(0)->instructions()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

const Missing kMissing[] = {
    {"Methods", "InvalidProgram at execution_plan",
     [](auto& f, auto& p) { f.drop(&p, schema::Program::VT_EXECUTION_PLAN); }},
    {"MethodName", "InvalidProgram at execution_plan[0].name",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_NAME); }},
    {"Values", "InvalidProgram at execution_plan[0].values",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_VALUES); }},
    {"Inputs", "InvalidProgram at execution_plan[0].inputs",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_INPUTS); }},
    {"Outputs", "InvalidProgram at execution_plan[0].outputs",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_OUTPUTS); }},
    {"Chains", "InvalidProgram at execution_plan[0].chains",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_CHAINS); }},
    {"Delegates", "InvalidProgram at execution_plan[0].delegates",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_DELEGATES); }},
    {"ArenaSizes", "InvalidProgram at execution_plan[0].non_const_buffer_sizes",
     [](auto& f, auto& p) { f.drop(plan_of(p), schema::ExecutionPlan::VT_NON_CONST_BUFFER_SIZES); }},
    {"OperatorName", "InvalidProgram at execution_plan[0].operators[0].name",
     [](auto& f, auto& p) { f.drop(plan_of(p)->operators()->Get(0), schema::Operator::VT_NAME); }},
    {"DelegateId", "InvalidProgram at execution_plan[0].delegates[0].id",
     [](auto& f, auto& p) { f.drop(plan_of(p)->delegates()->Get(0), schema::BackendDelegate::VT_ID); }},
    {"CompileSpecKey", "InvalidProgram at execution_plan[0].delegates[0].compile_specs[0].key",
     [](auto& f, auto& p) {
       f.drop(plan_of(p)->delegates()->Get(0)->compile_specs()->Get(0), schema::CompileSpec::VT_KEY);
     }},
    {"Instructions", "InvalidProgram at execution_plan[0].chains[0].instructions",
     [](auto& f, auto& p) { f.drop(plan_of(p)->chains()->Get(0), schema::Chain::VT_INSTRUCTIONS); }},
    {"InstructionArguments", "InvalidProgram at execution_plan[0].chains[0].instructions[2].instr_args",
     [](auto& f, auto& p) { f.drop(call_of(p, kMoveCall), schema::Instruction::VT_INSTR_ARGS); }},
    {"KernelArguments", "InvalidProgram at execution_plan[0].chains[0].instructions[0].args",
     [](auto& f, auto& p) {
       f.drop(call_of(p, kKernelCall)->instr_args_as_KernelCall(), schema::KernelCall::VT_ARGS);
     }},
    {"DelegateArguments", "InvalidProgram at execution_plan[0].chains[0].instructions[1].args",
     [](auto& f, auto& p) {
       f.drop(call_of(p, kDelegateCall)->instr_args_as_DelegateCall(), schema::DelegateCall::VT_ARGS);
     }},
    {"Value", "InvalidProgram at execution_plan[0].values[2].val",
     [](auto& f, auto& p) { f.drop(table_of(p, kInt), schema::EValue::VT_VAL); }},
    {"Text", "InvalidProgram at execution_plan[0].values[5].string_val",
     [](auto& f, auto& p) { f.drop(table_of(p, kString)->val_as_String(), schema::String::VT_STRING_VAL); }},
    {"IntItems", "InvalidProgram at execution_plan[0].values[7].items",
     [](auto& f, auto& p) { f.drop(table_of(p, kIntList)->val_as_IntList(), schema::IntList::VT_ITEMS); }},
    {"DoubleItems", "InvalidProgram at execution_plan[0].values[8].items",
     [](auto& f, auto& p) { f.drop(table_of(p, kDoubleList)->val_as_DoubleList(), schema::DoubleList::VT_ITEMS); }},
    {"BoolItems", "InvalidProgram at execution_plan[0].values[9].items",
     [](auto& f, auto& p) { f.drop(table_of(p, kBoolList)->val_as_BoolList(), schema::BoolList::VT_ITEMS); }},
    {"TensorItems", "InvalidProgram at execution_plan[0].values[10].items",
     [](auto& f, auto& p) { f.drop(table_of(p, kTensorList)->val_as_TensorList(), schema::TensorList::VT_ITEMS); }},
    {"OptionalTensorItems", "InvalidProgram at execution_plan[0].values[11].items",
     [](auto& f, auto& p) {
       f.drop(table_of(p, kOptionalTensorList)->val_as_OptionalTensorList(), schema::OptionalTensorList::VT_ITEMS);
     }},
    {"Sizes", "InvalidProgram at execution_plan[0].values[0].sizes",
     [](auto& f, auto& p) { f.drop(table_of(p, kPlanned)->val_as_Tensor(), schema::Tensor::VT_SIZES); }},
    {"DimOrder", "InvalidProgram at execution_plan[0].values[0].dim_order",
     [](auto& f, auto& p) { f.drop(table_of(p, kPlanned)->val_as_Tensor(), schema::Tensor::VT_DIM_ORDER); }},
    {"Key", "InvalidProgram at named_data[0].key",
     [](auto& f, auto& p) { f.drop(p.named_data()->Get(0), schema::NamedData::VT_KEY); }},
};
INSTANTIATE_TEST_SUITE_P(, PteRequires, ::testing::ValuesIn(kMissing), kNameOfCase);

TEST(Pte, RefusesUnknownKindOfValue) {
  FileBytes file = rich_file();
  file.poke(table_of(*tables(file), kInt), schema::EValue::VT_VAL_TYPE, std::uint8_t{12});
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at execution_plan[0].values[2].val_type");
}

TEST(Pte, RefusesUnknownKindOfInstruction) {
  FileBytes file = rich_file();
  file.poke(call_of(*tables(file), kMoveCall), schema::Instruction::VT_INSTR_ARGS_TYPE, std::uint8_t{6});
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file),
            "InvalidProgram at execution_plan[0].chains[0].instructions[2].instr_args_type");
}

TEST(Pte, ReadsBoolsOfAnyNonzeroByteAsTrue) {
  FileBytes file = rich_file();
  const auto* items = table_of(*tables(file), kBoolList)->val_as_BoolList()->items();
  const auto offset = reinterpret_cast<const std::byte*>(items->data()) - file.bytes().data();
  file.put(static_cast<std::size_t>(offset), std::uint8_t{0x80});
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(value_of<format::BoolList>(*read, kBoolList).items, ElementsAre(1, 0));
}

TEST(Pte, AcceptsAbsentOptionalFields) {
  FileBytes file = rich_file();
  const schema::Program& p = *tables(file);
  file.drop(plan_of(p), schema::ExecutionPlan::VT_CONTAINER_META_TYPE);
  file.drop(plan_of(p), schema::ExecutionPlan::VT_NON_CONST_BUFFER_DEVICE);
  file.drop(plan_of(p)->operators()->Get(0), schema::Operator::VT_OVERLOAD);
  file.drop(plan_of(p)->delegates()->Get(0), schema::BackendDelegate::VT_COMPILE_SPECS);
  file.drop(plan_of(p)->chains()->Get(0), schema::Chain::VT_INPUTS);
  file.drop(plan_of(p)->chains()->Get(0), schema::Chain::VT_OUTPUTS);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "ok");
}

// ---- errors say where ---------------------------------------------------------------------------------------------

TEST(PteError, NamesMethodAndValue) {
  schema::ProgramT program = rich_program();
  tensor(program, kInitial).sizes[0] = -5;
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().site().method, "forward");
  EXPECT_EQ(read.error().site().value, static_cast<int>(kInitial));
  EXPECT_EQ(read.error().found(), "-5");
  EXPECT_EQ(read.error().expected(), "at least 0");
}

TEST(PteError, NamesMethodAndInstruction) {
  schema::ProgramT program = rich_program();
  instruction(program, kMoveCall).AsMoveCall()->move_to = 99;
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().site().method, "forward");
  EXPECT_EQ(read.error().site().chain, 0);
  EXPECT_EQ(read.error().site().instruction, static_cast<int>(kMoveCall));
  EXPECT_EQ(read.error().expected(), "0..15");
  EXPECT_EQ(read.error().found(), "99");
}

TEST(PteError, OffsetPointsAtTheTable) {
  schema::ProgramT program = rich_program();
  program.segments[2]->size = 129;
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  const auto* table = reinterpret_cast<const std::byte*>(tables(file)->segments()->Get(2));
  EXPECT_EQ(read.error().site().offset, static_cast<std::uint64_t>(table - file.bytes().data()));
}

TEST(PteError, NamesDuplicateKey) {
  schema::ProgramT program = rich_program();
  program.named_data.push_back(std::make_unique<schema::NamedDataT>(*program.named_data[0]));
  const FileBytes file = rich_file(program);
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().site().key, "weights");
}

// ---- what is refused: head bytes ----------------------------------------------------------------------------------

TEST(PteHead, RefusesUnalignedAddress) {
  const FileBytes file = rich_file();
  const auto read = read_pte(file.bytes().subspan(8));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::InvalidArgument);
}

TEST(PteHead, RefusesEmptyFile) {
  const FileBytes file{""};
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at identifier");
}

TEST(PteHead, RefusesFileThatEndsInItsIdentifier) {
  const FileBytes file = rich_file().first(7);
  const auto read = read_pte(file.bytes());
  EXPECT_EQ(fault_of(read, file), "InvalidProgram at identifier");
  EXPECT_EQ(read.error().found(), "7 bytes");
}

TEST(PteHead, NamesTheIdentifierOfAnotherVersion) {
  FileBytes file = rich_file();
  file.put_text(4, "ET13");
  const auto read = read_pte(file.bytes());
  EXPECT_EQ(fault_of(read, file), "InvalidProgram at identifier");
  EXPECT_EQ(read.error().expected(), "\"ET12\"");
  EXPECT_EQ(read.error().found(), "\"ET13\"");
  EXPECT_EQ(read.error().site().offset, 4U);
}

TEST(PteHead, EscapesAnIdentifierThatIsNotText) {
  FileBytes file = rich_file();
  file.put(4, std::uint32_t{0xFF0A0001});
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().found(), HasSubstr("\\x"));
}

TEST(PteHead, RefusesRootInTheHead) {
  FileBytes file = rich_file();
  file.put(0, std::uint32_t{4});
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at root_offset");
}

TEST(PteHead, RefusesRootPastTheProgram) {
  FileBytes file = rich_file();
  file.put(0, UINT32_MAX);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at root_offset");
}

TEST(PteHead, RefusesFileThatEndsInTheHeader) {
  const FileBytes file = rich_file().first(31);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at extended_header");
}

struct HeadBreakage {
  const char* name;
  const char* fault;
  std::function<void(FileBytes&)> make;
};

class PteHeadRefuses : public ::testing::TestWithParam<HeadBreakage> {};

TEST_P(PteHeadRefuses, Breakage) {
  FileBytes file = rich_file();
  GetParam().make(file);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), GetParam().fault);
}

const HeadBreakage kHeadBreakages[] = {
    {"ShortHeader", "InvalidProgram at extended_header.length", [](auto& f) { f.put(12, std::uint32_t{23}); }},
    {"HeaderPastTheProgram", "InvalidProgram at extended_header.program_size", [](auto& f) { f.put(12, UINT32_MAX); }},
    {"ProgramPastTheFile", "InvalidProgram at extended_header.program_size",
     [](auto& f) { f.put(16, std::uint64_t{f.bytes().size() + 1}); }},
    {"ProgramWithinTheHeader", "InvalidProgram at extended_header.program_size",
     [](auto& f) { f.put(16, std::uint64_t{39}); }},
    {"SegmentsWithinTheProgram", "InvalidProgram at extended_header.segment_base_offset",
     [](auto& f) { f.put(24, std::uint64_t{64}); }},
    {"SegmentsPastTheFile", "InvalidProgram at extended_header.segment_base_offset",
     [](auto& f) { f.put(24, std::uint64_t{f.bytes().size() + 1}); }},
    {"SegmentDataPastTheFile", "InvalidProgram at extended_header.segment_data_size",
     [](auto& f) { f.put(32, std::uint64_t{257}); }},
    {"SegmentDataThatWrapsAround", "InvalidProgram at extended_header.segment_data_size",
     [](auto& f) { f.put(32, UINT64_MAX); }},
    {"SegmentDataWithoutABase", "InvalidProgram at extended_header.segment_data_size",
     [](auto& f) { f.put(24, std::uint64_t{0}); }},
    {"SegmentsWithoutABase", "InvalidProgram at segments[0]",
     [](auto& f) {
       f.put(24, std::uint64_t{0});
       f.put(32, std::uint64_t{0});
     }},
    {"BodyCutShort", "InvalidProgram at flatbuffer", [](auto& f) { f.put(16, std::uint64_t{256}); }},
};
INSTANTIATE_TEST_SUITE_P(, PteHeadRefuses, ::testing::ValuesIn(kHeadBreakages), kNameOfCase);

TEST(PteHead, TakesTheFilesEndWhereAnOldHeaderDoesNotTellTheSize) {
  FileBytes file = rich_file();
  file.put(12, std::uint32_t{24});
  file.put(32, UINT64_MAX);  // Not part of a header of 24 bytes.
  const auto read = read_pte(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->header->segment_data_bytes, 0U);
}

TEST(PteHead, IgnoresFieldsBehindTheKnownOnes) {
  FileBytes file = rich_file();
  file.put(12, std::uint32_t{40});
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "ok");
}

// ---- size of the result -------------------------------------------------------------------------------------------

/// A program whose instructions all point at one list of arguments.
FileBytes file_with_shared_arguments(std::size_t arguments, std::size_t instructions) {
  flatbuffers::FlatBufferBuilder b;
  const auto args = b.CreateVector(std::vector<std::int32_t>(arguments, 0));
  const auto none = b.CreateVector(std::vector<std::int32_t>{});
  std::vector<flatbuffers::Offset<schema::Instruction>> calls;
  for (std::size_t i = 0; i < instructions; ++i) {
    const auto call = schema::CreateKernelCall(b, 0, args);
    calls.push_back(schema::CreateInstruction(b, schema::InstructionArguments::KernelCall, call.Union()));
  }
  const auto chain = schema::CreateChain(b, none, none, b.CreateVector(calls));
  const auto value = schema::CreateEValue(b, schema::KernelTypes::Null, schema::CreateNull(b).Union());
  const auto op = schema::CreateOperator(b, b.CreateString("op"));
  const std::vector<flatbuffers::Offset<schema::BackendDelegate>> delegates;
  const auto method = schema::CreateExecutionPlan(
      b, b.CreateString("m"), 0, b.CreateVector(&value, 1), none, none, b.CreateVector(&chain, 1),
      b.CreateVector(&op, 1), b.CreateVector(delegates), b.CreateVector(std::vector<std::int64_t>{0}));
  b.Finish(schema::CreateProgram(b, 0, b.CreateVector(&method, 1)), "ET12");
  return FileBytes{std::string_view{reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()}};
}

TEST(PteBudget, AcceptsListsThatAreSharedAFewTimes) {
  const FileBytes file = file_with_shared_arguments(100, 8);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "ok");
}

TEST(PteBudget, RefusesAListThatGrowsTheResultOutOfProportion) {
  const FileBytes file = file_with_shared_arguments(20'000, 2'000);
  const auto read = read_pte(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::InvalidProgram);
  EXPECT_THAT(read.error().message(), HasSubstr("shared"));
}

/// Every method names one and the same chain `fan` times, so that tables grow with the product.
FileBytes file_with_shared_tables(std::size_t fan) {
  flatbuffers::FlatBufferBuilder b;
  const auto call =
      schema::CreateInstruction(b, schema::InstructionArguments::FreeCall, schema::CreateFreeCall(b, 0).Union());
  const auto calls = b.CreateVector(std::vector(fan, call));
  const auto chain = schema::CreateChain(b, 0, 0, calls);
  const auto chains = b.CreateVector(std::vector(fan, chain));
  const auto method = schema::CreateExecutionPlan(b, 0, 0, 0, 0, 0, chains);
  b.Finish(schema::CreateProgram(b, 0, b.CreateVector(std::vector(fan, method))), "ET12");
  return FileBytes{std::string_view{reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()}};
}

TEST(PteBudget, RefusesTablesThatAreSharedOutOfProportion) {
  const FileBytes file = file_with_shared_tables(2'000);
  EXPECT_EQ(fault_of(read_pte(file.bytes()), file), "InvalidProgram at flatbuffer");
}

}  // namespace
}  // namespace tandem::testing
