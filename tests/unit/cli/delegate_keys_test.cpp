#include "cli/delegate_keys.h"

#include <tandem/custom_payload.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace tandem::cli {
namespace {

using ::testing::ElementsAre;

format::Delegate delegate_with(std::string_view payload, std::string_view id = "CudaBackend") {
  format::Delegate delegate;
  delegate.id = id;
  delegate.payload = std::as_bytes(std::span{payload.data(), payload.size()});
  return delegate;
}

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  return {reinterpret_cast<const char*>(&number), bytes};
}
std::string counted(std::string_view text) { return little_endian(text.size(), 4) + std::string{text}; }

/// An `ETCUDAFQN3` table with one constant of rank 2.
std::string table() {
  return "ETCUDAFQN3" + counted("ab_so_blob") + little_endian(1, 4) + counted("a.weight") +
         counted("cuda_fqn_weight:cuda:a.weight") + little_endian(24, 8) + little_endian(6, 4) + little_endian(1, 4) +
         little_endian(0, 8) + little_endian(2, 4) + std::string(4 * 8, '\1');
}

TEST(DelegateKeysTest, ReadsTwoKeysAsText) {
  const std::string payload = "ab_so_blob\ncd_weights_blob";
  const auto needs = delegate_keys(delegate_with(payload, "AotiHostBackend"), "forward");
  ASSERT_TRUE(needs.has_value());
  ASSERT_EQ(needs->size(), 2U);
  EXPECT_EQ((*needs)[0].purpose, "library");
  EXPECT_THAT((*needs)[0].keys, ElementsAre("ab_so_blob"));
  EXPECT_EQ((*needs)[1].purpose, "weights");
  EXPECT_THAT((*needs)[1].keys, ElementsAre("cd_weights_blob"));
}

TEST(DelegateKeysTest, DoesNotRequireWeightsOfNoBytes) {
  const std::string payload =
      "ab_so_blob\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855_weights_blob";
  const auto needs = delegate_keys(delegate_with(payload), "forward");
  ASSERT_TRUE(needs.has_value());
  EXPECT_TRUE((*needs)[0].required);
  EXPECT_FALSE((*needs)[1].required);
}

TEST(DelegateKeysTest, NamesTheKeysThatAnEmptyPayloadMeans) {
  const auto needs = delegate_keys(delegate_with(""), "encode");
  ASSERT_TRUE(needs.has_value());
  EXPECT_THAT((*needs)[0].keys, ElementsAre("encode_so_blob", "so_blob"));
  EXPECT_THAT((*needs)[1].keys, ElementsAre("encode_weights_blob", "weights_blob"));
  EXPECT_FALSE(delegate_keys(delegate_with("", "OtherBackend"), "encode").has_value());
}

TEST(DelegateKeysTest, ReadsTheTableOfConstants) {
  const std::string payload = table();
  const auto needs = delegate_keys(delegate_with(payload), "forward");
  ASSERT_TRUE(needs.has_value());
  ASSERT_EQ(needs->size(), 2U);
  EXPECT_THAT((*needs)[0].keys, ElementsAre("ab_so_blob"));
  EXPECT_EQ((*needs)[1].purpose, "constant");
  EXPECT_THAT((*needs)[1].keys, ElementsAre("cuda_fqn_weight:cuda:a.weight"));
}

TEST(DelegateKeysTest, LeavesATruncatedTableToItsBackend) {
  const std::string payload = table();
  for (std::size_t bytes = 10; bytes < payload.size(); ++bytes) {
    EXPECT_FALSE(delegate_keys(delegate_with(std::string_view{payload}.substr(0, bytes)), "forward").has_value());
  }
}

TEST(DelegateKeysTest, ReadsWhereACustomDelegatesLibraryIs) {
  const auto needs_of = [](const CustomPayload& custom) {
    const auto bytes = encode_custom_payload(custom);
    EXPECT_TRUE(bytes.ok());
    format::Delegate delegate;
    delegate.id = "CustomBackend";
    delegate.payload = *bytes;
    return delegate_keys(delegate, "forward").value_or(std::vector<KeyNeed>{});
  };
  const auto by_key = needs_of({.key = "scale.so"});
  ASSERT_EQ(by_key.size(), 1U);
  EXPECT_EQ(by_key[0].purpose, "library");
  EXPECT_THAT(by_key[0].keys, ElementsAre("scale.so"));
  const auto by_path = needs_of({.path = "kernels/scale.so"});
  ASSERT_EQ(by_path.size(), 1U);
  EXPECT_EQ(by_path[0].path, "kernels/scale.so");
  const std::array<std::byte, 5> library{};
  const std::array<std::byte, 3> blob{};
  const auto embedded = needs_of({.library = library, .blob = blob});
  ASSERT_EQ(embedded.size(), 2U);
  EXPECT_EQ(embedded[0].payload_bytes, 5U);
  EXPECT_EQ(embedded[1].purpose, "blob");
  EXPECT_EQ(embedded[1].payload_bytes, 3U);
}

TEST(DelegateKeysTest, LeavesABrokenPayloadOfACustomDelegateToItsBackend) {
  EXPECT_FALSE(delegate_keys(delegate_with("TCU1", "CustomBackend"), "forward").has_value());
}

TEST(DelegateKeysTest, LeavesOtherPayloadsToTheirBackend) {
  for (const char* payload : {"TR01 engine", "one_so_blob", "a\nb", "ab_so_blob\nmore"}) {
    EXPECT_FALSE(delegate_keys(delegate_with(payload), "forward").has_value()) << payload;
  }
}

}  // namespace
}  // namespace tandem::cli
