#include "format/ptd/write.h"
#include "format/pte/write.h"
#include "support/file_builder.h"
#include "unit/format/fault_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

/// What cannot be written, or not be read again, is refused with the name of the field.
namespace tandem::testing {
namespace {

using format::Program;

const FileBytes& rich_file() {
  static const FileBytes file = pte_file(rich_program(), rich_segment_data());
  return file;
}

Program rich() {
  auto read = format::read_pte(rich_file().bytes());
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  return *std::move(read);
}

template <class Result>
std::string fault(const Result& result) {
  if (result.ok()) return "ok";
  EXPECT_FALSE(result.error().site().offset.has_value()) << "an offset into no file";
  return describe_fault(result.error(), FileBytes{""});
}

format::Tensor& tensor_at(Program& program, std::size_t value) {
  return std::get<format::Tensor>(program.methods[0].values[value]);
}
template <class Call>
Call& call_at(Program& program, std::size_t index) {
  return std::get<Call>(program.methods[0].chains[0].instructions[index]);
}

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
/// Bytes that are said to be many; nobody may look at them.
format::Bytes claimed(std::size_t count) { return {rich_file().bytes().data(), count}; }
constexpr std::size_t kTwoGiB = std::size_t{1} << 31;

struct Fault {
  const char* name;
  std::function<void(Program&)> change;
  const char* expected;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list{
      // Indices.
      {"NamedDataSegment", [](Program& p) { p.named_data[0].segment = 4; }, "InvalidProgram at named_data[0]"},
      {"PayloadSegment", [](Program& p) { p.methods[0].delegates[0].payload_index = 4; },
       "InvalidProgram at execution_plan[0].delegates[0].processed"},
      {"InlinePayload", [](Program& p) { p.methods[0].delegates[1].payload_index = 1; },
       "InvalidProgram at execution_plan[0].delegates[1].processed.index"},
      {"ConstantIndex", [](Program& p) { tensor_at(p, kConstant).data_buffer_idx = 2; },
       "InvalidProgram at execution_plan[0].values[1].data_buffer_idx"},
      {"ConstantIndexZero", [](Program& p) { tensor_at(p, kConstant).data_buffer_idx = 0; },
       "InvalidProgram at execution_plan[0].values[1].data_buffer_idx"},
      {"InitialIndex", [](Program& p) { tensor_at(p, kInitial).data_buffer_idx = 2; },
       "InvalidProgram at execution_plan[0].values[13].data_buffer_idx"},
      {"IndexWithoutData", [](Program& p) { tensor_at(p, kUnplanned).data_buffer_idx = 1; },
       "InvalidProgram at execution_plan[0].values[15].data_buffer_idx"},
      {"NoTableOfInitialValues", [](Program& p) { p.mutable_segments.clear(); },
       "InvalidProgram at execution_plan[0].values[13].data_buffer_idx"},
      {"ConstantInTheBodyIndex",
       [](Program& p) {
         p.constant_segment.reset();
         tensor_at(p, kConstant).data_buffer_idx = 0xFFFFFFFF;
       },
       "InvalidProgram at execution_plan[0].values[1].data_buffer_idx"},
      {"ConstantTableSegment",
       [](Program& p) {
         p.constant_segment = format::SubsegmentOffsets{9, {0, 0}};
         tensor_at(p, kConstant) = format::Tensor{};
       },
       "InvalidProgram at constant_segment.segment_index"},
      {"ConstantTableOffset", [](Program& p) { p.constant_segment->offsets.push_back(65); },
       "InvalidProgram at constant_segment.offsets[2]"},
      {"Input", [](Program& p) { p.methods[0].inputs = {16}; }, "InvalidProgram at execution_plan[0].inputs[0]"},
      {"OperatorIndex", [](Program& p) { call_at<format::KernelCall>(p, kKernelCall).op = 0x80000000; },
       "InvalidProgram at execution_plan[0].chains[0].instructions[0].op_index"},
      {"DelegateIndex", [](Program& p) { call_at<format::DelegateCall>(p, kDelegateCall).delegate = 2; },
       "InvalidProgram at execution_plan[0].chains[0].instructions[1].delegate_index"},
      {"Destination", [](Program& p) { call_at<format::JumpFalseCall>(p, kJumpFalseCall).destination = 6; },
       "InvalidProgram at execution_plan[0].chains[0].instructions[3].destination_instruction"},
      {"ListItem", [](Program& p) { std::get<format::TensorList>(p.methods[0].values[kTensorList]).items = {15}; },
       "InvalidProgram at execution_plan[0].values[10].items[0]"},
      {"Arena", [](Program& p) { tensor_at(p, kPlanned).allocation->memory_id = 3; },
       "InvalidProgram at execution_plan[0].values[0].allocation_info.memory_id"},

      // Bytes that do not fit.
      {"ConstantLength", [](Program& p) { tensor_at(p, kConstant).data = claimed(12); },
       "InvalidProgram at execution_plan[0].values[1]"},
      {"ConstantSizes",
       [](Program& p) {
         tensor_at(p, kConstant).sizes = {1 << 30, 1 << 30, 1 << 30};
       },
       "InvalidProgram at execution_plan[0].values[1]"},
      {"ConstantEnd", [](Program& p) { p.constant_segment->offsets[1] = 49; },
       "InvalidProgram at execution_plan[0].values[1].data_buffer_idx"},
      {"NamedDataLength", [](Program& p) { p.named_data[0].data = claimed(63); }, "InvalidProgram at named_data[0]"},
      {"PayloadLength", [](Program& p) { p.methods[0].delegates[0].payload = claimed(65); },
       "InvalidProgram at execution_plan[0].delegates[0].processed"},
      {"OtherInlinePayload", [](Program& p) { p.methods[0].delegates[1].payload = claimed(3); },
       "InvalidProgram at execution_plan[0].delegates[1].processed"},
      {"TwoContents", [](Program& p) { p.constant_segment->segment = 2; }, "InvalidProgram at segments[2]"},
      {"TwoContentsInTheBody",
       [](Program& p) {
         p.constant_segment.reset();
         p.methods[0].values.emplace_back(tensor_at(p, kConstant));
         tensor_at(p, kConstant).data = claimed(16);
       },
       "InvalidProgram at execution_plan[0].values[16].data_buffer_idx"},

      // A tensor that contradicts itself.
      {"PlannedConstant",
       [](Program& p) {
         tensor_at(p, kConstant).allocation = {1, 0};
       },
       "InvalidProgram at execution_plan[0].values[1].allocation_info"},
      {"UnplannedInitial", [](Program& p) { tensor_at(p, kInitial).allocation.reset(); },
       "InvalidProgram at execution_plan[0].values[13].allocation_info"},
      {"ExternalWithoutName", [](Program& p) { tensor_at(p, kExternal).name = {}; },
       "InvalidProgram at execution_plan[0].values[14].extra_tensor_info.fully_qualified_name"},

      // Numbers that their fields cannot hold.
      {"SegmentSize", [](Program& p) { p.segments[1].bytes = kHuge; }, "InvalidProgram at segments[1]"},
      {"SegmentSizesTogether",
       [](Program& p) {
         for (format::Segment& segment : p.segments) segment.bytes = kHuge / 8;
       },
       "InvalidProgram at segments[1]"},
      {"TensorSize",
       [](Program& p) {
         tensor_at(p, kUnplanned).sizes = {1, std::int64_t{1} << 31};
       },
       "InvalidProgram at execution_plan[0].values[15].sizes[1]"},
      {"ArenaSize", [](Program& p) { p.methods[0].arenas[1].bytes = kHuge; },
       "InvalidProgram at execution_plan[0].non_const_buffer_sizes[1]"},
      {"ArenaDevice",
       [](Program& p) {
         p.methods[0].arenas[1].device = {DeviceType::Hip, 0};
       },
       "InvalidProgram at execution_plan[0].non_const_buffer_device[0].device_type"},
      {"TensorDevice",
       [](Program& p) {
         tensor_at(p, kPlanned).device = {DeviceType::Cuda, 128};
       },
       "InvalidProgram at execution_plan[0].values[0].extra_tensor_info.device_type"},
      {"UnboundedShape", [](Program& p) { tensor_at(p, kUnplanned).dynamism = format::ShapeDynamism::DynamicUnbound; },
       "NotSupported at execution_plan[0].values[15].shape_dynamism"},

      // More than a body can have.
      {"InlinePayloadBytes",
       [](Program& p) { p.inline_delegate_data[0] = p.methods[0].delegates[1].payload = claimed(kTwoGiB); },
       "InvalidProgram at backend_delegate_data[0]"},
      {"CompileSpecBytes", [](Program& p) { p.methods[0].delegates[0].compile_specs[0].value = claimed(kTwoGiB); },
       "InvalidProgram at execution_plan[0].delegates[0].compile_specs[0]"},
      {"TextBytes",
       [](Program& p) {
         p.methods[0].values[kString] =
             std::string_view{reinterpret_cast<const char*>(rich_file().bytes().data()), kTwoGiB};
       },
       "InvalidProgram at execution_plan[0].values[5]"},
      {"ConstantInTheBodyBytes",
       [](Program& p) {
         p.constant_segment.reset();
         tensor_at(p, kConstant).sizes = {1 << 29};
         tensor_at(p, kConstant).data = claimed(kTwoGiB);
       },
       "InvalidProgram at constant_buffer[1]"},
  };
  return list;
}

class WriteFault : public ::testing::TestWithParam<Fault> {};

TEST_P(WriteFault, NamesTheField) {
  Program program = rich();
  GetParam().change(program);
  EXPECT_EQ(fault(format::write_pte(program)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(, WriteFault, ::testing::ValuesIn(faults()), kNameOfCase);

TEST(WriteFaultSite, HasMethodAndValue) {
  Program program = rich();
  tensor_at(program, kUnplanned).sizes = {-1, 8};  // refused when read back
  const auto written = format::write_pte(program);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().site().method, "forward");
  EXPECT_EQ(written.error().site().value, static_cast<int>(kUnplanned));
  tensor_at(program, kUnplanned).sizes = {std::int64_t{1} << 31};  // refused while writing
  const auto other = format::write_pte(program);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().site().method, "forward");
  EXPECT_EQ(other.error().site().value, static_cast<int>(kUnplanned));
}

TEST(WriteOptions, AlignmentIsAPowerOfTwo) {
  for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{24}, 2 * format::kMaxAlignment}) {
    EXPECT_EQ(fault(format::write_pte(rich(), {.segment_alignment = alignment})), "InvalidArgument");
    EXPECT_EQ(fault(format::write_pte(rich(), {.own_alignments = {1, 1, alignment, 1}})), "InvalidArgument");
  }
}

TEST(WriteOptions, OwnAlignmentsAreOnePerSegment) {
  EXPECT_EQ(fault(format::write_pte(rich(), {.own_alignments = {1, 1, 1}})), "InvalidArgument");
}

// ---- data files ---------------------------------------------------------------------------------------------------

format::DataFile one_entry() {
  return {.segments = {{0, 16}},
          .entries = {{.key = "key",
                       .segment = 0,
                       .data = claimed(16),
                       .layout = format::TensorLayout{ScalarType::Float, {4}, {0}, 16}}}};
}

TEST(WriteDataFault, EntryNamesASegment) {
  format::DataFile data = one_entry();
  data.entries[0].segment = 1;
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[0]");
}

TEST(WriteDataFault, EntryFillsItsSegment) {
  format::DataFile data = one_entry();
  data.segments[0].bytes = 17;
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[0]");
}

TEST(WriteDataFault, EntriesOfOneSegmentAreEqual) {
  format::DataFile data = one_entry();
  data.entries.push_back(data.entries[0]);
  data.entries[1].key = "other";
  data.entries[1].data = rich_file().bytes().subspan(1, 16);
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at segments[0]");
}

TEST(WriteDataFault, KeysDiffer) {
  format::DataFile data = one_entry();
  data.entries.push_back(data.entries[0]);
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[1].key");
}

TEST(WriteDataFault, SizesFitTheirField) {
  format::DataFile data = one_entry();
  data.entries[0].layout->sizes = {std::int64_t{1} << 31};
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[0].tensor_layout.sizes[0]");
}

TEST(WriteDataFault, EntryIsAsLongAsItsLayout) {
  format::DataFile data = one_entry();
  data.entries[0].layout->sizes = {5};
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[0].tensor_layout");
}

TEST(WriteDataFault, KeysFitTheBody) {
  format::DataFile data = one_entry();
  data.entries[0].key = {reinterpret_cast<const char*>(rich_file().bytes().data()), kTwoGiB};
  EXPECT_EQ(fault(format::write_ptd(data)), "InvalidExternalData at named_data[0]");
}

TEST(WriteDataFault, AlignmentIsAPowerOfTwo) {
  EXPECT_EQ(fault(format::write_ptd(one_entry(), {.segment_alignment = 3})), "InvalidArgument");
}

}  // namespace
}  // namespace tandem::testing
