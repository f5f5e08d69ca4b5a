#include "cli/pack/pack.h"

#include "backends/aoti/payload.h"
#include "base/sha256.h"
#include "cli/npy.h"
#include "cli/pack/manifest_files.h"
#include "format/data_map.h"
#include "format/pte/pte.h"
#include "support/temporary_folder.h"

#include <tandem/custom_payload.h>
#include <tandem/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The files of a manifest, in memory.
class FakeFiles {
 public:
  void add(const std::string& name, std::string_view bytes) { files_[name] = bytes; }
  void add(const std::string& name, const std::vector<float>& elements) {
    add(name, {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)});
  }
  [[nodiscard]] ReadFile reader() const {
    return [this](const std::string& name) -> Result<std::span<const std::byte>> {
      const auto file = files_.find(name);
      if (file == files_.end()) return Error{ErrorCode::NotFound, "no such file"}.with_file(name);
      return std::as_bytes(std::span{file->second});
    };
  }

 private:
  std::map<std::string, std::string> files_;
};

class PackTest : public ::testing::Test {
 protected:
  Result<PackedProgram> try_pack(const std::string& text) const {
    TANDEM_TRY(const Manifest manifest, parse_manifest(text, "m.json"));
    return pack(manifest, files_.reader());
  }
  /// Packs and loads.
  void make(const std::string& text) {
    auto packed = try_pack(text);
    ASSERT_TRUE(packed.ok()) << packed.error().to_string();
    packed_ = *std::move(packed);
    std::vector<std::span<const std::byte>> data;
    if (!packed_.files.ptd.empty()) data.emplace_back(packed_.files.ptd);
    auto program = Program::from_bytes(packed_.files.pte, data);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    program_ = *program;
    module_ = std::make_unique<Module>(program_);
  }
  [[nodiscard]] std::vector<float> run(const std::string& method, const std::vector<float>& x,
                                       std::vector<std::int64_t> sizes) const {
    if (module_ == nullptr) return {};
    std::vector<float> input = x;
    const auto tensor = Tensor::from_blob(input.data(), ScalarType::Float, sizes);
    const auto output = module_->get(method, {*tensor});
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    if (!output.ok()) return {};
    const auto* data = output->tensor().data_as<float>();
    return {data, data + output->tensor().numel()};
  }
  [[nodiscard]] Error refusal(const std::string& text) const {
    const auto packed = try_pack(text);
    EXPECT_FALSE(packed.ok());
    return packed.ok() ? Error{ErrorCode::Internal, "accepted"} : packed.error();
  }
  [[nodiscard]] const format::Method& method(std::size_t index = 0) const { return program_->file().methods.at(index); }

  FakeFiles files_{};
  PackedProgram packed_{};
  std::shared_ptr<const Program> program_{};
  std::unique_ptr<Module> module_{};
};

std::string one_method(const std::string& members, const std::string& data = "{}") {
  return R"({"tandem_pack": 1, "data": )" + data + R"(, "methods": [{"name": "forward", )" + members + "}]}";
}

TEST_F(PackTest, OperatorsComputeWhatTheStepsSay) {
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [2, 2]}, "w": {"dtype": "float32", "sizes": [2, 2], "constant": [[1, 2], [3, 4]]},
                 "h": {"dtype": "float32", "sizes": [2, 2]}, "y": {"dtype": "float32", "sizes": [2, 2]}},
      "inputs": ["x"], "outputs": ["y"],
      "steps": [{"op": "aten::mm.out", "args": ["x", "w", "h"]}, {"op": "aten::add.out", "args": ["h", "x", 2, "y"]}])"));
  EXPECT_THAT(run("forward", {1, 0, 0, 1}, {2, 2}), ElementsAre(3, 2, 3, 6));
  EXPECT_THAT(run("forward", {1, 1, -1, 2}, {2, 2}), ElementsAre(6, 8, 3, 10));
  ASSERT_EQ(packed_.methods.size(), 1U);
  EXPECT_EQ(packed_.methods[0].instructions, 2U);
}

TEST_F(PackTest, DynamicSizesAreBounds) {
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [4, 2], "dynamic": true}, "y": {"dtype": "float32", "sizes": [4, 2], "dynamic": true}},
      "inputs": ["x"], "outputs": ["y"], "steps": [{"op": "aten::mul.out", "args": ["x", "x", "y"]}])"));
  EXPECT_THAT(run("forward", {1, -2}, {1, 2}), ElementsAre(1, 4));
  EXPECT_THAT(run("forward", {1, 2, 3, 4, 5, 6}, {3, 2}), ElementsAre(1, 4, 9, 16, 25, 36));
}

constexpr const char* kAccumulate = R"(
    "values": {"x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "float32", "sizes": [1]},
               "total": {"dtype": "float32", "sizes": [1], "mutable": true%s}},
    "inputs": ["x"], "outputs": ["y"],
    "steps": [{"op": "aten::add.out", "args": ["total", "x", 1, "y"]},
              {"op": "aten::copy_", "args": ["total", "y", false]}])";

std::string accumulate(const std::string& more) {
  std::string text = kAccumulate;
  return text.replace(text.find("%s"), 2, more);
}

TEST_F(PackTest, MutableTensorsKeepTheirContents) {
  make(one_method(accumulate(R"(, "initial": [100])")));
  EXPECT_THAT(run("forward", {1}, {1}), ElementsAre(101));
  EXPECT_THAT(run("forward", {2}, {1}), ElementsAre(103));
}

TEST_F(PackTest, MutableTensorsStartWithZeros) {
  make(one_method(accumulate("")));
  EXPECT_THAT(run("forward", {1}, {1}), ElementsAre(1));
  EXPECT_THAT(run("forward", {2}, {1}), ElementsAre(3));
}

TEST_F(PackTest, MutableTensorsStartFromTheDataFile) {
  files_.add("start.bin", std::vector<float>{50});
  make(one_method(accumulate(R"(, "initial": {"data": "t"})"), R"({"t": {"file": "start.bin", "external": true}})"));
  EXPECT_FALSE(packed_.files.ptd.empty());
  EXPECT_THAT(run("forward", {1}, {1}), ElementsAre(51));
  EXPECT_THAT(run("forward", {1}, {1}), ElementsAre(52));
}

TEST_F(PackTest, MutableTensorsDoNotMeet) {
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "float32", "sizes": [1]},
                 "a": {"dtype": "float32", "sizes": [1], "mutable": true, "initial": [1]},
                 "b": {"dtype": "float32", "sizes": [1], "mutable": true, "initial": [10]}},
      "inputs": ["x"], "outputs": ["y"],
      "steps": [{"op": "aten::add.out", "args": ["a", "b", 1, "y"]},
                {"op": "aten::copy_", "args": ["a", "x", false]},
                {"op": "aten::copy_", "args": ["b", "y", false]}])"));
  EXPECT_THAT(run("forward", {5}, {1}), ElementsAre(11));
  EXPECT_THAT(run("forward", {7}, {1}), ElementsAre(16));
  EXPECT_THAT(run("forward", {0}, {1}), ElementsAre(23));
}

TEST_F(PackTest, MethodsShareMutableTensors) {
  const std::string add = accumulate(R"(, "shared": true, "name": "sum")");
  // The other method has another shared tensor before it, and gives this one another name.
  make(R"({"tandem_pack": 1, "methods": [{"name": "add", )" + add + R"(}, {"name": "set",
      "values": {"other": {"dtype": "float32", "sizes": [3], "mutable": true, "shared": true},
                 "x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "float32", "sizes": [1]},
                 "s": {"dtype": "float32", "sizes": [1], "mutable": true, "shared": true, "name": "sum"}},
      "inputs": ["x"], "outputs": ["y"],
      "steps": [{"op": "aten::copy_", "args": ["s", "x", false]}, {"op": "aten::clone.out", "args": ["x", null, "y"]}]}]})");
  EXPECT_THAT(run("add", {1}, {1}), ElementsAre(1));
  EXPECT_THAT(run("set", {10}, {1}), ElementsAre(10));
  EXPECT_THAT(run("add", {2}, {1}), ElementsAre(12));
}

TEST_F(PackTest, MutableTensorsOnAGpuAreInAnArenaThere) {
  make(one_method(R"("values": {"a": {"dtype": "float32", "sizes": [4], "mutable": true, "device": "cuda:1"},
                                "b": {"dtype": "float32", "sizes": [4], "mutable": true, "device": "cuda:1"},
                                "c": {"dtype": "float32", "sizes": [4], "mutable": true}})"));
  const auto place = [this](std::size_t value) {
    return *std::get<format::Tensor>(method().values.at(value)).allocation;
  };
  EXPECT_EQ(method().arenas.at(place(0).memory_id).device, (DeviceId{DeviceType::Cuda, 1}));
  EXPECT_EQ(place(1).memory_id, place(0).memory_id);
  EXPECT_GE(place(1).offset, place(0).offset + 16);
  EXPECT_EQ(method().arenas.at(place(2).memory_id).device, DeviceId{});
}

TEST_F(PackTest, LoopsAndBranches) {
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "float32", "sizes": [1]},
                 "n": 0, "more": true, "a": {"dtype": "float32", "sizes": [1]}},
      "inputs": ["x"], "outputs": ["y"],
      "steps": [{"op": "aten::clone.out", "args": ["x", null, "a"]},
                {"label": "again"},
                {"op": "aten::add.out", "args": ["a", "x", 1, "y"]},
                {"op": "aten::clone.out", "args": ["y", null, "a"]},
                {"op": "executorch_prim::add.Scalar", "args": ["n", 1, "n"]},
                {"op": "executorch_prim::ge.Scalar", "args": ["n", 4, "more"]},
                {"jump_if_false": "more", "to": "again"}])"));
  EXPECT_THAT(run("forward", {3}, {1}), ElementsAre(15));
  EXPECT_THAT(run("forward", {-1}, {1}), ElementsAre(-5));
}

TEST_F(PackTest, ListsAreArguments) {
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [2, 2]}, "y": {"dtype": "float32", "sizes": [2, 4]}, "z": {"dtype": "float32", "sizes": [4, 2]},
                 "rows": 4},
      "inputs": ["x"], "outputs": ["z"],
      "steps": [{"op": "aten::cat.out", "args": [["x", "x"], 1, "y"]},
                {"op": "aten::view_copy.out", "args": ["y", ["rows", 2], "z"]}])"));
  EXPECT_THAT(run("forward", {1, 2, 3, 4}, {2, 2}), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST_F(PackTest, ConstantsComeFromFiles) {
  files_.add("raw.bin", std::vector<float>{1, 2});
  files_.add("ext.bin", std::vector<float>{100, 200});
  const testing::TemporaryFolder folder;
  std::array<float, 2> elements{10, 20};
  const auto tensor = Tensor::from_blob(elements.data(), ScalarType::Float, std::array<std::int64_t, 1>{2});
  ASSERT_TRUE(write_npy(folder.path() / "a.npy", *tensor).ok());
  std::ifstream npy{folder.path() / "a.npy", std::ios::binary};
  files_.add("a.npy", std::string{std::istreambuf_iterator<char>{npy}, {}});
  make(one_method(R"(
      "values": {"x": {"dtype": "float32", "sizes": [2]}, "a": {"dtype": "float32", "sizes": [2]},
                 "b": {"dtype": "float32", "sizes": [2]}, "y": {"dtype": "float32", "sizes": [2]},
                 "raw": {"dtype": "float32", "sizes": [2], "constant": {"file": "raw.bin"}},
                 "npy": {"dtype": "float32", "sizes": [2], "constant": {"file": "a.npy"}},
                 "ext": {"dtype": "float32", "sizes": [2], "constant": {"data": "e"}}},
      "inputs": ["x"], "outputs": ["y"],
      "steps": [{"op": "aten::add.out", "args": ["x", "raw", 1, "a"]}, {"op": "aten::add.out", "args": ["a", "npy", 1, "b"]},
                {"op": "aten::add.out", "args": ["b", "ext", 1, "y"]}])",
                  R"({"e": {"file": "ext.bin", "external": true}})"));
  EXPECT_THAT(run("forward", {0.5, 0.25}, {2}), ElementsAre(111.5, 222.25));
}

TEST_F(PackTest, DataGoesWhereTheManifestSays) {
  files_.add("a", "inside");
  files_.add("b", "outside");
  make(one_method(R"("values": {})",
                  R"({"k.in": {"file": "a", "alignment": 4096}, "k.out": {"file": "b", "external": true}})"));
  const auto text = [this](std::string_view key) {
    const auto found = program_->named_data().find(key);
    EXPECT_TRUE(found.ok()) << key;
    return found.ok() ? std::string{reinterpret_cast<const char*>(found->data()), found->size()} : std::string{};
  };
  EXPECT_EQ(text("k.in"), "inside");
  EXPECT_EQ(text("k.out"), "outside");
  ASSERT_EQ(program_->file().named_data.size(), 1U);
  EXPECT_EQ(program_->file().named_data[0].key, "k.in");
  EXPECT_EQ((program_->file().named_data[0].data.data() - packed_.files.pte.data()) % 4096, 0);
}

TEST_F(PackTest, AotiDelegatesHaveTheExportersPayload) {
  files_.add("l.so", "the library");
  make(one_method(
      R"("delegates": {"d": {"backend": "AotiHostBackend", "library": "l.so", "compile_specs": {"method_name": "forward"},
      "weights": {"w": {"dtype": "float32", "sizes": [2, 3], "dim_order": [1, 0], "constant": [[1, 2, 3], [4, 5, 6]]}}}})"));
  const format::Delegate& delegate = method().delegates.at(0);
  EXPECT_EQ(delegate.id, "AotiHostBackend");
  EXPECT_FALSE(delegate.inline_payload);
  ASSERT_EQ(delegate.compile_specs.size(), 1U);
  EXPECT_EQ(delegate.compile_specs[0].key, "method_name");
  const auto payload = aoti::parse_payload(delegate.payload, "");
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  const std::string library = "the library";
  EXPECT_THAT(payload->library_keys, ElementsAre(*base::sha256_hex(std::as_bytes(std::span{library})) + "_so_blob"));
  EXPECT_TRUE(program_->named_data().find(payload->library_keys[0]).ok());
  const auto& entries = std::get<std::vector<aoti::ConstantEntry>>(payload->weights);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].fqn, "w");
  EXPECT_EQ(entries[0].device_type, 0);
  EXPECT_EQ(entries[0].storage_bytes, 24U);
  EXPECT_THAT(entries[0].sizes, ElementsAre(2, 3));
  EXPECT_THAT(entries[0].strides, ElementsAre(1, 2));
  const auto weight = program_->named_data().find(entries[0].storage_key);
  ASSERT_TRUE(weight.ok());
  std::vector<float> elements(6);
  ASSERT_EQ(weight->size(), 24U);
  std::memcpy(elements.data(), weight->data(), 24);
  EXPECT_THAT(elements, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(PackTest, CudaDelegatesHaveTheirWeightsOnTheGpu) {
  files_.add("l.so", "the library");
  make(one_method(R"("delegates": {
      "d": {"backend": "CudaBackend", "library": "l.so", "weights": {"w": {"dtype": "float32", "sizes": [], "constant": 1}}},
      "e": {"backend": "CudaBackend", "library": "l.so", "weights_device": "cpu", "weights": {"w": {"dtype": "float32", "sizes": [], "constant": 2}}}})"));
  const auto entry = [this](std::size_t delegate) {
    const auto payload = aoti::parse_payload(method().delegates.at(delegate).payload, "");
    return std::get<std::vector<aoti::ConstantEntry>>(payload->weights).at(0);
  };
  EXPECT_EQ(entry(0).device_type, 1);
  EXPECT_EQ(entry(1).device_type, 0);
  EXPECT_NE(entry(0).storage_key, entry(1).storage_key) << "two weights of one name";
  EXPECT_EQ(packed_.data.size(), 3U) << "the library once";
}

TEST_F(PackTest, AotiWeightsMayBeABlobInTheDataFile) {
  files_.add("l.so", "the library");
  files_.add("w.bin", "the weights");
  make(one_method(
      R"("delegates": {"d": {"backend": "CudaBackend", "library": "l.so", "weights": "w.bin", "external": true}})"));
  const auto payload = aoti::parse_payload(method().delegates.at(0).payload, "");
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  const std::string key = std::get<aoti::Keys>(payload->weights).at(0);
  EXPECT_THAT(key, ::testing::EndsWith("_weights_blob"));
  EXPECT_TRUE(program_->named_data().find(key).ok());
  ASSERT_EQ(packed_.data.size(), 2U);
  EXPECT_FALSE(packed_.data[0].external);
  EXPECT_TRUE(packed_.data[1].external);
}

TEST_F(PackTest, TensorRtDelegatesHaveABlob) {
  files_.add("e", "the engine");
  make(one_method(
      R"("delegates": {"d": {"backend": "TensorRTBackend", "engine": "e", "inputs": ["x"], "outputs": ["y"]}})"));
  const format::Bytes payload = method().delegates.at(0).payload;
  const std::string text{reinterpret_cast<const char*>(payload.data()), payload.size()};
  EXPECT_THAT(text, StartsWith("TR01"));
  EXPECT_THAT(text, HasSubstr(R"("name":"x")"));
  EXPECT_THAT(text, ::testing::EndsWith("the engine"));
}

TEST_F(PackTest, CustomDelegatesHaveTheirLibraryInTheProgramOnce) {
  files_.add("k.so", "the kernel");
  files_.add("b.bin", "its numbers");
  make(one_method(R"("delegates": {
      "a": {"backend": "CustomBackend", "library": "k.so", "user_blob": "gain=3"},
      "b": {"backend": "CustomBackend", "library": "k.so", "user_blob": {"file": "b.bin"}},
      "c": {"backend": "CustomBackend", "library": "k.so"}})"));
  const std::string code = "the kernel";
  const auto digest = base::sha256_hex(std::as_bytes(std::span{code}));
  ASSERT_TRUE(digest.ok());
  ASSERT_EQ(packed_.data.size(), 1U);
  EXPECT_EQ(packed_.data[0].key, *digest + ".so");
  EXPECT_EQ(packed_.data[0].bytes, code.size());
  std::vector<std::string> blobs;
  for (const auto& delegate : method().delegates) {
    const auto payload = parse_custom_payload(delegate.payload);
    ASSERT_TRUE(payload.ok()) << payload.error().to_string();
    EXPECT_EQ(payload->key, *digest + ".so");
    blobs.emplace_back(reinterpret_cast<const char*>(payload->blob.data()), payload->blob.size());
  }
  EXPECT_THAT(blobs, ElementsAre("gain=3", "its numbers", ""));
}

TEST_F(PackTest, CustomLibrariesMayStayOutside) {
  make(one_method(R"("delegates": {"d": {"backend": "CustomBackend", "library_path": "../k.so"}})"));
  EXPECT_TRUE(packed_.data.empty());
  const auto payload = parse_custom_payload(method().delegates.at(0).payload);
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  EXPECT_EQ(payload->path, "../k.so");
}

TEST_F(PackTest, BlobsOfCustomDelegatesMayBeArrays) {
  files_.add("w.bin", std::vector<float>{3, 4});
  make(one_method(R"("delegates": {
      "a": {"backend": "CustomBackend", "library_path": "k.so",
            "user_blob": {"dtype": "float32", "sizes": [2], "constant": [1.5, -2]}},
      "b": {"backend": "CustomBackend", "library_path": "k.so",
            "user_blob": {"dtype": "float32", "sizes": [2], "constant": {"file": "w.bin"}}}})"));
  std::vector<std::array<float, 2>> blobs;
  for (const auto& delegate : method().delegates) {
    const auto payload = parse_custom_payload(delegate.payload);
    ASSERT_TRUE(payload.ok()) << payload.error().to_string();
    ASSERT_EQ(payload->blob.size(), 2 * sizeof(float));
    std::memcpy(blobs.emplace_back().data(), payload->blob.data(), payload->blob.size());
  }
  EXPECT_THAT(blobs, ElementsAre(ElementsAre(1.5F, -2.F), ElementsAre(3.F, 4.F)));
}

TEST_F(PackTest, OtherPayloadsAreVerbatim) {
  files_.add("p", "what Mine reads");
  make(one_method(
      R"("delegates": {"a": {"backend": "Mine", "payload": "p"}, "b": {"backend": "Mine", "payload": "p", "inline": true}, "c": {"backend": "Mine"}})"));
  const auto& delegates = method().delegates;
  EXPECT_EQ(delegates.at(0).payload.size(), 15U);
  EXPECT_FALSE(delegates.at(0).inline_payload);
  EXPECT_TRUE(delegates.at(1).inline_payload);
  EXPECT_TRUE(delegates.at(2).payload.empty());
}

// ---- errors -------------------------------------------------------------------------------------------------------

TEST_F(PackTest, MissingFilesAreNamed) {
  const Error error =
      refusal(one_method("\n"
                         R"("values": {"v": {"dtype": "float32", "sizes": [2], "constant": {"file": "no.bin"}}})"));
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.message(), "m.json:2:73: no such file (no.bin)");
  EXPECT_EQ(error.site().field, "methods[0].values.v.constant.file");
}

TEST_F(PackTest, MissingFilesOfCustomDelegatesAreNamed) {
  const std::string delegate = R"("delegates": {"d": {"backend": "CustomBackend", )";
  Error error = refusal(one_method("\n" + delegate + R"("library": "no.so"}})"));
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.message(), "m.json:2:60: no such file (no.so)");
  EXPECT_EQ(error.site().field, "methods[0].delegates.d.library");
  error = refusal(one_method("\n" + delegate + R"("library_path": "k.so", "user_blob": {"file": "no.bin"}}})"));
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.message(), "m.json:2:95: no such file (no.bin)");
  EXPECT_EQ(error.site().field, "methods[0].delegates.d.user_blob.file");
}

TEST_F(PackTest, FilesOfAnotherLengthAreNamed) {
  files_.add("w.bin", std::vector<float>{1});
  const Error error =
      refusal(one_method(R"("values": {"v": {"dtype": "float32", "sizes": [2], "constant": {"file": "w.bin"}}})"));
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.to_string(), HasSubstr("'w.bin' has another length; expected 8 bytes (float32 2); found 4 bytes"));
}

TEST_F(PackTest, DamagedArraysAreNamed) {
  files_.add("w.npy", "no array");
  const Error error =
      refusal(one_method(R"("values": {"v": {"dtype": "float32", "sizes": [2], "constant": {"file": "w.npy"}}})"));
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("(w.npy"));
  EXPECT_EQ(error.site().field, "methods[0].values.v.constant.file");
}

TEST_F(PackTest, WhatAnOperatorRefusesHasThePlaceOfTheArgument) {
  const Error error =
      refusal(one_method(R"("values": {"x": {"dtype": "float32", "sizes": [1]}, "y": {"dtype": "int64", "sizes": [1]}},
"steps": [{"label": "l"}, {"op": "aten::add.out", "args": ["x", "x", 1, "y"]}])"));
  EXPECT_EQ(error.site().field, "methods[0].steps[1].args[3]");
  EXPECT_THAT(error.message(), StartsWith("m.json:2:73: "));
}

TEST_F(PackTest, TwoDataOfOneKeyMustBeTheSame) {
  files_.add("l.so", "the library");
  files_.add("other", "something else");
  const std::string library = "the library";
  const std::string key = *base::sha256_hex(std::as_bytes(std::span{library})) + "_so_blob";
  const std::string delegate = R"("delegates": {"d": {"backend": "AotiHostBackend", "library": "l.so"}})";
  const Error error = refusal(one_method(delegate, "{\"" + key + R"(": {"file": "other"}})"));
  EXPECT_THAT(error.message(), HasSubstr("two different data of the key"));
  EXPECT_THAT(error.message(), HasSubstr("methods[0].delegates.d"));
  EXPECT_EQ(error.site().field, "data." + key);
  make(one_method(delegate, "{\"" + key + R"(": {"file": "l.so"}})"));
  EXPECT_EQ(packed_.data.size(), 1U);
}

TEST_F(PackTest, TensorsOfOneExternalDataMustBeAlike) {
  files_.add("e", std::vector<float>{1, 2, 3, 4});
  const Error error = refusal(one_method(R"("values": {
      "a": {"dtype": "float32", "sizes": [4], "constant": {"data": "k"}},
      "b": {"dtype": "float32", "sizes": [2, 2], "constant": {"data": "k"}}})",
                                         R"({"k": {"file": "e", "external": true}})"));
  EXPECT_THAT(error.message(), HasSubstr("different layouts"));
  EXPECT_EQ(error.site().field, "data.k");
}

TEST_F(PackTest, MutableTensorsThatOverflowTogetherAreRefused) {
  const std::string huge = R"({"dtype": "uint8", "sizes": [2147483647, 2147483647, 1], "mutable": true})";
  std::string values = "\"values\": {";
  for (int i = 0; i < 4; ++i) values += (i == 0 ? "\"v" : ", \"v") + std::to_string(i) + "\": " + huge;
  const Error error = refusal(one_method(values + "}"));
  EXPECT_THAT(error.message(), HasSubstr("overflow"));
  EXPECT_EQ(error.site().field, "methods[0].values.v2");
}

TEST_F(PackTest, FilesAreRelativeToTheManifest) {
  const testing::TemporaryFolder folder;
  folder.write("payload", "bytes");
  ManifestFiles files{folder.path()};
  const ReadFile read = files.reader();
  const auto bytes = read("payload");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), 5U);
  EXPECT_EQ(read("payload")->data(), bytes->data()) << "mapped once";
  EXPECT_EQ(read("nothing").error().site().file, (folder.path() / "nothing").string());
}

}  // namespace
}  // namespace tandem::cli
