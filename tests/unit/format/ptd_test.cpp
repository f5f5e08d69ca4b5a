#include "format/ptd/ptd.h"

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
using format::read_ptd;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kSegmentData = "0123456789abcdefghijklmnopqrstuv";

std::unique_ptr<schema::FlatTensorEntryT> entry_of(std::string key, std::uint32_t segment) {
  auto out = std::make_unique<schema::FlatTensorEntryT>();
  out->key = std::move(key);
  out->segment_index = segment;
  return out;
}

/// A tensor of 2 x 2 floats under "weight", and an opaque blob of 16 bytes under "blob".
schema::FlatTensorT two_entries() {
  schema::FlatTensorT out;
  for (std::uint64_t i = 0; i < 2; ++i) {
    auto segment = std::make_unique<schema::DataSegmentT>();
    segment->offset = i * 16;
    segment->size = 16;
    out.segments.push_back(std::move(segment));
  }
  out.named_data.push_back(entry_of("weight", 0));
  out.named_data[0]->tensor_layout = std::make_unique<schema::TensorLayoutT>();
  out.named_data[0]->tensor_layout->scalar_type = static_cast<std::int8_t>(ScalarType::Float);
  out.named_data[0]->tensor_layout->sizes = {2, 2};
  out.named_data[0]->tensor_layout->dim_order = {1, 0};
  out.named_data.push_back(entry_of("blob", 1));
  return out;
}

FileBytes two_entry_file(const schema::FlatTensorT& data = two_entries()) { return ptd_file(data, kSegmentData); }

TEST(Ptd, ReadsEntriesWithAndWithoutLayout) {
  const FileBytes file = two_entry_file();
  const auto read = read_ptd(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(broken_promise(*read, file.bytes()), "");
  ASSERT_THAT(read->entries, SizeIs(2));
  const format::DataEntry& weight = read->entries[0];
  EXPECT_EQ(weight.key, "weight");
  ASSERT_TRUE(weight.layout.has_value());
  EXPECT_EQ(weight.layout->dtype, ScalarType::Float);
  EXPECT_THAT(weight.layout->sizes, ElementsAre(2, 2));
  EXPECT_THAT(weight.layout->dim_order, ElementsAre(1, 0));
  EXPECT_EQ(weight.layout->bytes, 16U);
  const format::DataEntry& blob = read->entries[1];
  EXPECT_EQ(blob.key, "blob");
  EXPECT_FALSE(blob.layout.has_value());
  EXPECT_EQ(std::memcmp(blob.data.data(), kSegmentData.data() + 16, 16), 0);
}

TEST(Ptd, ReadsFileWhoseOnlyBlobIsEmpty) {
  schema::FlatTensorT data;
  data.segments.push_back(std::make_unique<schema::DataSegmentT>());
  data.named_data.push_back(entry_of("empty", 0));
  const FileBytes file = ptd_file(data);
  const auto read = read_ptd(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->header.segment_base_offset, file.bytes().size());
  ASSERT_THAT(read->entries, SizeIs(1));
  EXPECT_THAT(read->entries[0].data, IsEmpty());
}

TEST(Ptd, ReadsFileWithoutEntries) {
  const FileBytes file = ptd_file({});
  const auto read = read_ptd(file.bytes());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_THAT(read->entries, IsEmpty());
}

TEST(Ptd, AcceptsSegmentLongerThanItsLayout) {
  schema::FlatTensorT data = two_entries();
  data.named_data[0]->tensor_layout->sizes = {2, 1};
  const FileBytes file = two_entry_file(data);
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), "ok");
}

TEST(Ptd, IgnoresFieldsBehindTheKnownOnes) {
  FileBytes file = two_entry_file();
  file.put(12, std::uint32_t{48});
  file.put(16, std::uint64_t{56});
  file.put(24, std::uint64_t{file.bytes().size() - kSegmentData.size() - 56});
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), "ok");
}

// ---- what is refused ----------------------------------------------------------------------------------------------

struct Breakage {
  const char* name;
  const char* fault;
  std::function<void(schema::FlatTensorT&)> make;
};

class PtdRefuses : public ::testing::TestWithParam<Breakage> {};

TEST_P(PtdRefuses, Breakage) {
  schema::FlatTensorT data = two_entries();
  GetParam().make(data);
  const FileBytes file = two_entry_file(data);
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), GetParam().fault);
}

const Breakage kBreakages[] = {
    {"SegmentPastEndOfData", "InvalidExternalData at segments[1]", [](auto& d) { d.segments[1]->size = 17; }},
    // Within the file when counted from its start, but not when counted from the segment base.
    {"SegmentThatOnlyFitsTheWholeFile", "InvalidExternalData at segments[1]",
     [](auto& d) { d.segments[1]->offset = 64; }},
    {"SegmentThatWrapsAround", "InvalidExternalData at segments[1]",
     [](auto& d) { d.segments[1]->offset = UINT64_MAX - 7; }},
    {"SegmentIndexOutOfRange", "InvalidExternalData at named_data[1].segment_index",
     [](auto& d) { d.named_data[1]->segment_index = 2; }},
    {"KeyThatIsThereTwice", "InvalidExternalData at named_data[1].key",
     [](auto& d) { d.named_data[1]->key = "weight"; }},
    {"LayoutLongerThanItsSegment", "InvalidExternalData at named_data[0].tensor_layout",
     [](auto& d) {
       d.named_data[0]->tensor_layout->sizes = {2, 3};
     }},
    {"LayoutThatOverflows", "InvalidExternalData at named_data[0].tensor_layout.sizes",
     [](auto& d) {
       d.named_data[0]->tensor_layout->sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
       d.named_data[0]->tensor_layout->dim_order = {0, 1, 2};
     }},
    {"NegativeSize", "InvalidExternalData at named_data[0].tensor_layout.sizes[0]",
     [](auto& d) {
       d.named_data[0]->tensor_layout->sizes = {-1, 2};
     }},
    {"UnknownScalarType", "InvalidExternalData at named_data[0].tensor_layout.scalar_type",
     [](auto& d) { d.named_data[0]->tensor_layout->scalar_type = 99; }},
    {"DimOrderThatIsNoPermutation", "InvalidExternalData at named_data[0].tensor_layout.dim_order",
     [](auto& d) {
       d.named_data[0]->tensor_layout->dim_order = {0, 0};
     }},
};
INSTANTIATE_TEST_SUITE_P(, PtdRefuses, ::testing::ValuesIn(kBreakages), kNameOfCase);

struct HeadBreakage {
  const char* name;
  const char* fault;
  std::function<void(FileBytes&)> make;
};

class PtdHeadRefuses : public ::testing::TestWithParam<HeadBreakage> {};

TEST_P(PtdHeadRefuses, Breakage) {
  FileBytes file = two_entry_file();
  GetParam().make(file);
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), GetParam().fault);
}

const HeadBreakage kHeadBreakages[] = {
    {"AnotherIdentifier", "InvalidExternalData at identifier", [](auto& f) { f.put_text(4, "FT02"); }},
    {"NoHeader", "InvalidExternalData at header.magic", [](auto& f) { f.put_text(8, "FH02"); }},
    {"ShortHeader", "InvalidExternalData at header.length", [](auto& f) { f.put(12, std::uint32_t{39}); }},
    {"FlatbufferWithinTheHeader", "InvalidExternalData at header.flatbuffer_offset",
     [](auto& f) { f.put(16, std::uint64_t{47}); }},
    {"FlatbufferPastTheFile", "InvalidExternalData at header.flatbuffer_offset",
     [](auto& f) { f.put(16, UINT64_MAX); }},
    {"FlatbufferThatEndsPastTheFile", "InvalidExternalData at header.flatbuffer_size",
     [](auto& f) { f.put(24, UINT64_MAX - 40); }},
    {"SegmentsWithinTheFlatbuffer", "InvalidExternalData at header.segment_base_offset",
     [](auto& f) { f.put(32, std::uint64_t{48}); }},
    {"SegmentsPastTheFile", "InvalidExternalData at header.segment_base_offset",
     [](auto& f) { f.put(32, UINT64_MAX); }},
    {"SegmentDataPastTheFile", "InvalidExternalData at header.segment_data_size",
     [](auto& f) { f.put(40, std::uint64_t{33}); }},
    {"RootInTheHead", "InvalidExternalData at root_offset", [](auto& f) { f.put(0, std::uint32_t{7}); }},
    {"BodyCutShort", "InvalidExternalData at flatbuffer", [](auto& f) { f.put(24, std::uint64_t{64}); }},
};
INSTANTIATE_TEST_SUITE_P(, PtdHeadRefuses, ::testing::ValuesIn(kHeadBreakages), kNameOfCase);

TEST(PtdHead, RefusesUnalignedAddress) {
  const FileBytes file = two_entry_file();
  const auto read = read_ptd(file.bytes().subspan(8));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::InvalidArgument);
}

TEST(PtdHead, RefusesEmptyFile) {
  const FileBytes file{""};
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), "InvalidExternalData at identifier");
}

TEST(PtdHead, RefusesFileThatEndsInTheHeader) {
  const FileBytes file = two_entry_file().first(47);
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), "InvalidExternalData at header");
}

struct Missing {
  const char* name;
  const char* fault;
  std::function<void(FileBytes&, const schema::FlatTensor&)> drop;
};

class PtdRequires : public ::testing::TestWithParam<Missing> {};

TEST_P(PtdRequires, Field) {
  FileBytes file = two_entry_file();
  GetParam().drop(file, *schema::GetFlatTensor(file.bytes().data()));
  EXPECT_EQ(fault_of(read_ptd(file.bytes()), file), GetParam().fault);
}

const Missing kMissing[] = {
    {"Segments", "InvalidExternalData at segments",
     [](auto& f, auto& d) { f.drop(&d, schema::FlatTensor::VT_SEGMENTS); }},
    {"Entries", "InvalidExternalData at named_data",
     [](auto& f, auto& d) { f.drop(&d, schema::FlatTensor::VT_NAMED_DATA); }},
    {"Key", "InvalidExternalData at named_data[1].key",
     [](auto& f, auto& d) { f.drop(d.named_data()->Get(1), schema::FlatTensorEntry::VT_KEY); }},
    {"Sizes", "InvalidExternalData at named_data[0].tensor_layout.sizes",
     [](auto& f, auto& d) { f.drop(d.named_data()->Get(0)->tensor_layout(), schema::TensorLayout::VT_SIZES); }},
    {"DimOrder", "InvalidExternalData at named_data[0].tensor_layout.dim_order",
     [](auto& f, auto& d) { f.drop(d.named_data()->Get(0)->tensor_layout(), schema::TensorLayout::VT_DIM_ORDER); }},
};
INSTANTIATE_TEST_SUITE_P(, PtdRequires, ::testing::ValuesIn(kMissing), kNameOfCase);

TEST(PtdError, NamesTheKeyOfABadLayout) {
  schema::FlatTensorT data = two_entries();
  data.named_data[0]->tensor_layout->sizes = {2, 3};
  const FileBytes file = two_entry_file(data);
  const auto read = read_ptd(file.bytes());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().site().key, "weight");
  EXPECT_EQ(read.error().expected(), "at least 24 bytes");
  EXPECT_EQ(read.error().found(), "16 bytes");
}

}  // namespace
}  // namespace tandem::testing
