#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tandem::base {
namespace {

TEST(Sha256, KnownDigests) {  // FIPS 180-4, examples
  const auto digest = [](std::string_view text) { return *sha256_hex(std::as_bytes(std::span{text})); };
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace tandem::base
