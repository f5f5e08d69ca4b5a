#include "cli/case_folder.h"

#include "cli/npy.h"
#include "support/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// meta.json with one method `forward` that has this one case.
std::string meta_with_case(std::string_view content) {
  return fmt::format(R"({{"files": {{"pte": "p.pte", "ptd": ["a.ptd", "b.ptd"]}},
                          "methods": {{"forward": {{"cases": [{}]}}}}}})",
                     content);
}

/// The same with one value as input.
std::string meta_with_value(std::string_view value) {
  return meta_with_case(fmt::format(R"({{"inputs": [{}], "outputs": []}})", value));
}

Result<CaseFolder> read(std::string_view meta) {
  const testing::TemporaryFolder folder;
  folder.write("meta.json", meta);
  return read_case_folder(folder.path());
}

TEST(CaseFolderTest, ReadsFilesCasesAndTolerances) {
  const Result<CaseFolder> folder = read(meta_with_case(
      R"({"inputs": [{"kind": "int", "value": -5}, {"kind": "double", "value": 0.5}, {"kind": "none"},
                     {"kind": "bool", "value": true}, {"kind": "string", "value": "x"}, {"kind": "double", "value": 2},
                     {"kind": "double", "value": "-inf"}],
          "outputs": [{"kind": "tensor", "file": "o.npy", "dtype": "bfloat16", "shape": [2, 3], "dim_order": [1, 0]}],
          "rtol": 0.25, "atol": 0.5, "reload": true, "note": "anything"})"));
  ASSERT_TRUE(folder.ok()) << folder.error().to_string();
  EXPECT_EQ(folder->program.filename(), "p.pte");
  ASSERT_EQ(folder->data_files.size(), 2U);
  EXPECT_EQ(folder->data_files[1].filename(), "b.ptd");
  ASSERT_EQ(folder->methods.size(), 1U);
  const Case& entry = folder->methods[0].cases.at(0);
  EXPECT_EQ(entry.tolerance.rtol, 0.25);
  EXPECT_EQ(entry.tolerance.atol, 0.5);
  EXPECT_TRUE(entry.reload);
  ASSERT_EQ(entry.inputs.size(), 7U);
  EXPECT_EQ(entry.inputs[0].value.to_int(), -5);
  EXPECT_EQ(entry.inputs[1].value.to_double(), 0.5);
  EXPECT_TRUE(entry.inputs[2].value.is_none());
  EXPECT_TRUE(entry.inputs[3].value.to_bool());
  EXPECT_EQ(entry.inputs[4].value.to_text(), "x");
  EXPECT_EQ(entry.inputs[5].value.to_double(), 2.0) << "a whole number is a double too";
  EXPECT_EQ(entry.inputs[6].value.to_double(), -std::numeric_limits<double>::infinity());
  const CaseValue& output = entry.outputs.at(0);
  EXPECT_EQ(output.dtype, ScalarType::BFloat16);
  EXPECT_THAT(output.shape, ElementsAre(2, 3));
  EXPECT_THAT(output.dim_order, ElementsAre(1, 0));
  EXPECT_EQ(output.field, "methods.forward.cases[0].outputs[0]");
}

TEST(CaseFolderTest, RunsCasesInFileOrderUnlessAnOrderIsGiven) {
  const std::string body = R"("files": {"pte": "p.pte"}, "methods": {
      "second": {"cases": [{"inputs": [], "outputs": []}, {"inputs": [], "outputs": []}]},
      "first": {"cases": [{"inputs": [], "outputs": []}]}})";
  const auto steps = [](const Result<CaseFolder>& folder) {
    std::vector<std::string> list;
    for (const CaseStep& step : folder->order) {
      list.push_back(fmt::format("{}{}", folder->methods[step.method].name, step.index));
    }
    return list;
  };
  const Result<CaseFolder> plain = read("{" + body + "}");
  ASSERT_TRUE(plain.ok()) << plain.error().to_string();
  EXPECT_THAT(steps(plain), ElementsAre("second0", "second1", "first0"));
  const Result<CaseFolder> ordered = read("{" + body + R"(, "order": [["first", 0], ["second", 1], ["first", 0]]})");
  ASSERT_TRUE(ordered.ok()) << ordered.error().to_string();
  EXPECT_THAT(steps(ordered), ElementsAre("first0", "second1", "first0"));
}

TEST(CaseFolderTest, ReadsInputsThatMustBeRefused) {
  const Result<CaseFolder> folder = read(
      R"({"files": {"pte": "p.pte"}, "methods": {"forward": {"cases": [],
          "failures": [{"inputs": [{"kind": "int", "value": 1}], "reason": "too large"}]}}})");
  ASSERT_TRUE(folder.ok()) << folder.error().to_string();
  ASSERT_EQ(folder->methods[0].failures.size(), 1U);
  EXPECT_EQ(folder->methods[0].failures[0].inputs[0].value.to_int(), 1);
  EXPECT_EQ(folder->methods[0].failures[0].reason, "too large");
}

TEST(CaseFolderTest, ReadsBoundsAndTakesRecordedZerosForSome) {
  const Result<CaseFolder> folder = read(
      R"({"files": {"pte": "p.pte"}, "methods": {
          "forward": {"cases": [{"inputs": [{"kind": "int", "value": 1}, {"kind": "tensor", "file": "x.npy",
                                             "dtype": "float32", "shape": [3, 2, 0]}], "outputs": [], "repeat": 3}],
                      "failures": [{"inputs": [{"kind": "tensor", "file": "x.npy", "dtype": "float32", "shape": [0]}]}],
                      "bounds": [{"input": 0, "axis": 2, "min": 4, "max": 8}, {"input": 7, "axis": 1}]},
          "other": {"cases": []}}})");
  ASSERT_TRUE(folder.ok()) << folder.error().to_string();
  const std::vector<InputBounds> bounds = input_bounds_of(*folder);
  ASSERT_EQ(bounds.size(), 3U);
  EXPECT_EQ(bounds[0].method, "forward");
  EXPECT_EQ(bounds[0].axis, 2U);
  EXPECT_EQ(bounds[0].min, 4);
  EXPECT_EQ(bounds[0].max, 8);
  EXPECT_EQ(bounds[1].input, 7U);
  EXPECT_EQ(bounds[1].min, 1);
  EXPECT_EQ(bounds[1].max, INT64_MAX);
  EXPECT_EQ(bounds[2].input, 1U);  // of the case; the axis that counts calls is none of the tensor's
  EXPECT_EQ(bounds[2].axis, 1U);
  EXPECT_EQ(bounds[2].min, 0);
}

TEST(CaseFolderTest, ReadsEveryFixture) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{TANDEM_FIXTURES}) {
    if (!std::filesystem::exists(entry.path() / "meta.json")) continue;
    const Result<CaseFolder> folder = read_case_folder(entry.path());
    ASSERT_TRUE(folder.ok()) << folder.error().to_string();
    for (const CaseMethod& method : folder->methods) {
      for (const Case& one : method.cases) {
        EXPECT_TRUE(load_values(folder->folder, one.inputs).ok()) << entry.path();
        EXPECT_TRUE(load_values(folder->folder, one.outputs).ok()) << entry.path();
      }
    }
    ++count;
  }
  EXPECT_GE(count, 28U);
}

struct BadMeta {
  const char* name;
  std::string meta;
  std::string field;
  const char* part;  ///< Of the error's text.
};

class CaseFolderErrorTest : public ::testing::TestWithParam<BadMeta> {};

TEST_P(CaseFolderErrorTest, NamesFileAndField) {
  const Result<CaseFolder> folder = read(GetParam().meta);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(folder.error().site().file, ::testing::EndsWith("/meta.json"));
  EXPECT_EQ(folder.error().site().field, GetParam().field);
  EXPECT_THAT(folder.error().to_string(), HasSubstr(GetParam().part));
}

std::vector<BadMeta> bad_metas() {
  const std::string input = "methods.forward.cases[0].inputs[0]";
  const auto at = [&](const char* member) { return input + member; };
  const std::string case0 = "methods.forward.cases[0]";
  return {
      {"BoundsWithoutAnAxis",
       R"({"files": {"pte": "p"}, "methods": {"forward": {"cases": [], "bounds": [{"input": 0}]}}})",
       "methods.forward.bounds[0].axis", "nothing"},
      {"BoundsThatHoldNothing",
       R"({"files": {"pte": "p"}, "methods": {"forward": {"cases": [],
           "bounds": [{"input": 0, "axis": 0, "min": 4, "max": 3}]}}})",
       "methods.forward.bounds[0].max", "4.."},
      {"NoObject", "[]", "", "an object; found a list"},
      {"DeepNesting", std::string(100000, '[') + std::string(100000, ']'), "", "an object; found a list"},
      {"NoFiles", "{}", "files", "found nothing"},
      {"NoProgram", R"({"files": {}})", "files.pte", "found nothing"},
      {"ProgramIsNoText", R"({"files": {"pte": 3}})", "files.pte", "a text; found 3"},
      {"ProgramOutside", R"({"files": {"pte": "../p.pte"}})", "files.pte", "within the folder"},
      {"ProgramAbsolute", R"({"files": {"pte": "/p.pte"}})", "files.pte", "within the folder"},
      {"DataOutside", R"({"files": {"pte": "p.pte", "ptd": ["a/../../b"]}})", "files.ptd[0]", "within the folder"},
      {"NoMethods", R"({"files": {"pte": "p.pte"}})", "methods", "found nothing"},
      {"NoCases", R"({"files": {"pte": "p.pte"}, "methods": {"m": {}}})", "methods.m.cases", "found nothing"},
      {"NoInputs", meta_with_case(R"({"outputs": []})"), case0 + ".inputs", "found nothing"},
      {"NoOutputs", meta_with_case(R"({"inputs": []})"), case0 + ".outputs", "found nothing"},
      {"NoKind", meta_with_value("{}"), at(".kind"), "found nothing"},
      {"UnknownKind", meta_with_value(R"({"kind": "list", "value": 1})"), at(".kind"), "found \"list\""},
      {"IntIsDouble", meta_with_value(R"({"kind": "int", "value": 1.5})"), at(".value"), "a whole number"},
      {"IntTooLarge", meta_with_value(R"({"kind": "int", "value": 9223372036854775808})"), at(".value"),
       "a whole number"},
      {"BoolIsInt", meta_with_value(R"({"kind": "bool", "value": 1})"), at(".value"), "true or false"},
      {"DoubleIsText", meta_with_value(R"({"kind": "double", "value": "two"})"), at(".value"), "found \"two\""},
      {"NoFile", meta_with_value(R"({"kind": "tensor", "dtype": "float32", "shape": []})"), at(".file"), "nothing"},
      {"UnknownDtype", meta_with_value(R"({"kind": "tensor", "file": "x.npy", "dtype": "float99", "shape": []})"),
       at(".dtype"), "found \"float99\""},
      {"NegativeSize", meta_with_value(R"({"kind": "tensor", "file": "x.npy", "dtype": "bool", "shape": [-1]})"),
       at(".shape[0]"), "found -1"},
      {"RankTooLarge",
       meta_with_value(
           R"({"kind": "tensor", "file": "x", "dtype": "bool", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]})"),
       at(".shape"), "at most 16 sizes"},
      {"NoPermutation",
       meta_with_value(R"({"kind": "tensor", "file": "x", "dtype": "bool", "shape": [2, 2], "dim_order": [0, 0]})"),
       at(".dim_order"), "a permutation of 0..1"},
      {"NegativeTolerance", meta_with_case(R"({"inputs": [], "outputs": [], "rtol": -1})"), case0 + ".rtol",
       "at least 0"},
      {"RepeatZero", meta_with_case(R"({"inputs": [], "outputs": [], "repeat": 0})"), case0 + ".repeat", "found 0"},
      {"RepeatDiffersFromShape",
       meta_with_case(
           R"({"inputs": [{"kind": "tensor", "file": "x", "dtype": "bool", "shape": [3]}], "outputs": [], "repeat": 4})"),
       at(".shape"), "a first size of 4 (repeat); found 3"},
      {"RepeatAxisInside",
       meta_with_case(R"({"inputs": [{"kind": "tensor", "file": "x", "dtype": "bool", "shape": [4, 2],
                                      "dim_order": [1, 0]}], "outputs": [], "repeat": 4})"),
       at(".dim_order"), "0 first"},
      {"OrderUnknownMethod", R"({"files": {"pte": "p"}, "methods": {}, "order": [["m", 0]]})", "order[0]",
       "one of the methods"},
      {"OrderUnknownCase", R"({"files": {"pte": "p"}, "methods": {"m": {"cases": []}}, "order": [["m", 0]]})",
       "order[0][1]", "a whole number 0..-1"},
      {"OrderNoPair", R"({"files": {"pte": "p"}, "methods": {}, "order": [["m"]]})", "order[0]", "[method, index"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, CaseFolderErrorTest, ::testing::ValuesIn(bad_metas()),
                         [](const auto& parameter) { return std::string{parameter.param.name}; });

TEST(CaseFolderTest, TellsWhereTheJsonBreaks) {
  const Result<CaseFolder> folder = read("{\"files\": }");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(folder.error().site().offset, 10U);
}

TEST(CaseFolderTest, NamesAMissingMetaJson) {
  const testing::TemporaryFolder folder;
  const Result<CaseFolder> read = read_case_folder(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(read.error().site().file, (folder.path() / "meta.json").string());
}

class LoadValuesTest : public ::testing::Test {
 protected:
  LoadValuesTest() {
    std::array<float, 12> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const std::array<std::int64_t, 3> sizes{2, 2, 3};
    const Result<Tensor> tensor = Tensor::from_blob(data.data(), ScalarType::Float, sizes);
    EXPECT_TRUE(write_npy(folder_.path() / "x.npy", *tensor).ok());
    value_.value = Tensor{};
    value_.file = "x.npy";
    value_.shape = {2, 2, 3};
    value_.dim_order = {0, 2, 1};
    value_.field = "inputs[0]";
  }

  testing::TemporaryFolder folder_;
  CaseValue value_;
};

TEST_F(LoadValuesTest, NamesAFileThatDiffersFromMetaJson) {
  value_.shape = {2, 3, 2};
  const auto loaded = load_values(folder_.path(), {&value_, 1});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().expected(), "float32 2x3x2");
  EXPECT_EQ(loaded.error().found(), "float32 2x2x3");
  EXPECT_EQ(loaded.error().site().file, (folder_.path() / "x.npy").string());
  EXPECT_EQ(loaded.error().site().field, "inputs[0]");
}

TEST_F(LoadValuesTest, GivesTensorsInTheLayoutOfMetaJson) {
  const auto loaded = load_values(folder_.path(), {&value_, 1});
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto values = values_of_call(*loaded, {&value_, 1}, /*repeats=*/false, 0);
  ASSERT_TRUE(values.ok());
  EXPECT_THAT((*values)[0].tensor().strides(), ElementsAre(6, 1, 2));
  EXPECT_EQ((*values)[0].tensor().data_as<float>()[1], 3) << "element [0, 1, 0]";
}

TEST_F(LoadValuesTest, TakesOneRowPerCall) {
  const auto loaded = load_values(folder_.path(), {&value_, 1});
  ASSERT_TRUE(loaded.ok());
  const auto values = values_of_call(*loaded, {&value_, 1}, /*repeats=*/true, 1);
  ASSERT_TRUE(values.ok());
  const Tensor& row = (*values)[0].tensor();
  EXPECT_THAT(row.sizes(), ElementsAre(2, 3));
  EXPECT_THAT(row.strides(), ElementsAre(1, 2));
  EXPECT_EQ(row.data_as<float>()[0], 6);
  EXPECT_EQ(row.data_as<float>()[1], 9) << "element [1, 0] of the second row";
}

}  // namespace
}  // namespace tandem::cli
