#include "support/function_backend.h"

#include <tandem/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FunctionBackend;

std::shared_ptr<Backend> any_backend() { return std::make_shared<FunctionBackend>(1, testing::add_number(1)); }

TEST(BackendRegistryTest, AliasIsTheSameBackend) {
  BackendRegistry registry;
  ASSERT_TRUE(registry.register_backend("A", any_backend()).ok());
  ASSERT_TRUE(registry.register_alias("B", "A").ok());
  EXPECT_EQ(registry.find("A"), registry.find("B"));
  EXPECT_THAT(registry.ids(), ElementsAre("A", "B"));
  EXPECT_EQ(registry.find("C"), nullptr);
}

TEST(BackendRegistryTest, RefusesTakenIdsUnknownTargetsAndNull) {
  BackendRegistry registry;
  ASSERT_TRUE(registry.register_backend("A", any_backend()).ok());
  EXPECT_EQ(registry.register_backend("A", any_backend()).error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(registry.register_alias("A", "A").error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(registry.register_alias("B", "Z").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(registry.register_backend("N", nullptr).error().code(), ErrorCode::InvalidArgument);
}

TEST(BackendRegistryTest, GlobalOneHasTheHostBackendAndItsSecondId) {
  EXPECT_THAT(BackendRegistry::global().ids(), Contains("AotiHostBackend"));
  EXPECT_EQ(BackendRegistry::global().find("AotiHostBackend"), BackendRegistry::global().find("AotiHostBackendB"));
}

TEST(BackendOptionsTest, ProcessWideOptionsNeedABackend) {
  BackendOptions options;
  options.set_option("use_shared_cuda_stream", true).set_option("threads", 2).set_option("name", "x");
  EXPECT_TRUE(set_option("AotiHostBackend", options).ok());  // unknown keys are ignored
  EXPECT_EQ(set_option("Nobody", options).error().code(), ErrorCode::BackendMissing);
}

TEST(BackendOptionsTest, TypedAccess) {
  BackendOptions options;
  options.set_option("flag", true).set_option("count", 2).set_option("name", "x");
  EXPECT_TRUE(*options.get<bool>("flag"));
  EXPECT_EQ(*options.get<std::int64_t>("count"), 2);
  EXPECT_EQ(*options.get<std::string>("name"), "x");
  EXPECT_EQ(options.get<bool>("missing").error().code(), ErrorCode::NotFound);
  const auto wrong = options.get<bool>("count");
  EXPECT_EQ(wrong.error().code(), ErrorCode::InvalidType);
  EXPECT_EQ(wrong.error().site().key, "count");
}

TEST(BackendOptionsTest, LoadOptionsAreById) {
  LoadBackendOptionsMap map;
  BackendOptions options;
  options.set_option("k", 1);
  map.set_options("A", options);
  ASSERT_NE(map.get_options("A"), nullptr);
  EXPECT_EQ(map.get_options("B"), nullptr);
}

}  // namespace
}  // namespace tandem
