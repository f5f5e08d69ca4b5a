#include "cli/npy.h"

#include "support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <vector>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

/// A file with this header text and `data_bytes` bytes 0, 1, 2, ... behind it.
std::vector<std::byte> npy(std::string header, std::size_t data_bytes, char major = 1) {
  std::string file{"\x93NUMPY", 6};
  file += major;
  file += '\0';
  file += static_cast<char>(header.size() & 0xFFU);
  file += static_cast<char>(header.size() >> 8U);
  if (major > 1) file += std::string(2, '\0');
  file += header;
  for (std::size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i);
  return bytes_of(file);
}

std::vector<std::byte> npy_of(std::string_view descr, std::string_view shape, std::size_t data_bytes,
                              bool fortran = false) {
  std::string header = "{'descr': '" + std::string{descr} + "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + std::string{shape} + ", }\n";
  return npy(std::move(header), data_bytes);
}

Result<Tensor> parse(const std::vector<std::byte>& file, std::optional<ScalarType> wanted = {}) {
  return parse_npy(file, {}, "x.npy", wanted);
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream{file, std::ios::binary}.rdbuf();
  return out.str();
}

class NpyDtypeTest : public ::testing::TestWithParam<ScalarType> {};

TEST_P(NpyDtypeTest, ReadsBackWhatItWrote) {
  const testing::TemporaryFolder folder;
  const std::array<std::int64_t, 3> sizes{2, 1, 3};
  Result<Tensor> tensor = Tensor::empty(GetParam(), sizes);
  ASSERT_TRUE(tensor.ok());
  for (std::size_t i = 0; i < tensor->nbytes(); ++i) tensor->data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const auto file = folder.path() / "x.npy";
  ASSERT_TRUE(write_npy(file, *tensor).ok());

  const Result<Tensor> read = read_npy(file, GetParam());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->dtype(), GetParam());
  EXPECT_THAT(read->sizes(), ElementsAre(2, 1, 3));
  EXPECT_EQ(std::memcmp(read->data(), tensor->data(), tensor->nbytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, NpyDtypeTest,
                         ::testing::Values(ScalarType::Bool, ScalarType::Byte, ScalarType::Char, ScalarType::Short,
                                           ScalarType::Int, ScalarType::Long, ScalarType::UInt16, ScalarType::UInt32,
                                           ScalarType::UInt64, ScalarType::Half, ScalarType::BFloat16,
                                           ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat,
                                           ScalarType::ComplexDouble, ScalarType::Float8E4M3FN),
                         [](const auto& parameter) { return std::string{name_of(parameter.param)}; });

TEST(NpyWriterTest, WritesTheHeaderThatNumPyWrites) {
  const testing::TemporaryFolder folder;
  const std::array<std::int64_t, 1> sizes{3};
  Result<Tensor> tensor = Tensor::empty(ScalarType::Float, sizes);
  ASSERT_TRUE(tensor.ok());
  std::memset(tensor->data(), 0, tensor->nbytes());
  ASSERT_TRUE(write_npy(folder.path() / "x.npy", *tensor).ok());

  const std::string content = content_of(folder.path() / "x.npy");
  ASSERT_EQ(content.size(), 128U + 12U);
  EXPECT_THAT(content, StartsWith(std::string{"\x93NUMPY\x01\x00\x76\x00", 10} +
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  "));
  EXPECT_EQ(content[127], '\n');
}

TEST(NpyWriterTest, WritesStridedTensorsInRowMajorOrder) {
  const testing::TemporaryFolder folder;
  std::array<std::uint8_t, 6> data{0, 1, 2, 3, 4, 5};
  const std::array<std::int64_t, 2> sizes{2, 3};
  const std::array<std::int64_t, 2> strides{1, 2};
  const Result<Tensor> tensor = Tensor::from_blob(data.data(), ScalarType::Byte, sizes, strides);
  ASSERT_TRUE(tensor.ok());
  ASSERT_TRUE(write_npy(folder.path() / "x.npy", *tensor).ok());
  const Result<Tensor> read = read_npy(folder.path() / "x.npy");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT((std::span{read->data_as<std::uint8_t>(), 6}), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(NpyWriterTest, NamesADtypeThatNumPyLacks) {
  const testing::TemporaryFolder folder;
  const Result<Tensor> tensor = Tensor::empty(ScalarType::ComplexHalf, {});
  ASSERT_TRUE(tensor.ok());
  const Status status = write_npy(folder.path() / "x.npy", *tensor);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(status.error().message(), HasSubstr("complex32"));
}

TEST(NpyWriterTest, NamesAFolderThatIsNotThere) {
  const Result<Tensor> tensor = Tensor::empty(ScalarType::Float, {});
  ASSERT_TRUE(tensor.ok());
  const Status status = write_npy("/nowhere/at/all/x.npy", *tensor);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(status.error().site().file, "/nowhere/at/all/x.npy");
}

TEST(NpyWriterTest, ReportsAFullDisk) {
  const std::array<std::int64_t, 1> sizes{1 << 20};
  const Result<Tensor> tensor = Tensor::empty(ScalarType::Byte, sizes);
  ASSERT_TRUE(tensor.ok());
  const Status status = write_npy("/dev/full", *tensor);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::AccessFailed);
  EXPECT_EQ(status.error().native().code, ENOSPC);
}

TEST(NpyReaderTest, ReadsAFileOfNumPy) {
  const Result<Tensor> read = read_npy(TANDEM_FIXTURES "/add/forward_0_in0.npy");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->dtype(), ScalarType::Float);
  EXPECT_TRUE(read->is_contiguous());
}

TEST(NpyReaderTest, TurnsFortranOrderIntoStrides) {
  const Result<Tensor> read = parse(npy_of("|u1", "(2, 3)", 6, /*fortran=*/true));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_THAT(read->sizes(), ElementsAre(2, 3));
  EXPECT_THAT(read->strides(), ElementsAre(1, 2));
}

TEST(NpyReaderTest, MapsAlignedDataAndReleasesItWithTheLastHandle) {
  alignas(64) std::array<std::byte, 192> memory{};
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (64,), }";
  header.resize(128 - 10 - 1, ' ');
  const std::vector<std::byte> file = npy(header + "\n", 64);
  ASSERT_EQ(file.size(), memory.size());
  std::copy(file.begin(), file.end(), memory.begin());
  int released = 0;
  {
    const Result<Tensor> read = parse_npy(
        memory, [&released] { ++released; }, "x.npy");
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read->data(), memory.data() + 128);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(NpyReaderTest, CopiesBadlyAlignedDataAndReleasesTheFileAtOnce) {
  alignas(64) std::array<std::byte, 256> memory{};
  const std::vector<std::byte> file = npy_of("<f4", "(2,)", 8);
  ASSERT_NE((file.size() - 8) % 64, 0U);
  std::copy(file.begin(), file.end(), memory.begin());
  int released = 0;
  const Result<Tensor> read = parse_npy(
      std::span{memory}.first(file.size()), [&released] { ++released; }, "x.npy");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(released, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read->data()) % 64, 0U);
  EXPECT_EQ(read->data_as<std::uint8_t>()[7], 7);
}

TEST(NpyReaderTest, ReleasesTheFileOnAnError) {
  int released = 0;
  EXPECT_FALSE(parse_npy(
                   {}, [&released] { ++released; }, "x.npy")
                   .ok());
  EXPECT_EQ(released, 1);
}

TEST(NpyReaderTest, ReadsVersions2And3) {
  for (const char major : {'\x02', '\x03'}) {
    const Result<Tensor> read = parse(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", 4, major));
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read->dtype(), ScalarType::Short);
  }
}

TEST(NpyReaderTest, ReadsScalarsAndEmptyArrays) {
  const Result<Tensor> scalar = parse(npy_of("<f8", "()", 8));
  ASSERT_TRUE(scalar.ok()) << scalar.error().to_string();
  EXPECT_EQ(scalar->rank(), 0U);
  const Result<Tensor> empty = parse(npy_of("<f8", "(0, 4)", 0));
  ASSERT_TRUE(empty.ok()) << empty.error().to_string();
  EXPECT_THAT(empty->sizes(), ElementsAre(0, 4));
}

TEST(NpyReaderTest, TakesTheWantedTypeThatNumPyLacks) {
  for (const std::string_view descr : {"<u2", "<V2", "|V2"}) {
    const Result<Tensor> read = parse(npy_of(descr, "(2,)", 4), ScalarType::BFloat16);
    ASSERT_TRUE(read.ok()) << descr << read.error().to_string();
    EXPECT_EQ(read->dtype(), ScalarType::BFloat16);
  }
  const Result<Tensor> other = parse(npy_of("<i2", "(2,)", 4), ScalarType::BFloat16);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->dtype(), ScalarType::Short) << "signed numbers are no raw bits";
}

struct BadNpy {
  const char* name;
  std::vector<std::byte> file;
  ErrorCode code;
  const char* part;  ///< Of the error's text.
};

class NpyErrorTest : public ::testing::TestWithParam<BadNpy> {};

TEST_P(NpyErrorTest, NamesFileAndReason) {
  const Result<Tensor> read = parse(GetParam().file);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), GetParam().code);
  EXPECT_EQ(read.error().site().file, "x.npy");
  EXPECT_THAT(read.error().to_string(), HasSubstr(GetParam().part));
}

std::vector<BadNpy> bad_files() {
  const auto header = [](const char* text) { return npy(text, 0); };
  const ErrorCode argument = ErrorCode::InvalidArgument;
  const ErrorCode unsupported = ErrorCode::NotSupported;
  std::vector<std::byte> truncated = npy_of("<f4", "(4,)", 16);
  truncated.resize(40);
  std::vector<std::byte> without_length = npy("", 0, 2);
  without_length.resize(10);
  return {
      {"Empty", {}, argument, "an empty file"},
      {"OtherMagic", bytes_of("PK\x03\x04 some archive"), argument, "magic bytes"},
      {"Version4", npy("{}", 0, 4), argument, "found 4.0"},
      {"NoHeaderLength", without_length, argument, "a header length"},
      {"TruncatedHeader", truncated, argument, "a header of"},
      {"TooFewBytes", npy_of("<f4", "(4,)", 15), argument, "expected 16 bytes for shape 4; found 15 bytes"},
      {"TooManyBytes", npy_of("<f4", "(4,)", 17), argument, "found 17 bytes"},
      {"SizeOverflow", npy_of("<f8", "(4294967296, 4294967296)", 8), argument, "more than 2^63"},
      {"ExtentOverflow", npy_of("<f8", "(99999999999999999999,)", 8), argument, "a size below 2^63"},
      {"RankTooLarge", npy_of("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", 1), argument, "at most 16 dimensions"},
      {"NegativeSize", npy_of("<f4", "(-4,)", 16), argument, "a size; found '-'"},
      {"ShapeIsNoTuple", npy_of("<f4", "4", 16), argument, "'('"},
      {"ShapeNotClosed", header("{'shape': (4"), argument, "found the end"},
      {"NoDict", header("[]"), argument, "'{'"},
      {"UnknownKey", header("{'color': 'red'}"), argument, "found 'color'"},
      {"KeyTwice", header("{'descr': '<f4', 'descr': '<f4'}"), argument, "'descr' twice"},
      {"KeyMissing", header("{'descr': '<f4', 'shape': ()}"), argument, "a header without one of them"},
      {"TextNotClosed", header("{'descr"), argument, "a closing quote"},
      {"OrderIsNoTruth", header("{'fortran_order': 1}"), argument, "True or False"},
      {"NoColon", header("{'descr' '<f4'}"), argument, "':'"},
      {"NoComma", header("{'descr': '<f4' 'shape': ()}"), argument, "',' or '}'"},
      {"TextBehindHeader", header("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"), argument,
       "the end of the header"},
      {"BigEndian", npy_of(">f4", "(1,)", 4), unsupported, "big-endian arrays are not supported"},
      {"Objects", npy_of("|O", "(1,)", 8), unsupported, "objects are not supported"},
      {"Texts", npy_of("<U5", "(1,)", 20), unsupported, "texts are not supported"},
      {"Dates", npy_of("<M8[ns]", "(1,)", 8), unsupported, "dates and time spans"},
      {"Structures", header("{'descr': [('a', '<f4')]}"), unsupported, "structured arrays"},
      {"RawBytes", npy_of("|V2", "(1,)", 2), unsupported, "raw elements"},
      {"LongDouble", npy_of("<f16", "(1,)", 16), unsupported, "'<f16'"},
      {"NativeOrder", npy_of("=f4", "(1,)", 4), unsupported, "'=f4'"},
      {"NoOrder", npy_of("|f4", "(1,)", 4), unsupported, "without a byte order"},
      {"EmptyDescr", npy_of("", "(1,)", 4), unsupported, "such elements"},
      {"TerminalCodes", header("{'\x1b[31m': 1}"), argument, "\\x1b[31m"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, NpyErrorTest, ::testing::ValuesIn(bad_files()),
                         [](const auto& parameter) { return std::string{parameter.param.name}; });

TEST(NpyReaderTest, NamesAFileThatIsNotThereAndAFolder) {
  const Result<Tensor> missing = read_npy("/nowhere/x.npy");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(missing.error().site().file, "/nowhere/x.npy");
  const Result<Tensor> folder = read_npy("/tmp");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code(), ErrorCode::AccessFailed);
}

}  // namespace
}  // namespace tandem::cli
