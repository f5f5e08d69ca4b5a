#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tandem::base {
namespace {

// Source: FIPS 180-4 example values.
TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(*sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  constexpr std::string_view kText = "abc";
  EXPECT_EQ(*sha256_hex(std::as_bytes(std::span{kText})),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace tandem::base
