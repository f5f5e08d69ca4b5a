#include "cli/pack/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> elements(const ManifestContents& contents) {
  const auto& bytes = std::get<std::vector<std::byte>>(contents);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// A manifest with one method; `members` are those of the method behind its name.
std::string with_method(const std::string& members) {
  return R"({"tandem_pack": 1, "methods": [{"name": "f", )" + members + "}]}";
}

Manifest parsed(const std::string& text) {
  auto manifest = parse_manifest(text, "m.json");
  EXPECT_TRUE(manifest.ok()) << manifest.error().to_string();
  return manifest.ok() ? *std::move(manifest) : Manifest{};
}

ManifestTensor tensor_of(const std::string& members) {
  const Manifest manifest = parsed(with_method(R"("values": {"t": {)" + members + "}}"));
  if (manifest.methods.empty()) return {};
  return std::get<ManifestTensor>(manifest.methods[0].values[0].content);
}

TEST(ManifestTensor, HasWhatTheManifestSays) {
  const ManifestTensor tensor =
      tensor_of(R"("dtype": "int64", "sizes": [2, 3], "dim_order": [1, 0], "dynamic": true, "device": "cuda:1")");
  EXPECT_EQ(tensor.array.dtype, ScalarType::Long);
  EXPECT_THAT(tensor.array.sizes, ElementsAre(2, 3));
  EXPECT_THAT(tensor.array.dim_order, ElementsAre(1, 0));
  EXPECT_EQ(tensor.array.bytes, 48U);
  EXPECT_TRUE(tensor.dynamic);
  EXPECT_EQ(tensor.device, (DeviceId{DeviceType::Cuda, 1}));
  EXPECT_EQ(tensor.role, ManifestTensor::Role::Plain);
}

TEST(ManifestTensor, NumbersAreFlatOrNested) {
  const auto numbers = [](const char* text) {
    return elements<float>(
        tensor_of(std::string{R"("dtype": "float32", "sizes": [2, 2], "constant": )"} + text).contents);
  };
  EXPECT_THAT(numbers("[1, 2.5, -3, 4]"), ElementsAre(1, 2.5, -3, 4));
  EXPECT_THAT(numbers("[[1, 2.5], [-3, 4]]"), ElementsAre(1, 2.5, -3, 4));
}

TEST(ManifestTensor, NumbersLieInTheOrderOfTheAxes) {
  const ManifestTensor tensor =
      tensor_of(R"("dtype": "int32", "sizes": [2, 3], "dim_order": [1, 0], "constant": [[1, 2, 3], [4, 5, 6]])");
  EXPECT_THAT(elements<std::int32_t>(tensor.contents), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ManifestTensor, NumbersOfEveryKind) {
  const auto contents = [](const char* dtype, const char* numbers) {
    return tensor_of(std::string{R"("dtype": ")"} + dtype + R"(", "sizes": [2], "constant": )" + numbers).contents;
  };
  EXPECT_THAT(elements<std::uint8_t>(contents("uint8", "[0, 255]")), ElementsAre(0, 255));
  EXPECT_THAT(elements<std::int8_t>(contents("int8", "[-128, 127]")), ElementsAre(-128, 127));
  EXPECT_THAT(elements<std::int16_t>(contents("int16", "[-32768, 3]")), ElementsAre(-32768, 3));
  EXPECT_THAT(elements<std::uint16_t>(contents("uint16", "[65535, 3]")), ElementsAre(65535, 3));
  EXPECT_THAT(elements<std::uint32_t>(contents("uint32", "[4294967295, 3]")), ElementsAre(4294967295U, 3));
  EXPECT_THAT(elements<std::int64_t>(contents("int64", "[-9223372036854775808, 3]")), ElementsAre(INT64_MIN, 3));
  EXPECT_THAT(elements<std::uint64_t>(contents("uint64", "[9223372036854775807, 3]")), ElementsAre(INT64_MAX, 3));
  EXPECT_THAT(elements<double>(contents("float64", "[0.1, \"-inf\"]")),
              ElementsAre(0.1, -std::numeric_limits<double>::infinity()));
  EXPECT_THAT(elements<std::uint8_t>(contents("bool", "[true, false]")), ElementsAre(1, 0));
}

TEST(ManifestTensor, WithoutAxesIsOneNumber) {
  EXPECT_THAT(elements<float>(tensor_of(R"("dtype": "float32", "sizes": [], "constant": 7)").contents), ElementsAre(7));
}

TEST(ManifestTensor, MutableOnesHaveTheirNameForEver) {
  const ManifestTensor plain = tensor_of(R"("dtype": "float32", "sizes": [1], "mutable": true)");
  EXPECT_EQ(plain.role, ManifestTensor::Role::Mutable);
  EXPECT_EQ(plain.name, "t");
  EXPECT_FALSE(plain.shared);
  const ManifestTensor named = tensor_of(
      R"("dtype": "float32", "sizes": [1], "mutable": true, "initial": [3], "name": "cache.k", "shared": true)");
  EXPECT_EQ(named.name, "cache.k");
  EXPECT_TRUE(named.shared);
  EXPECT_THAT(elements<float>(named.contents), ElementsAre(3));
}

TEST(ManifestValues, OfEveryKind) {
  const Manifest manifest = parsed(with_method(R"("values": {
      "list": ["n", 5], "n": 3, "d": 0.5, "b": true, "none": null,
      "i2": {"int": 4}, "d2": {"double": 2}, "d3": {"double": "inf"}, "b2": {"bool": false}, "s": {"string": ""},
      "il": {"int_list": []}, "dl": [1, 2.5], "bl": [true, false],
      "t": {"dtype": "float32", "sizes": [1]}, "tl": ["t", "t"], "ol": ["t", null],
      "ol2": {"optional_tensor_list": ["t"]}})"));
  ASSERT_EQ(manifest.methods.size(), 1U);
  const std::vector<ManifestValue>& values = manifest.methods[0].values;
  const auto content = [&values](std::string_view name) -> const ManifestContent& {
    for (const ManifestValue& value : values) {
      if (value.name == name) return value.content;
    }
    ADD_FAILURE() << name;
    return values[0].content;
  };
  EXPECT_EQ(std::get<std::int64_t>(content("n")), 3);
  EXPECT_EQ(std::get<double>(content("d")), 0.5);
  EXPECT_EQ(std::get<bool>(content("b")), true);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(content("none")));
  EXPECT_EQ(std::get<std::int64_t>(content("i2")), 4);
  EXPECT_EQ(std::get<double>(content("d2")), 2);
  EXPECT_EQ(std::get<double>(content("d3")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<bool>(content("b2")), false);
  EXPECT_EQ(std::get<std::string>(content("s")), "");
  EXPECT_TRUE(std::get<ManifestIntList>(content("il")).items.empty());
  EXPECT_THAT(std::get<std::vector<double>>(content("dl")), ElementsAre(1, 2.5));
  EXPECT_THAT(std::get<std::vector<bool>>(content("bl")), ElementsAre(true, false));
  EXPECT_EQ(std::get<ManifestTensorList>(content("tl")).items.size(), 2U);
  EXPECT_FALSE(std::get<ManifestTensorList>(content("tl")).optional);
  EXPECT_TRUE(std::get<ManifestTensorList>(content("ol")).optional);
  EXPECT_EQ(std::get<ManifestTensorList>(content("ol")).items[1], std::nullopt);
  EXPECT_TRUE(std::get<ManifestTensorList>(content("ol2")).optional);

  const auto& list = std::get<ManifestIntList>(content("list")).items;
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(values[list[0]].name, "n");
  EXPECT_EQ(values[list[1]].name, "");
  EXPECT_EQ(std::get<std::int64_t>(values[list[1]].content), 5);
}

TEST(ManifestSteps, OfEveryKind) {
  const Manifest manifest = parsed(with_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "float32", "sizes": [1]}, "go": true},
      "delegates": {"d": {"backend": "Mine"}},
      "steps": [{"label": "start"}, {"op": "aten::add.out", "args": ["x", "x", 1, "y"]},
                {"op": "aten::add.out", "args": ["x", "x", 1, "y", "y"]}, {"delegate": "d", "args": ["x", "y"]},
                {"move": "x", "to": "y"}, {"free": "y"}, {"jump_if_false": "go", "to": "end"},
                {"jump_if_false": false, "to": "start"}, {"label": "end"}])"));
  ASSERT_EQ(manifest.methods.size(), 1U);
  const std::vector<ManifestStep>& steps = manifest.methods[0].steps;
  using Kind = ManifestStep::Kind;
  std::vector<Kind> kinds;
  for (const ManifestStep& step : steps) kinds.push_back(step.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::Label, Kind::Op, Kind::Op, Kind::Delegate, Kind::Move, Kind::Free,
                                 Kind::JumpIfFalse, Kind::JumpIfFalse, Kind::Label));
  EXPECT_EQ(steps[1].args.size(), 5U) << "the result need not be repeated";
  EXPECT_EQ(steps[1].args[4].value, steps[1].args[3].value);
  EXPECT_EQ(steps[6].target, steps[8].target);
  EXPECT_EQ(steps[7].target, steps[0].target);
  EXPECT_EQ(manifest.methods[0].label_count, 2U);
}

TEST(ManifestDelegates, KindFollowsTheBackendOrIsNamed) {
  const Manifest manifest = parsed(with_method(R"("delegates": {
      "a": {"backend": "AotiHostBackend", "library": "a.so"},
      "b": {"backend": "CudaBackend", "library": "a.so", "weights": "w.bin", "external": true},
      "c": {"backend": "TensorRTBackend", "engine": "e", "inputs": ["x"], "outputs": ["y"]},
      "d": {"backend": "Mine", "payload": "p", "compile_specs": {"k": "v"}, "inline": true},
      "e": {"backend": "Other", "kind": "aoti", "library": "a.so",
            "weights": {"w": {"dtype": "float32", "sizes": [1], "constant": [1]}}},
      "f": {"backend": "CudaBackend", "kind": "payload", "payload": "p"},
      "g": {"backend": "CustomBackend", "library": "k.so", "user_blob": "b"}})"));
  ASSERT_EQ(manifest.methods.size(), 1U);
  std::vector<std::string_view> kinds;
  for (const ManifestDelegate& delegate : manifest.methods[0].delegates) kinds.push_back(delegate.kind);
  EXPECT_THAT(kinds, ElementsAre("aoti", "aoti", "tensorrt", "payload", "aoti", "payload", "custom"));
  const ManifestDelegate& mine = manifest.methods[0].delegates[3];
  EXPECT_TRUE(mine.inline_payload);
  EXPECT_THAT(mine.compile_specs, ElementsAre(std::pair<std::string, std::string>{"k", "v"}));
}

struct BadManifest {
  const char* name;
  std::string text;
  std::string place;  ///< "LINE:COLUMN".
  std::string key;
  std::string part;  ///< Of the error's text.
};

class ManifestErrorTest : public ::testing::TestWithParam<BadManifest> {};

TEST_P(ManifestErrorTest, NamesPlaceAndKey) {
  const BadManifest& bad = GetParam();
  const auto manifest = parse_manifest(bad.text, "dir/m.json");
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(manifest.error().message(), ::testing::StartsWith("dir/m.json:" + bad.place + ": "));
  EXPECT_EQ(manifest.error().site().file, "dir/m.json");
  EXPECT_EQ(manifest.error().site().field, bad.key);
  EXPECT_TRUE(manifest.error().site().offset.has_value());
  EXPECT_THAT(manifest.error().to_string(), HasSubstr(bad.part));
}

/// `text`, a member of the method, in line 3 from column 1.
std::string lined(const std::string& text, const std::string& more = "") {
  return "{\"tandem_pack\": 1,\n\"methods\": [{\"name\": \"f\",\n" + text + more + "}]}";
}
std::string value(const std::string& json) { return lined("\"values\": {\"v\": " + json + "}"); }  // column 17
std::string tensor(const std::string& more) {
  return value("{\"dtype\": \"float32\", \"sizes\": [2], " + more + "}");  // `more` in column 52
}
std::string step(const std::string& json) {
  return lined("\"steps\": [" + json + "],",  // column 11
               "\n\"values\": {\"x\": {\"dtype\": \"float32\", \"sizes\": [1]}, \"n\": 3}, \"delegates\": {\"d\": "
               "{\"backend\": \"M\"}}");
}
std::string delegate(const std::string& json) { return lined("\"delegates\": {\"d\": " + json + "}"); }  // column 20
std::string data(const std::string& json) {
  return "{\"tandem_pack\": 1,\n\"data\": {\"k\": " + json + "}, \"methods\": [{\"name\": \"f\"}]}";  // column 16
}

std::vector<BadManifest> bad_manifests() {
  const std::string v = "methods[0].values.v";
  const std::string s = "methods[0].steps[0]";
  const std::string d = "methods[0].delegates.d";
  return {
      {"NoObject", "[]", "1:1", "", "expected an object; found a list of 0"},
      {"NoVersion", "{}", "1:1", "", "the key 'tandem_pack' is missing"},
      {"OtherVersion", R"({"tandem_pack": 2})", "1:17", "tandem_pack", "a whole number 1..1; found 2"},
      {"NoMethods", R"({"tandem_pack": 1})", "1:1", "", "the key 'methods' is missing"},
      {"EmptyMethods", R"({"tandem_pack": 1, "methods": []})", "1:31", "methods", "no methods"},
      {"UnknownKey", R"({"tandem_pack": 1, "method": []})", "1:20", "method",
       "did you mean 'methods'?; expected one of tandem_pack, data, methods"},
      {"UnknownKeyLikeNone", R"({"tandem_pack": 1, "zebra": []})", "1:20", "zebra", "unknown key 'zebra'; expected"},
      {"TwoMethodsOfOneName", "{\"tandem_pack\": 1, \"methods\": [{\"name\": \"f\"},\n {\"name\": \"f\"}]}", "2:2",
       "methods[1]", "the method 'f' is here twice"},
      {"EmptyMethodName", R"({"tandem_pack": 1, "methods": [{"name": ""}]})", "1:41", "methods[0].name", "not empty"},
      {"NulInAName", R"({"tandem_pack": 1, "methods": [{"name": "a\u0000b"}]})", "1:41", "methods[0].name",
       "without NUL"},
      {"EmptyValueName", lined("\"values\": {\"\": 1}"), "3:12", "methods[0].values", "a name that is empty"},
      {"SameNameTwice", lined("\"values\": {\"v\": 1, \"v\": 2}"), "3:20", "", "the key 'v' is here twice"},

      {"TextAsValue", value("\"x\""), "3:17", v, "{\"string\": ...}"},
      {"NothingInAValue", value("{}"), "3:17", v, "neither a tensor nor one value"},
      {"TwoKindsInAValue", value("{\"int\": 1, \"bool\": true}"), "3:17", v, "neither a tensor nor one value"},
      {"TensorWithoutDtype", value("{\"sizes\": [1]}"), "3:17", v, "neither a tensor nor one value"},
      {"UnknownKindOfValue", value("{\"itn\": 1}"), "3:18", v + ".itn", "did you mean 'int'?"},
      {"IntIsDouble", value("{\"int\": 1.5}"), "3:25", v + ".int", "a whole number; found 1.5"},
      {"DoubleIsText", value("{\"double\": \"big\"}"), "3:28", v + ".double", "found \"big\""},
      {"BoolIsInt", value("{\"bool\": 1}"), "3:26", v + ".bool", "true or false; found 1"},
      {"StringIsInt", value("{\"string\": 1}"), "3:28", v + ".string", "a text; found 1"},
      {"ListOfUnknown", value("[\"w\"]"), "3:18", v + "[0]", "no value 'w', did you mean 'v'?"},
      {"ListOfItself", value("[\"v\"]"), "3:18", v + "[0]", "whole numbers"},
      {"MixedList", value("[1, true]"), "3:18", v + "[0]", "true or false; found 1"},
      {"TensorListOfNumbers", value("{\"tensor_list\": [1]}"), "3:34", v + ".tensor_list[0]", "a text; found 1"},
      {"NoneInATensorList", value("{\"tensor_list\": [null]}"), "3:34", v + ".tensor_list[0]", "found null"},

      {"NoSizes", value("{\"dtype\": \"float32\"}"), "3:17", v, "the key 'sizes' is missing"},
      {"UnknownDtype", value("{\"dtype\": \"float\", \"sizes\": []}"), "3:27", v + ".dtype", "found \"float\""},
      {"NegativeSize", value("{\"dtype\": \"bool\", \"sizes\": [-1]}"), "3:45", v + ".sizes[0]",
       "0..2147483647; found -1"},
      {"SizeTooLarge", value("{\"dtype\": \"bool\", \"sizes\": [2147483648]}"), "3:45", v + ".sizes[0]",
       "found 2147483648"},
      {"SizesOverflow", value("{\"dtype\": \"int64\", \"sizes\": [2147483647, 2147483647, 2]}"), "3:45", v + ".sizes",
       "the sizes overflow"},
      {"TooManySizes", value("{\"dtype\": \"bool\", \"sizes\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"), "3:44",
       v + ".sizes", "at most 16 sizes"},
      {"NoPermutation", tensor("\"dim_order\": [1]"), "3:65", v + ".dim_order", "each of 0..0 once; found 1"},
      {"UnknownTensorKey", tensor("\"mutabel\": true"), "3:52", v + ".mutabel", "did you mean 'mutable'?"},
      {"BadDevice", tensor("\"device\": \"gpu\""), "3:62", v + ".device", "\"cuda:N\"; found \"gpu\""},
      {"HipDevice", tensor("\"device\": \"hip\""), "3:62", v + ".device", "found \"hip\""},
      {"ConstantAndMutable", tensor("\"mutable\": true, \"constant\": [1, 2]"), "3:81", v + ".constant", "no constant"},
      {"InitialOfAPlainOne", tensor("\"initial\": [1, 2]"), "3:63", v + ".initial", "'initial' is for mutable tensors"},
      {"NameOfAPlainOne", tensor("\"name\": \"n\""), "3:60", v + ".name", "'name' is for mutable tensors"},
      {"SharedPlainOne", tensor("\"shared\": true"), "3:62", v + ".shared", "'shared' is for mutable tensors"},
      {"SharedOnAGpu", tensor("\"mutable\": true, \"device\": \"cuda\", \"shared\": true"), "3:97", v + ".shared",
       "lives on the host"},
      {"TooFewNumbers", tensor("\"constant\": [1]"), "3:64", v + ".constant",
       "a list of 2 (sizes 2); found a list of 1"},
      {"NoListOfNumbers", tensor("\"constant\": 1"), "3:64", v + ".constant", "a list of 2; found 1"},
      {"NumberIsText", tensor("\"constant\": [1, \"one\"]"), "3:68", v + ".constant[1]", "found \"one\""},
      {"NumberOutOfRange", tensor("\"constant\": [1, 1e39]"), "3:68", v + ".constant[1]",
       "within the element type's range"},
      {"UnknownSource", tensor("\"constant\": {\"fiel\": \"x\"}"), "3:65", v + ".constant.fiel",
       "did you mean 'file'?"},
      {"EmptyFileName", tensor("\"constant\": {\"file\": \"\"}"), "3:73", v + ".constant.file", "not empty"},
      {"UnknownData", tensor("\"constant\": {\"data\": \"k\"}"), "3:73", v + ".constant.data", "no data 'k'"},
      {"ByteOutOfRange", value("{\"dtype\": \"uint8\", \"sizes\": [1], \"constant\": [256]}"), "3:63",
       v + ".constant[0]", "0..255; found 256"},
      {"FractionForAnInt", value("{\"dtype\": \"int32\", \"sizes\": [1], \"constant\": [0.5]}"), "3:63",
       v + ".constant[0]", "found 0.5"},
      {"IntForABool", value("{\"dtype\": \"bool\", \"sizes\": [1], \"constant\": [1]}"), "3:62", v + ".constant[0]",
       "true or false"},
      {"NumbersForAHalf", value("{\"dtype\": \"float16\", \"sizes\": [1], \"constant\": [1]}"), "3:64", v + ".constant",
       "name a file"},

      {"NoStep", step("{}"), "3:11", s, "expected op, delegate, move, jump_if_false, free or label"},
      {"UnknownStep", step("{\"opp\": 1}"), "3:12", s + ".opp", "did you mean 'op'?"},
      {"TwoSteps", step("{\"op\": \"aten::add.out\", \"move\": \"x\"}"), "3:35", s + ".move", "unknown key 'move'"},
      {"LabelWithMore", step("{\"label\": \"l\", \"to\": \"m\"}"), "3:26", s + ".to", "unknown key 'to'"},
      {"UnknownOperator", step("{\"op\": \"aten::ad.out\", \"args\": []}"), "3:18", s + ".op",
       "no operator 'aten::ad.out', did you mean 'aten::add.out'?"},
      {"OperatorWithoutItsOverload", step("{\"op\": \"aten::add\", \"args\": []}"), "3:18", s + ".op",
       "no operator 'aten::add', did you mean 'aten::add.out'?"},
      {"NoArgs", step("{\"op\": \"aten::add.out\"}"), "3:11", s, "the key 'args' is missing"},
      {"WrongArgCount", step("{\"op\": \"aten::add.out\", \"args\": [\"x\"]}"), "3:43", s + ".args",
       "expected 4 (or 5, with the result) for aten::add.out; found 1"},
      {"UnknownArg", step("{\"delegate\": \"d\", \"args\": [\"x\", \"hidden\"]}"), "3:43", s + ".args[1]",
       "no value 'hidden'"},
      {"TensorAsArg", step("{\"delegate\": \"d\", \"args\": [{\"dtype\": \"bool\", \"sizes\": []}]}"), "3:38",
       s + ".args[0]", "needs a name"},
      {"UnknownDelegate", step("{\"delegate\": \"e\", \"args\": []}"), "3:24", s + ".delegate",
       "no delegate 'e', did you mean 'd'?"},
      {"MoveToNowhere", step("{\"move\": \"x\"}"), "3:11", s, "the key 'to' is missing"},
      {"ConditionIsANumber", step("{\"jump_if_false\": \"n\", \"to\": \"l\"}"), "3:29", s + ".jump_if_false",
       "no truth value"},
      {"ConditionIsATensorOfFloats", step("{\"jump_if_false\": \"x\", \"to\": \"l\"}"), "3:29", s + ".jump_if_false",
       "no truth value"},
      {"JumpToNowhere", step("{\"jump_if_false\": true, \"to\": \"l\"}"), "3:41", s + ".to", "no label 'l'"},
      {"FreeOfANumber", step("{\"free\": \"n\"}"), "3:20", s + ".free", "only a tensor"},
      {"LabelTwice", step("{\"label\": \"l\"}, {\"label\": \"l\"}"), "3:37", "methods[0].steps[1].label",
       "the label 'l' is here twice"},
      {"StepsAreNoList", lined("\"steps\": 1"), "3:10", "methods[0].steps", "a list of steps"},
      {"InputIsUnknown", lined("\"inputs\": [\"x\"]"), "3:12", "methods[0].inputs[0]", "no value 'x'"},
      {"OutputIsAList", lined("\"outputs\": [\"l\"], \"values\": {\"l\": [1]}"), "3:13", "methods[0].outputs[0]",
       "a list is neither"},

      {"DelegateWithoutBackend", delegate("{}"), "3:20", d, "the key 'backend' is missing"},
      {"UnknownKind", delegate("{\"backend\": \"M\", \"kind\": \"onnx\"}"), "3:45", d + ".kind",
       "one of aoti, custom, tensorrt, payload; found \"onnx\""},
      {"KeyOfAnotherKind", delegate("{\"backend\": \"M\", \"library\": \"l\"}"), "3:37", d + ".library",
       "unknown key 'library'"},
      {"KeysOfABackendThatIsMisspelt", delegate("{\"backend\": \"CudaBackent\", \"library\": \"l\"}"), "3:32",
       d + ".backend", "no keys are known of the backend 'CudaBackent', did you mean 'CudaBackend'?"},
      {"AotiWithoutLibrary", delegate("{\"backend\": \"CudaBackend\"}"), "3:20", d, "the key 'library' is missing"},
      {"WeightsAreAList", delegate("{\"backend\": \"CudaBackend\", \"library\": \"l\", \"weights\": []}"), "3:74",
       d + ".weights", "found a list"},
      {"WeightWithoutContents",
       delegate("{\"backend\": \"CudaBackend\", \"library\": \"l\", \"weights\": {\"w\": {\"dtype\": \"bool\", "
                "\"sizes\": []}}}"),
       "3:80", d + ".weights.w", "the key 'constant' is missing"},
      {"WeightsOnAToaster",
       delegate("{\"backend\": \"CudaBackend\", \"library\": \"l\", \"weights_device\": \"toaster\"}"), "3:81",
       d + ".weights_device", "\"cpu\" or \"cuda\""},
      {"EngineIsMissing", delegate("{\"backend\": \"TensorRTBackend\"}"), "3:20", d, "the key 'engine' is missing"},
      {"AliasOfNothing",
       delegate("{\"backend\": \"TensorRTBackend\", \"engine\": \"e\", \"inputs\": [\"x\"], \"outputs\": [\"y\"], "
                "\"aliased_io\": [{\"output\": \"y\", \"input\": \"z\"}]}"),
       "3:20", d, "no input 'z' (aliased_io[0].input)"},
      {"AliasWithoutInput",
       delegate("{\"backend\": \"TensorRTBackend\", \"engine\": \"e\", \"aliased_io\": [{\"output\": \"y\"}]}"), "3:81",
       d + ".aliased_io[0]", "the key 'input' is missing"},
      {"AliasOfAnUnknownKind",
       delegate("{\"backend\": \"TensorRTBackend\", \"engine\": \"e\", \"aliased_io\": [{\"output\": \"y\", \"input\": "
                "\"x\", \"kind\": \"z\"}]}"),
       "3:119", d + ".aliased_io[0].kind", "\"kv_cache_update\" or \"user\"; found \"z\""},
      {"NegativeDevice", delegate("{\"backend\": \"TensorRTBackend\", \"engine\": \"e\", \"device_id\": -1}"), "3:79",
       d + ".device_id", "found -1"},
      {"CustomWithoutLibrary", delegate("{\"backend\": \"CustomBackend\"}"), "3:20", d,
       "the key 'library' or 'library_path' is missing"},
      {"CustomWithTwoLibraries",
       delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"library_path\": \"p\"}"), "3:81",
       d + ".library_path", "a delegate has one library"},
      {"CustomPathIsEmpty", delegate("{\"backend\": \"CustomBackend\", \"library_path\": \"\"}"), "3:65",
       d + ".library_path", "not empty"},
      {"BlobIsANumber", delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": 3}"), "3:78",
       d + ".user_blob", "a text, {\"file\": ...}, or an array (dtype, sizes, constant); found 3"},
      {"BlobIsEmpty", delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": \"\"}"), "3:78",
       d + ".user_blob", "not empty"},
      {"BlobOfAnUnknownKey",
       delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": {\"fiel\": \"b\"}}"), "3:79",
       d + ".user_blob.fiel", "did you mean 'file'?"},
      {"BlobOfAFileWithADtype",
       delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": {\"file\": \"b\", \"dtype\": "
                "\"bool\"}}"),
       "3:92", d + ".user_blob.dtype", "unknown key 'dtype'"},
      {"BlobWithoutNumbers",
       delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": {\"dtype\": \"bool\", \"sizes\": "
                "[1]}}"),
       "3:78", d + ".user_blob", "the key 'constant' is missing"},
      {"BlobOfAnotherCount",
       delegate("{\"backend\": \"CustomBackend\", \"library\": \"l\", \"user_blob\": {\"dtype\": \"int32\", \"sizes\": "
                "[2], \"constant\": [1]}}"),
       "3:123", d + ".user_blob.constant", "found a list of 1"},
      {"CompileSpecIsANumber", delegate("{\"backend\": \"M\", \"compile_specs\": {\"k\": 1}}"), "3:60",
       d + ".compile_specs.k", "a text; found 1"},

      {"DataWithoutFile", data("{}"), "2:15", "data.k", "the key 'file' is missing"},
      {"OddAlignment", data("{\"file\": \"f\", \"alignment\": 3}"), "2:42", "data.k.alignment",
       "a power of two; found 3"},
      {"HugeAlignment", data("{\"file\": \"f\", \"alignment\": 2147483648}"), "2:42", "data.k.alignment",
       "1..1073741824"},
      {"ConstantFromInnerData",
       R"({"tandem_pack": 1, "data": {"k": {"file": "f"}}, "methods": [{"name": "f", "values": {"v": {"dtype": "bool", "sizes": [], "constant": {"data": "k"}}}}]})",
       "1:144", v + ".constant.data", "only external data"},
      {"TwoStatesOfOneName",
       lined(
           R"("values": {"a": {"dtype": "bool", "sizes": [], "mutable": true, "name": "b"}, "b": {"dtype": "bool", "sizes": [], "mutable": true}})"),
       "3:84", "methods[0].values.b", "two mutable tensors of the name 'b'"},
      {"SharedOnesDiffer",
       "{\"tandem_pack\": 1, \"methods\": [{\"name\": \"f\", \"values\": {\"a\": {\"dtype\": \"bool\", \"sizes\": [2], "
       "\"mutable\": true, \"shared\": true}}},\n{\"name\": \"g\", \"values\": {\"a\": {\"dtype\": \"bool\", "
       "\"sizes\": [3], \"mutable\": true, \"shared\": true}}}]}",
       "2:31", "methods[1].values.a", "differs from methods[0].values.a; expected bool 2; found bool 3"},
      {"SharedOnesStartDifferently",
       "{\"tandem_pack\": 1, \"methods\": [{\"name\": \"f\", \"values\": {\"a\": {\"dtype\": \"bool\", \"sizes\": [], "
       "\"mutable\": true, \"shared\": true}}},\n{\"name\": \"g\", \"values\": {\"a\": {\"dtype\": \"bool\", "
       "\"sizes\": [], \"mutable\": true, \"shared\": true, \"initial\": true}}}]}",
       "2:31", "methods[1].values.a", "other initial contents than methods[0].values.a"},
      {"InputTwice", lined("\"inputs\": [\"n\", \"n\"], \"values\": {\"n\": 1}"), "3:17", "methods[0].inputs[1]",
       "two inputs"},
      {"InputIsAConstant",
       lined("\"inputs\": [\"c\"], \"values\": {\"c\": {\"dtype\": \"bool\", \"sizes\": [], \"constant\": true}}"),
       "3:12", "methods[0].inputs[0]", "an input is a constant"},
      {"OutputIsAConstantThatIsWritten",
       lined("\"steps\": [{\"op\": \"aten::clone.out\", \"args\": [\"c\", null, \"c\"]}], \"values\": {\"c\": "
             "{\"dtype\": \"bool\", \"sizes\": [], \"constant\": true}}"),
       "3:57", "methods[0].steps[0].args[2]", "writes to a constant"},
      {"StateNotNamedAsItsData",
       "{\"tandem_pack\": 1, \"data\": {\"k\": {\"file\": \"f\", \"external\": true}}, \"methods\": [{\"name\": "
       "\"f\",\n\"values\": {\"v\": {\"dtype\": \"bool\", \"sizes\": [], \"mutable\": true, \"name\": \"n\", "
       "\"initial\": {\"data\": \"k\"}}}}]}",
       "2:89", v + ".initial", "expected k; found n"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, ManifestErrorTest, ::testing::ValuesIn(bad_manifests()),
                         [](const auto& parameter) { return std::string{parameter.param.name}; });

TEST(ManifestErrors, KeysAreShownWithoutControlCharacters) {
  const auto manifest = parse_manifest("{\"\\u001b[31m\": 1}", "m.json");
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().to_string().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tandem::cli
