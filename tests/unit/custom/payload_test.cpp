#include <tandem/custom_payload.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace tandem {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

template <class T>
Bytes number(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class... Parts>
Bytes joined(const Parts&... parts) {
  Bytes all;
  (all.insert(all.end(), parts.begin(), parts.end()), ...);
  return all;
}

/// A payload with any numbers in its head.
Bytes payload(std::string_view magic, std::uint32_t kind, std::uint64_t library_bytes, std::uint64_t blob_bytes,
              std::string_view rest) {
  return joined(bytes_of(magic), number(kind), number(library_bytes), number(blob_bytes), bytes_of(rest));
}

void expect_refused(const Bytes& bytes, std::string_view field, std::uint64_t offset) {
  const auto parsed = parse_custom_payload(bytes);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(parsed.error().site().field, field);
  EXPECT_EQ(parsed.error().site().offset, offset);
}

const std::string kEightZeros(8, '\0');

TEST(CustomPayloadTest, HasTheDocumentedLayout) {
  const Bytes blob = bytes_of("blob");
  const auto encoded = encode_custom_payload({.key = "scale.so", .blob = blob});
  ASSERT_TRUE(encoded.ok());
  // 24 bytes of head and 8 of the key end at a multiple of 16.
  EXPECT_EQ(*encoded, payload("TCU1", 0, 8, 4, "scale.soblob"));
}

TEST(CustomPayloadTest, TheBlobStartsAtAMultipleOf16) {
  const Bytes blob = bytes_of("blob");
  const auto encoded = encode_custom_payload({.path = "a.so", .blob = blob});
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(*encoded, payload("TCU1", 1, 4, 4, std::string{"a.so"} + std::string(4, '\0') + "blob"));
}

TEST(CustomPayloadTest, EveryPlaceOfALibraryComesBack) {
  const Bytes library = bytes_of("\177ELF");
  const Bytes blob = bytes_of("numbers");
  for (const CustomPayload& wanted : {CustomPayload{.key = "k", .blob = blob}, CustomPayload{.path = "p/q.so"},
                                      CustomPayload{.library = library, .blob = blob}}) {
    const auto encoded = encode_custom_payload(wanted);
    ASSERT_TRUE(encoded.ok());
    const auto parsed = parse_custom_payload(*encoded);
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    EXPECT_EQ(parsed->key, wanted.key);
    EXPECT_EQ(parsed->path, wanted.path);
    EXPECT_TRUE(std::ranges::equal(parsed->library, wanted.library));
    EXPECT_TRUE(std::ranges::equal(parsed->blob, wanted.blob));
  }
}

TEST(CustomPayloadTest, EncodesNoLibraryAndTwoLibrariesNever) {
  EXPECT_EQ(encode_custom_payload({}).error().code(), ErrorCode::InvalidArgument);
  const auto two = encode_custom_payload({.key = "a", .path = "b"});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(two.error().found(), "2");
}

TEST(CustomPayloadTest, EncodesNoTextWithAZeroByte) {
  const auto encoded = encode_custom_payload({.path = std::string_view{"a\0b", 3}});
  ASSERT_FALSE(encoded.ok());
  EXPECT_EQ(encoded.error().site().field, "path");
}

TEST(CustomPayloadTest, RefusesWhatIsShorterThanItsHead) {
  const Bytes whole = payload("TCU1", 0, 8, 0, "scale.so");
  for (std::size_t bytes = 0; bytes < 24; ++bytes) {
    expect_refused({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)}, "processed", 0);
  }
}

TEST(CustomPayloadTest, RefusesAnotherMagic) { expect_refused(payload("TCU2", 0, 8, 0, "scale.so"), "magic", 0); }

TEST(CustomPayloadTest, RefusesAnUnknownKind) { expect_refused(payload("TCU1", 3, 8, 0, "scale.so"), "kind", 4); }

TEST(CustomPayloadTest, RefusesAnEmptyKey) {
  expect_refused(payload("TCU1", 0, 0, 8, kEightZeros), "library_bytes", 8);
}

TEST(CustomPayloadTest, RefusesALibraryThatEndsBehindThePayload) {
  expect_refused(payload("TCU1", 2, 9, 0, "scale.so"), "library_bytes", 8);
  expect_refused(payload("TCU1", 2, UINT64_MAX, 0, "scale.so"), "library_bytes", 8);
  expect_refused(payload("TCU1", 2, UINT64_MAX - 23, 0, "scale.so"), "library_bytes", 8);
}

TEST(CustomPayloadTest, RefusesABlobThatDoesNotEndWithThePayload) {
  expect_refused(payload("TCU1", 0, 8, 5, "scale.soblob"), "blob_bytes", 16);
  expect_refused(payload("TCU1", 0, 8, 3, "scale.soblob"), "blob_bytes", 16);
  expect_refused(payload("TCU1", 0, 8, UINT64_MAX, "scale.soblob"), "blob_bytes", 16);
  expect_refused(payload("TCU1", 0, 8, UINT64_MAX - 31, "scale.soblob"), "blob_bytes", 16);
}

TEST(CustomPayloadTest, RefusesPaddingThatIsNotThere) {
  expect_refused(payload("TCU1", 0, 1, 0, "k"), "blob_bytes", 16);
}

TEST(CustomPayloadTest, RefusesATextWithAZeroByte) {
  expect_refused(payload("TCU1", 0, 8, 0, std::string_view{"scal\0.so", 8}), "key", 28);
  expect_refused(payload("TCU1", 1, 8, 0, std::string_view{"scal\0.so", 8}), "path", 28);
}

}  // namespace
}  // namespace tandem
