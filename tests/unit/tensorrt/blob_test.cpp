#include "backends/tensorrt/blob.h"

#include "support/reference_engine/reference_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::tensorrt {
namespace {

using testing::BlobParts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::metadata_of;

Result<Blob> parse(const std::string& bytes) { return parse_blob(std::as_bytes(std::span{bytes})); }

BlobParts good() {
  BlobParts parts;
  parts.metadata = metadata_of({"x", "y"}, {"z"});
  parts.engine = "engine bytes";
  return parts;
}

BlobParts with_metadata(std::string metadata) {
  BlobParts parts = good();
  parts.metadata = std::move(metadata);
  return parts;
}

struct Fault {
  std::string name;
  BlobParts parts;
  std::string field;
  std::uint64_t offset;
};

class MalformedBlobTest : public ::testing::TestWithParam<Fault> {};

TEST_P(MalformedBlobTest, IsRefusedWithFieldAndOffset) {
  const auto blob = parse(GetParam().parts.bytes());
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(blob.error().site().field, GetParam().field) << blob.error().to_string();
  EXPECT_EQ(blob.error().site().offset, GetParam().offset) << blob.error().to_string();
}

std::vector<Fault> faults() {
  std::vector<Fault> faults;
  const auto add = [&](std::string name, std::string field, std::uint64_t offset, auto&& spoil) {
    BlobParts parts = good();
    spoil(parts);
    faults.push_back({std::move(name), std::move(parts), std::move(field), offset});
  };
  const auto text = [&](std::string name, std::string field, std::uint64_t offset, std::string metadata) {
    faults.push_back({std::move(name), with_metadata(std::move(metadata)), std::move(field), offset});
  };
  add("Magic", "magic", 0, [](BlobParts& p) { p.magic = "TR03"; });
  add("MetadataInTheHead", "metadata_offset", 4, [](BlobParts& p) { p.metadata_offset = 31; });
  add("MetadataPastTheEnd", "metadata_size", 8, [](BlobParts& p) { p.metadata_size = 100000; });
  add("MetadataAtTheLimitOf32Bits", "metadata_size", 8, [](BlobParts& p) {
    p.metadata_offset = 0xFFFFFFFF;
    p.metadata_size = 0xFFFFFFFF;
  });
  add("EngineNotAligned", "engine_offset", 12, [](BlobParts& p) { p.engine_offset = 200; });
  add("EngineInTheMetadata", "engine_offset", 12, [](BlobParts& p) { p.engine_offset = 32; });
  add("EngineOffsetPastTheEnd", "engine_size", 16, [](BlobParts& p) { p.engine_offset = 1 << 20; });
  add("EnginePastTheEnd", "engine_size", 16, [](BlobParts& p) { p.engine_size = 13; });
  add("EngineSizeThatWrapsAround", "engine_size", 16, [](BlobParts& p) { p.engine_size = UINT64_MAX - 15; });
  add("NoEngine", "engine_size", 16, [](BlobParts& p) { p.engine_size = 0; });
  text("NotJson", "metadata", 33, "{");
  text("NotUtf8", "metadata", 35, "{\"\xFF\":1}");
  text("BytesBehindTheJson", "metadata", 53, R"({"io_bindings": []} x)");
  text("NoObject", "metadata", 32, "[]");
  text("NoBindings", "metadata.io_bindings", 32, "{}");
  text("BindingsAreNoList", "metadata.io_bindings", 32, R"({"io_bindings": {}})");
  text("BindingIsNoObject", "metadata.io_bindings[0]", 32, R"({"io_bindings": [1]})");
  text("BindingWithoutName", "metadata.io_bindings[0].name", 32, R"({"io_bindings": [{"is_input": true}]})");
  text("NameIsNoText", "metadata.io_bindings[0].name", 32, R"({"io_bindings": [{"name": 1, "is_input": true}]})");
  text("BindingWithoutDirection", "metadata.io_bindings[0].is_input", 32, R"({"io_bindings": [{"name": "x"}]})");
  text("DirectionIsNoFlag", "metadata.io_bindings[0].is_input", 32,
       R"({"io_bindings": [{"name": "x", "is_input": 1}]})");
  text("NameTwice", "metadata.io_bindings[1].name", 32,
       R"({"io_bindings": [{"name": "x", "is_input": true}, {"name": "x", "is_input": false}]})");
  text("SomeNamesEmpty", "metadata.io_bindings", 32,
       R"({"io_bindings": [{"name": "x", "is_input": true}, {"name": "", "is_input": false}]})");
  text("AliasesAreNoList", "metadata.aliased_io", 32, R"({"io_bindings": [], "aliased_io": 1})");
  text("AliasWithoutInput", "metadata.aliased_io[0].input", 32,
       R"({"io_bindings": [], "aliased_io": [{"output": "y"}]})");
  text("UnknownKindOfAlias", "metadata.aliased_io[0]", 32,
       R"({"io_bindings": [], "aliased_io": [{"output": "y", "input": "x", "kind": "other"}]})");
  text("OutputAliasedTwice", "metadata.aliased_io[1]", 32,
       R"({"io_bindings": [], "aliased_io": [{"output": "y", "input": "x"}, {"output": "y", "input": "z"}]})");
  text("NegativeDevice", "metadata.device_id", 32, R"({"io_bindings": [], "device_id": -1})");
  text("HugeDevice", "metadata.device_id", 32, R"({"io_bindings": [], "device_id": 32768})");
  text("DeviceIsNoInteger", "metadata.device_id", 32, R"({"io_bindings": [], "device_id": 0.5})");
  text("FlagIsNoFlag", "metadata.hardware_compatible", 32, R"({"io_bindings": [], "hardware_compatible": "no"})");
  return faults;
}

INSTANTIATE_TEST_SUITE_P(All, MalformedBlobTest, ::testing::ValuesIn(faults()),
                         [](const auto& fault) { return fault.param.name; });

TEST(BlobTest, EveryShorterBlobIsRefused) {
  const std::string bytes = good().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto blob = parse(bytes.substr(0, size));
    ASSERT_FALSE(blob.ok()) << size;
    EXPECT_LE(blob.error().site().offset, size < 32 ? size : 16);
  }
}

TEST(BlobTest, NamesComeInTheirOrderAndTheEngineIsNotCopied) {
  const std::string bytes = good().bytes();
  const auto blob = parse(bytes);
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  EXPECT_THAT(blob->inputs, ElementsAre("x", "y"));
  EXPECT_THAT(blob->outputs, ElementsAre("z"));
  EXPECT_THAT(blob->aliases, IsEmpty());
  EXPECT_EQ(blob->engine.size(), 12U);
  EXPECT_EQ(reinterpret_cast<const char*>(blob->engine.data()), bytes.data() + bytes.size() - 12);
}

TEST(BlobTest, KeysMayComeInAnyOrderAndTextsMayBeEscaped) {
  const auto blob = parse(with_metadata(R"({"device_id": 3, "hardware_compatible": true, "target_platform": "p",
      "io_bindings": [{"is_input": true, "name": "a\n\u00e9\"\\"}]})")
                              .bytes());
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  EXPECT_EQ(blob->device_id, 3);
  EXPECT_TRUE(blob->hardware_compatible);
  EXPECT_THAT(blob->inputs, ElementsAre("a\n\xC3\xA9\"\\"));
}

TEST(BlobTest, EmptyNamesCountAsNone) {
  const auto blob = parse(with_metadata(metadata_of({"", ""}, {""})).bytes());
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  EXPECT_THAT(blob->inputs, IsEmpty());
  EXPECT_THAT(blob->outputs, IsEmpty());
}

TEST(BlobTest, AliasesAreCacheUpdatesUnlessTheBlobSaysOtherwise) {
  BlobParts parts = with_metadata(R"({"io_bindings": [], "aliased_io": [{"output": "o", "input": "i"},
      {"output": "p", "input": "j", "kind": "user"}]})");
  parts.magic = "TR02";
  const auto blob = parse(parts.bytes());
  ASSERT_TRUE(blob.ok()) << blob.error().to_string();
  ASSERT_EQ(blob->aliases.size(), 2U);
  EXPECT_EQ(blob->aliases[0].kind, BlobAlias::Kind::KvCacheUpdate);
  EXPECT_EQ(blob->aliases[1].kind, BlobAlias::Kind::User);
  EXPECT_EQ(blob->aliases[1].output, "p");
  EXPECT_EQ(blob->aliases[1].input, "j");
}

TEST(BlobTest, DeepNestingIsNoStackOverflow) {
  EXPECT_FALSE(parse(with_metadata(std::string(1 << 20, '[')).bytes()).ok());
  std::string deep = R"({"io_bindings": [], "other": )" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_TRUE(parse(with_metadata(std::move(deep)).bytes()).ok());
}

}  // namespace
}  // namespace tandem::tensorrt
