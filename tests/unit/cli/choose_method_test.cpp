#include "cli/choose_method.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::cli {
namespace {

TEST(ChooseMethodTest, TakesTheWantedForwardOrTheOnlyOne) {
  const std::vector<std::string> several{"encode", "forward"};
  const std::vector<std::string> one{"encode"};
  EXPECT_EQ(choose_method(several, "encode", "f").value(), "encode");
  EXPECT_EQ(choose_method(several, "", "f").value(), "forward");
  EXPECT_EQ(choose_method(one, "", "f").value(), "encode");
}

TEST(ChooseMethodTest, NamesTheMethodsThatThereAre) {
  const std::vector<std::string> names{"encode", "decode"};
  const auto unknown = choose_method(names, "fly", "x.pte");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::MethodNotFound);
  EXPECT_EQ(unknown.error().expected(), "one of: encode, decode");
  EXPECT_EQ(unknown.error().site().file, "x.pte");
  const auto unclear = choose_method(names, "", "x.pte");
  ASSERT_FALSE(unclear.ok());
  EXPECT_EQ(unclear.error().code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace tandem::cli
