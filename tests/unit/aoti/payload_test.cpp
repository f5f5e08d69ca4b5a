#include "backends/aoti/payload.h"

#include "backends/aoti/write_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace tandem::aoti {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<Payload> parse(std::string_view text, std::string_view method = "forward") {
  return parse_payload(std::as_bytes(std::span{text}), method);
}

Error refusal(std::string_view text) {
  const auto payload = parse(text);
  EXPECT_FALSE(payload.ok());
  return payload.ok() ? Error{ErrorCode::Internal, "accepted"} : payload.error();
}

/// The newest generation, field by field.
struct Builder {
  std::string bytes = "ETCUDAFQN3";

  template <class T>
  Builder& number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
    return *this;
  }
  Builder& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes += value;
    return *this;
  }
  Builder& entry(std::uint64_t storage_bytes = 24, std::int64_t offset = 0, std::int64_t rows = 2) {
    text("layer.weight").text("cuda_fqn_weight:cpu:layer.weight").number(storage_bytes);
    number(std::int32_t{6}).number(std::int32_t{0}).number(offset).number(std::uint32_t{2});
    return number(rows).number(std::int64_t{3}).number(std::int64_t{3}).number(std::int64_t{1});
  }
  static Builder one() { return Builder{}.text("abc_so_blob").number(std::uint32_t{1}); }
};

TEST(Payload, EmptyOneGoesByTheMethodsName) {
  const auto payload = parse("");
  ASSERT_TRUE(payload.ok());
  EXPECT_THAT(payload->library_keys, ElementsAre("forward_so_blob", "so_blob"));
  EXPECT_THAT(std::get<Keys>(payload->weights), ElementsAre("forward_weights_blob", "weights_blob"));
}

TEST(Payload, EmptyOneWithoutAMethod) {
  const auto payload = parse("", "");
  ASSERT_TRUE(payload.ok());
  EXPECT_THAT(payload->library_keys, ElementsAre("so_blob"));
  EXPECT_THAT(std::get<Keys>(payload->weights), ElementsAre("weights_blob"));
}

TEST(Payload, TwoKeysAsText) {
  const auto payload = parse("one_so_blob\ntwo_weights_blob");
  ASSERT_TRUE(payload.ok());
  EXPECT_THAT(payload->library_keys, ElementsAre("one_so_blob"));
  EXPECT_THAT(std::get<Keys>(payload->weights), ElementsAre("two_weights_blob"));
}

TEST(Payload, TextThatIsNotTwoKeysIsRefused) {
  EXPECT_EQ(refusal("only_so_blob").code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(refusal("only_so_blob").site().field, "processed");
  EXPECT_EQ(refusal("\nweights").site().field, "so_key");
  EXPECT_EQ(refusal("library\n").site().field, "weights_key");
  EXPECT_EQ(refusal("library\n").site().offset, 8U);
  EXPECT_EQ(refusal("library\nweights\nmore").site().field, "weights_key");
}

TEST(Payload, TableOfConstants) {
  const auto payload = parse(Builder::one().entry(48, 6).bytes);
  ASSERT_TRUE(payload.ok()) << payload.error().to_string();
  EXPECT_THAT(payload->library_keys, ElementsAre("abc_so_blob"));
  const auto& entries = std::get<std::vector<ConstantEntry>>(payload->weights);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].fqn, "layer.weight");
  EXPECT_EQ(entries[0].storage_key, "cuda_fqn_weight:cpu:layer.weight");
  EXPECT_EQ(entries[0].storage_bytes, 48U);
  EXPECT_EQ(entries[0].dtype, ScalarType::Float);
  EXPECT_EQ(entries[0].device_type, 0);
  EXPECT_EQ(entries[0].storage_offset, 6);
  EXPECT_THAT(entries[0].sizes, ElementsAre(2, 3));
  EXPECT_THAT(entries[0].strides, ElementsAre(3, 1));
}

TEST(Payload, TableWithoutConstants) {
  const auto payload = parse(Builder{}.text("abc_so_blob").number(std::uint32_t{0}).bytes);
  ASSERT_TRUE(payload.ok());
  EXPECT_THAT(std::get<std::vector<ConstantEntry>>(payload->weights), IsEmpty());
}

TEST(Payload, TableThatIsCutOffAnywhereIsRefused) {
  const std::string whole = Builder::one().entry().bytes;
  ASSERT_TRUE(parse(whole).ok());
  for (std::size_t size = std::strlen("ETCUDAFQN3"); size < whole.size(); ++size) {
    const Error error = refusal(std::string_view{whole}.substr(0, size));
    EXPECT_EQ(error.code(), ErrorCode::InvalidProgram) << size;
    EXPECT_LE(error.site().offset.value_or(UINT64_MAX), size);
  }
}

TEST(Payload, TableWithBytesLeftIsRefused) {
  EXPECT_EQ(refusal(Builder::one().entry().bytes + "x").site().field, "processed");
}

TEST(Payload, CountThatTheBytesCannotHoldIsRefusedBeforeItIsUsed) {
  const Error error = refusal(Builder{}.text("abc_so_blob").number(std::uint32_t{0xFFFFFFFF}).entry().bytes);
  EXPECT_EQ(error.site().field, "count");
  EXPECT_EQ(error.found(), "4294967295");
}

TEST(Payload, NumbersThatMakeNoSenseAreNamed) {
  const auto with = [](std::int32_t dtype, std::int64_t offset, std::uint32_t rank) {
    return Builder::one()
        .text("f")
        .text("k")
        .number(std::uint64_t{4})
        .number(dtype)
        .number(std::int32_t{0})
        .number(offset)
        .number(rank)
        .bytes;
  };
  EXPECT_EQ(refusal(with(77, 0, 0)).site().field, "constant[0].dtype");
  EXPECT_EQ(refusal(with(6, -1, 0)).site().field, "constant[0].storage_offset");
  EXPECT_EQ(refusal(with(6, 0, 17)).site().field, "constant[0].ndim");
  EXPECT_EQ(refusal(Builder::one().entry(24, 0, -2).bytes).site().field, "constant[0].sizes");
}

TEST(Payload, ConstantThatReachesBeyondItsStorageIsRefused) {
  const Error error = refusal(Builder::one().entry(20).bytes);
  EXPECT_EQ(error.site().field, "constant[0].storage_nbytes");
  EXPECT_EQ(error.expected(), "at least 24 bytes");
  EXPECT_EQ(refusal(Builder::one().entry(24, 1).bytes).site().field, "constant[0].storage_nbytes");
  EXPECT_EQ(refusal(Builder::one().entry(24, 0, INT64_MAX).bytes).site().field, "constant[0].sizes");
}

// ---- writing ------------------------------------------------------------------------------------------------------

TEST(WrittenPayload, IsReadAsItWas) {
  const ConstantEntry entry{.fqn = "layer.weight",
                            .storage_key = "key",
                            .storage_bytes = 28,
                            .device_type = kCudaDevice,
                            .storage_offset = 1,
                            .sizes = {2, 3},
                            .strides = {1, 2}};
  const auto bytes = write_payload({{"abc_so_blob"}, std::vector{entry}});
  ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
  const auto read = parse_payload(*bytes, "");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->library_keys, ElementsAre("abc_so_blob"));
  const auto& entries = std::get<std::vector<ConstantEntry>>(read->weights);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].fqn, entry.fqn);
  EXPECT_EQ(entries[0].storage_key, entry.storage_key);
  EXPECT_EQ(entries[0].storage_bytes, entry.storage_bytes);
  EXPECT_EQ(entries[0].dtype, entry.dtype);
  EXPECT_EQ(entries[0].device_type, entry.device_type);
  EXPECT_EQ(entries[0].storage_offset, entry.storage_offset);
  EXPECT_EQ(entries[0].sizes, entry.sizes);
  EXPECT_EQ(entries[0].strides, entry.strides);
}

TEST(WrittenPayload, BlobsHaveTwoKeysAsText) {
  const auto bytes = write_payload({{"abc_so_blob"}, Keys{"def_weights_blob"}});
  ASSERT_TRUE(bytes.ok());
  const auto read = parse_payload(*bytes, "");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->library_keys, ElementsAre("abc_so_blob"));
  EXPECT_THAT(std::get<Keys>(read->weights), ElementsAre("def_weights_blob"));
}

TEST(WrittenPayload, IsRefusedWhereReadingWouldBe) {
  const auto field = [](const Payload& payload) {
    const auto bytes = write_payload(payload);
    EXPECT_FALSE(bytes.ok());
    return bytes.ok() ? std::string{} : bytes.error().site().field;
  };
  EXPECT_EQ(field({{"a", "b"}, Keys{"c"}}), "so_key");
  EXPECT_EQ(field({{"a\nb"}, Keys{"c"}}), "so_key");
  EXPECT_EQ(field({{"a"}, Keys{"c", "d"}}), "weights_key");
  EXPECT_EQ(field({{"a"}, Keys{""}}), "weights_key");
  EXPECT_EQ(field({{"a"}, std::vector{ConstantEntry{.fqn = "w", .sizes = {2}}}}), "constant[w].strides");
  EXPECT_EQ(field({{"a"}, std::vector{ConstantEntry{.fqn = "w", .storage_bytes = 4, .sizes = {2}, .strides = {1}}}}),
            "constant[0].storage_nbytes");
}

}  // namespace
}  // namespace tandem::aoti
