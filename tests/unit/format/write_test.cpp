#include "format/ptd/write.h"
#include "base/mapped_file.h"
#include "format/pte/write.h"
#include "support/dump_json.h"
#include "support/file_builder.h"
#include "support/fixture_names.h"
#include "support/promises.h"
#include "support/same_contents.h"
#include "unit/format/fault_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

/// What is written reads back as what was given.
namespace tandem::testing {
namespace {

namespace schema = format::schema;
using ::testing::ElementsAre;

/// The two formats under one name.
auto read_like(const format::Program& /*kind*/, format::Bytes file) { return format::read_pte(file); }
auto read_like(const format::DataFile& /*kind*/, format::Bytes file) { return format::read_ptd(file); }
auto write(const format::Program& program) { return format::write_pte(program); }
auto write(const format::DataFile& data) { return format::write_ptd(data); }

/// Writes what was read of `file`, and returns the new file. Empty after a failed expectation.
template <class Parsed>
FileBytes expect_same_when_written(const Parsed& parsed, format::Bytes file) {
  const auto written = write(parsed);
  EXPECT_TRUE(written.ok()) << written.error().to_string();
  if (!written.ok()) return FileBytes{""};
  FileBytes copy{format::Bytes{*written}};
  const auto read = read_like(parsed, copy.bytes());
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  if (!read.ok()) return FileBytes{""};
  EXPECT_EQ(broken_promise(*read, copy.bytes()), "");
  EXPECT_EQ(difference(parsed, file, *read, copy.bytes()), "");
  const auto again = write(*read);
  EXPECT_TRUE(again.ok() && *again == *written) << "not the same bytes when written again";
  return copy;
}

FileBytes rewritten(const FileBytes& file) {
  const auto read = format::read_pte(file.bytes());
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  return read.ok() ? expect_same_when_written(*read, file.bytes()) : FileBytes{""};
}

// ---- real files ---------------------------------------------------------------------------------------------------

class WrittenFixture : public ::testing::TestWithParam<std::string> {
 protected:
  template <class Parsed>
  static void expect_same(const std::filesystem::path& path, const char* tables) {
    SCOPED_TRACE(path.string());
    const auto file = base::MappedFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const auto read = read_like(Parsed{}, file->bytes());
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    const FileBytes copy = expect_same_when_written(*read, file->bytes());
    const auto copied = read_like(Parsed{}, copy.bytes());
    ASSERT_TRUE(copied.ok());
    // Segments lie where the exporter put them, and no byte of theirs is lost.
    EXPECT_EQ(dump(*copied, copy.bytes()).at(tables).at("segments"),
              dump(*read, file->bytes()).at(tables).at("segments"));
    EXPECT_EQ(dump(*copied, copy.bytes()).at("segment_sha256"), dump(*read, file->bytes()).at("segment_sha256"));
  }
};

TEST_P(WrittenFixture, ProgramReadsBackTheSame) {
  expect_same<format::Program>(std::filesystem::path{TANDEM_FIXTURES} / GetParam() / "program.pte", "program");
}

TEST_P(WrittenFixture, DataFilesReadBackTheSame) {
  for (const auto& entry : std::filesystem::directory_iterator{std::filesystem::path{TANDEM_FIXTURES} / GetParam()}) {
    if (entry.path().extension() == ".ptd") expect_same<format::DataFile>(entry.path(), "flat_tensor");
  }
}

std::string name_of_fixture(const ::testing::TestParamInfo<std::string>& fixture) { return fixture.param; }
INSTANTIATE_TEST_SUITE_P(, WrittenFixture, ::testing::ValuesIn(fixture_names()), name_of_fixture);

// ---- odd programs -------------------------------------------------------------------------------------------------

struct OddProgram {
  const char* name;
  std::function<void(schema::ProgramT&)> change;
  bool has_data = true;
};

void drop_data(schema::ProgramT& program) {
  program.segments.clear();
  program.constant_segment.reset();
  program.mutable_data_segments.clear();
  program.named_data.clear();
  tensor(program, kConstant).data_buffer_idx = 0;
  tensor(program, kInitial).data_buffer_idx = 0;
  plan(program).delegates[0]->processed->location = schema::DataLocation::INLINE;
  plan(program).delegates[0]->processed->index = 0;
}

const std::vector<OddProgram>& odd_programs() {
  static const std::vector<OddProgram> list{
      {"EveryKind", [](schema::ProgramT&) {}},
      {"NoSegments", drop_data, false},
      {"NoMethods", [](schema::ProgramT& p) { p.execution_plan.clear(); }},
      {"ConstantsInTheBody",
       [](schema::ProgramT& p) {
         p.constant_segment.reset();
         for (int i = 0; i < 3; ++i) {
           p.constant_buffer.push_back(std::make_unique<schema::BufferT>());
           p.constant_buffer.back()->storage.assign(16, static_cast<std::uint8_t>(i));
         }
         tensor(p, kConstant).data_buffer_idx = 2;
       }},
      {"PlaceholderTableOnly",
       [](schema::ProgramT& p) {
         p.constant_segment->offsets = {0};
         tensor(p, kConstant).data_buffer_idx = 0;
       }},
      {"OverlappingSegments", [](schema::ProgramT& p) { p.segments[1]->offset = 16; }},
      {"ConstantsWithinAPayload", [](schema::ProgramT& p) { p.constant_segment->segment_index = 2; }},
      {"OneSegmentForAll",
       [](schema::ProgramT& p) {
         p.constant_segment->segment_index = p.mutable_data_segments[0]->segment_index = 2;
         p.named_data[0]->segment_index = 2;
       }},
      {"UnusedAndEmptySegments",
       [](schema::ProgramT& p) {
         for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{0}}) {
           p.segments.push_back(std::make_unique<schema::DataSegmentT>());
           p.segments.back()->size = size;
         }
       }},
      {"SeveralTablesOfInitialValues",
       [](schema::ProgramT& p) {
         p.mutable_data_segments.push_back(std::make_unique<schema::SubsegmentOffsetsT>());
         p.mutable_data_segments.push_back(std::make_unique<schema::SubsegmentOffsetsT>());
         p.mutable_data_segments.back()->offsets = {0, 3, 64};
       }},
      {"OneConstantTwice",
       [](schema::ProgramT& p) {
         p.constant_segment->offsets = {0, 0, 4};
         tensor(p, kUnplanned).data_buffer_idx = 2;
       }},
      {"SharedNamedData",
       [](schema::ProgramT& p) {
         p.named_data.push_back(std::make_unique<schema::NamedDataT>(*p.named_data[0]));
         p.named_data.back()->key = "others \"\n\x01";
       }},
      {"SeveralChainsAndMethods",
       [](schema::ProgramT& p) {
         plan(p).chains.push_back(std::make_unique<schema::ChainT>());
         plan(p).chains.back()->inputs = {1};
         plan(p).chains.back()->outputs = {0, 0};
         p.execution_plan.push_back(std::make_unique<schema::ExecutionPlanT>(plan(p)));
         p.execution_plan.back()->name = "";
       }},
      {"LargeArena",
       [](schema::ProgramT& p) {
         plan(p).non_const_buffer_sizes[1] = std::numeric_limits<std::int64_t>::max();
         tensor(p, kPlanned).allocation_info->memory_offset_high = 0x7FFFFFFF;
       }},
      {"ExtremeNumbers",
       [](schema::ProgramT& p) {
         p.version = 0xFFFFFFFF;
         plan(p).values[kInt]->val.AsInt()->int_val = std::numeric_limits<std::int64_t>::min();
         plan(p).values[kDouble]->val.AsDouble()->double_val = std::numeric_limits<double>::quiet_NaN();
         plan(p).values[kDoubleList]->val.AsDoubleList()->items = {-std::numeric_limits<double>::infinity(), 5e-324};
         tensor(p, kUnplanned).sizes = {2147483647, 0, 2};
         tensor(p, kUnplanned).dim_order = {2, 0, 1};
         tensor(p, kUnplanned).requires_grad = true;
         tensor(p, kUnplanned).layout = -1;
         plan(p).non_const_buffer_device[0]->device_index = 127;
       }},
      {"EmptyTexts",
       [](schema::ProgramT& p) {
         plan(p).name = plan(p).container_meta_type->encoded_inp_str = plan(p).operators[0]->overload = "";
         plan(p).delegates[0]->id = plan(p).delegates[0]->compile_specs[0]->key = "";
         plan(p).delegates[0]->compile_specs[0]->value.clear();
         plan(p).values[kString]->val.AsString()->string_val = "";
         p.backend_delegate_data[0]->data.clear();
       }},
      {"NamedAndTaggedTensors",
       [](schema::ProgramT& p) {
         auto extra = std::make_unique<schema::ExtraTensorInfoT>();
         tensor(p, kPlanned).extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>(*extra);
         extra->fully_qualified_name = "state";
         extra->device_type = schema::DeviceType::CUDA;
         extra->device_index = 3;
         tensor(p, kInitial).extra_tensor_info = std::move(extra);
         tensor(p, kExternal).allocation_info = std::make_unique<schema::AllocationDetailsT>();
         tensor(p, kExternal).allocation_info->memory_id = 2;
       }},
  };
  return list;
}

class WrittenOddProgram : public ::testing::TestWithParam<OddProgram> {};

TEST_P(WrittenOddProgram, ReadsBackTheSame) {
  schema::ProgramT program = rich_program();
  GetParam().change(program);
  const FileBytes copy = rewritten(pte_file(program, GetParam().has_data ? rich_segment_data() : ""));
  const auto read = format::read_pte(copy.bytes());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->header.has_value(), GetParam().has_data);
}

INSTANTIATE_TEST_SUITE_P(, WrittenOddProgram, ::testing::ValuesIn(odd_programs()), kNameOfCase);

TEST(WrittenDataFile, LayoutsAndBlobsReadBackTheSame) {
  schema::FlatTensorT data;
  data.version = 7;
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{8}}) {
    data.segments.push_back(std::make_unique<schema::DataSegmentT>());
    data.segments.back()->offset = offset;
    data.segments.back()->size = 24;
  }
  for (const char* key : {"blob", "", "tensor"}) {
    data.named_data.push_back(std::make_unique<schema::FlatTensorEntryT>());
    data.named_data.back()->key = key;
  }
  auto layout = std::make_unique<schema::TensorLayoutT>();
  layout->scalar_type = static_cast<std::int8_t>(ScalarType::Double);
  layout->sizes = {1, 3};
  layout->dim_order = {1, 0};
  data.named_data[2]->tensor_layout = std::move(layout);
  data.named_data[2]->segment_index = 1;
  const FileBytes file = ptd_file(data, std::string(16, 'a') + std::string(16, 'b'));
  const auto read = format::read_ptd(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  expect_same_when_written(*read, file.bytes());
}

TEST(WrittenDataFile, EmptyOneReadsBackTheSame) {
  const FileBytes file = ptd_file(schema::FlatTensorT{});
  const auto read = format::read_ptd(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  expect_same_when_written(*read, file.bytes());
}

// ---- layout -------------------------------------------------------------------------------------------------------

class Placement : public ::testing::Test {
 protected:
  /// Where the segments of the rich program lie in the file.
  std::vector<std::uint64_t> offsets(const format::WriteOptions& options) {
    const auto written = format::write_pte(*format::read_pte(file_.bytes()), options);
    EXPECT_TRUE(written.ok()) << written.error().to_string();
    if (!written.ok()) return {};
    const auto read = format::read_pte(*written);
    EXPECT_TRUE(read.ok());
    base_ = read->header->segment_base_offset;
    size_ = written->size();
    std::vector<std::uint64_t> out;
    for (const format::Segment& segment : read->segments) out.push_back(segment.offset - base_);
    return out;
  }

  FileBytes file_ = pte_file(rich_program(), rich_segment_data());
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
};

TEST_F(Placement, DefaultIsTheExporters) {
  EXPECT_THAT(offsets({}), ElementsAre(0, 128, 256, 384));
  EXPECT_EQ(base_ % 128, 0U);
  EXPECT_EQ(size_, base_ + 384 + 64);  // no padding behind the last one
}

TEST_F(Placement, AlignmentCanBeAskedFor) {
  EXPECT_THAT(offsets({.segment_alignment = 16}), ElementsAre(0, 64, 128, 192));
  EXPECT_THAT(offsets({.segment_alignment = 1}), ElementsAre(0, 64, 128, 192));
}

TEST_F(Placement, OwnAlignmentCountsFromTheStartOfTheFile) {
  EXPECT_THAT(offsets({.segment_alignment = 16, .own_alignments = {1, 4096, 1, 64}}), ElementsAre(0, 4096, 4160, 4224));
  EXPECT_EQ(base_ % 4096, 0U);
}

TEST(WrittenBody, BytesLieAligned) {
  const FileBytes file = rewritten(pte_file(rich_program(), rich_segment_data()));
  const auto read = format::read_pte(file.bytes());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((read->inline_delegate_data[0].data() - file.bytes().data()) % 16, 0);
}

}  // namespace
}  // namespace tandem::testing
