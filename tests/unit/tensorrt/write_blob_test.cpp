#include "backends/tensorrt/write_blob.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace tandem::tensorrt {
namespace {

constexpr std::string_view kEngine = "engine bytes";

Blob contents() {
  return {.inputs = {"x", "cache_in"},
          .outputs = {"y", "cache_out"},
          .device_id = 1,
          .engine = std::as_bytes(std::span{kEngine})};
}

template <class T>
T number_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
std::string text_at(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()) + offset, size};
}

TEST(TensorRtBlob, HasHeaderMetadataAndEngine) {
  const auto blob = write_blob(contents());
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  EXPECT_EQ(text_at(*blob, 0, 4), "TR01");
  EXPECT_EQ(number_at<std::uint32_t>(*blob, 4), 32U);
  const auto metadata_size = number_at<std::uint32_t>(*blob, 8);
  EXPECT_EQ(text_at(*blob, 32, metadata_size),
            R"({"io_bindings":[{"name":"x","dtype":"","shape":[],"is_input":true},)"
            R"({"name":"cache_in","dtype":"","shape":[],"is_input":true},)"
            R"({"name":"y","dtype":"","shape":[],"is_input":false},)"
            R"({"name":"cache_out","dtype":"","shape":[],"is_input":false}],"aliased_io":[],)"
            R"("hardware_compatible":false,"device_id":1,"serialized_metadata":"","target_platform":""})");
  const auto engine_offset = number_at<std::uint32_t>(*blob, 12);
  EXPECT_EQ(engine_offset % 16, 0U);
  EXPECT_GE(engine_offset, 32 + metadata_size);
  EXPECT_LT(engine_offset, 32 + metadata_size + 16);
  EXPECT_EQ(number_at<std::uint64_t>(*blob, 16), kEngine.size());
  EXPECT_EQ(number_at<std::uint64_t>(*blob, 24), 1U);
  EXPECT_EQ(blob->size(), engine_offset + kEngine.size());
  EXPECT_EQ(text_at(*blob, engine_offset, kEngine.size()), kEngine);
}

TEST(TensorRtBlob, IsReadBackAsItWasWritten) {
  Blob written = contents();
  written.aliases = {{"cache_out", "cache_in", BlobAlias::Kind::User}};
  written.hardware_compatible = true;
  const auto bytes = write_blob(written);
  ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
  const auto read = parse_blob(*bytes);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->inputs, written.inputs);
  EXPECT_EQ(read->outputs, written.outputs);
  ASSERT_EQ(read->aliases.size(), 1U);
  EXPECT_EQ(read->aliases[0].output, "cache_out");
  EXPECT_EQ(read->aliases[0].input, "cache_in");
  EXPECT_EQ(read->aliases[0].kind, BlobAlias::Kind::User);
  EXPECT_EQ(read->device_id, 1);
  EXPECT_TRUE(read->hardware_compatible);
  EXPECT_EQ(text_at({read->engine.begin(), read->engine.end()}, 0, read->engine.size()), kEngine);
}

TEST(TensorRtBlob, AliasesNeedTheSecondVersion) {
  Blob aliased = contents();
  aliased.aliases = {{"cache_out", "cache_in"}};
  const auto blob = write_blob(aliased);
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  EXPECT_EQ(text_at(*blob, 0, 4), "TR02");
  EXPECT_NE(text_at(*blob, 32, number_at<std::uint32_t>(*blob, 8))
                .find(R"("aliased_io":[{"output":"cache_out","input":"cache_in","kind":"kv_cache_update"}])"),
            std::string::npos);
}

TEST(TensorRtBlob, NamesMayHaveAnyCharacters) {
  Blob odd = contents();
  odd.inputs[0] = "a\"b\\c\n";
  const auto blob = write_blob(odd);
  ASSERT_TRUE(blob.ok());
  EXPECT_NE(text_at(*blob, 32, number_at<std::uint32_t>(*blob, 8)).find(R"("name":"a\"b\\c\n")"), std::string::npos);
}

struct Refused {
  const char* name;
  void (*spoil)(Blob&);
  const char* field;
};

class TensorRtBlobFault : public ::testing::TestWithParam<Refused> {};

TEST_P(TensorRtBlobFault, IsNamed) {
  Blob bad = contents();
  bad.aliases = {{"cache_out", "cache_in", BlobAlias::Kind::User}};
  GetParam().spoil(bad);
  const auto blob = write_blob(bad);
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(blob.error().site().field, GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    All, TensorRtBlobFault,
    ::testing::Values(Refused{"NoEngine", [](Blob& c) { c.engine = {}; }, "engine"},
                      Refused{"EmptyName", [](Blob& c) { c.inputs[1] = ""; }, "inputs[1]"},
                      Refused{"NameTwice", [](Blob& c) { c.outputs[0] = "x"; }, "outputs[0]"},
                      Refused{"NoUtf8", [](Blob& c) { c.outputs[0] = "\xff"; }, "metadata"},
                      Refused{"NegativeDevice", [](Blob& c) { c.device_id = -1; }, "device_id"},
                      Refused{"NoSuchInput", [](Blob& c) { c.aliases[0].input = "y"; }, "aliased_io[0].input"},
                      Refused{"NoSuchOutput", [](Blob& c) { c.aliases[0].output = "x"; }, "aliased_io[0].output"},
                      Refused{"InputTwice",
                              [](Blob& c) {
                                c.aliases.push_back({"y", "cache_in"});
                              },
                              "aliased_io[1].input"},
                      Refused{"OutputTwice",
                              [](Blob& c) {
                                c.aliases.push_back({"cache_out", "x"});
                              },
                              "aliased_io[1].output"}),
    [](const auto& parameter) { return std::string{parameter.param.name}; });

}  // namespace
}  // namespace tandem::tensorrt
