#include <tandem/scalar_type.h>

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(ScalarTypeTest, NamesAndBytes) {
  EXPECT_EQ(name_of(ScalarType::Float), "float32");
  EXPECT_EQ(item_bytes(ScalarType::ComplexDouble), 16U);
  EXPECT_EQ(item_bytes(ScalarType::BFloat16), 2U);
  EXPECT_EQ(item_bytes(ScalarType::UInt64), 8U);
}

TEST(ScalarTypeTest, NamesReadBack) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(is_scalar_type(i));
    const auto type = static_cast<ScalarType>(i);
    EXPECT_GT(item_bytes(type), 0U);
    EXPECT_EQ(scalar_type_from_name(name_of(type)), type);
  }
  EXPECT_EQ(scalar_type_from_name("float31"), std::nullopt);
}

TEST(ScalarTypeTest, OtherNumbersAreNone) {
  EXPECT_FALSE(is_scalar_type(-1));
  EXPECT_FALSE(is_scalar_type(30));
  EXPECT_EQ(item_bytes(static_cast<ScalarType>(99)), 0U);
  EXPECT_EQ(name_of(static_cast<ScalarType>(99)), "unknown");
}

}  // namespace
}  // namespace tandem
