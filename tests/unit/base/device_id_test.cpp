#include <tandem/device.h>

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DeviceIdTest, ReadsAndWritesNames) {
  EXPECT_EQ(*parse_device("host"), DeviceId{});
  EXPECT_EQ(*parse_device("cpu"), DeviceId{});
  EXPECT_EQ(*parse_device("cuda"), (DeviceId{DeviceType::Cuda, 0}));
  EXPECT_EQ(*parse_device("hip:3"), (DeviceId{DeviceType::Hip, 3}));
  EXPECT_EQ(to_string(DeviceId{DeviceType::Cuda, 1}), "cuda:1");
  EXPECT_EQ(to_string(DeviceId{}), "host");
}

TEST(DeviceIdTest, RefusesOtherText) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999", "cuda:1x", "hostile"}) {
    const auto parsed = parse_device(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace tandem
