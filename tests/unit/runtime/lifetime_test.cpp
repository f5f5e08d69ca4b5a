#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::FunctionBackend;
using ::testing::HasSubstr;
using testing::MethodBuilder;

class LifetimeTest : public ::testing::Test {
 protected:
  LifetimeTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  }
  Error refused() {
    auto lowered = b.lower();
    EXPECT_FALSE(lowered.ok());
    return lowered.ok() ? Error{ErrorCode::Internal, "accepted"} : std::move(lowered).error();
  }
  void accepted() {
    const auto lowered = b.lower();
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
  }

  MethodBuilder b;
};

TEST_F(LifetimeTest, FindsAValueOverwrittenBeforeItsLastReader) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 72);  // meets the second half of a
  const auto d = b.tensor({4}, 128);
  b.inputs({x}).outputs({d}).delegate("F", {x, a}).delegate("F", {x, c}).delegate("F", {a, d});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
  EXPECT_EQ(error.site().instruction, 1);
  EXPECT_EQ(error.site().value, c);
  EXPECT_THAT(error.expected(), HasSubstr("bytes [72, 80) of arena 1"));
  EXPECT_THAT(error.expected(), HasSubstr("value " + std::to_string(a) + " for instruction 2 (delegate 2, F)"));
}

TEST_F(LifetimeTest, AcceptsReuseAfterTheLastReader) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 128);
  const auto d = b.tensor({4}, 64);
  const auto e = b.tensor({4}, 256);
  b.inputs({x}).outputs({e}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d}).delegate("F", {d, e});
  accepted();
}

TEST_F(LifetimeTest, FindsAResultThatOverlapsAnInputOfTheSameStep) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 64);
  const auto d = b.tensor({4}, 128);
  b.inputs({x}).outputs({d}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
  EXPECT_EQ(error.site().instruction, 1);
  EXPECT_THAT(error.expected(), HasSubstr("the same step"));
}

TEST_F(LifetimeTest, SeesThroughViews) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto view = b.tensor({2, 2});
  const auto two = b.number(2);
  const auto shape = b.numbers({two, two});
  const auto c = b.tensor({4}, 64);
  const auto d = b.tensor({2, 2}, 128);
  b.inputs({x}).outputs({d, c}).delegate("F", {x, a}).kernel("executorch_prim::et_view.default", {a, shape, view});
  const auto kept = b.tensor({4}, 64);  // takes the bytes of a while only its view is alive
  b.delegate("F", {x, kept}).delegate("F", {view, d}).delegate("F", {kept, c});
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
  EXPECT_EQ(error.site().instruction, 2);
  EXPECT_THAT(error.expected(), HasSubstr("value " + std::to_string(view)));
}

TEST_F(LifetimeTest, SeesReadersBehindABackwardJump) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 128);
  const auto d = b.tensor({4}, 64);  // fine going forward, but the loop reads a again
  const auto e = b.tensor({4}, 256);
  const auto done = b.flag(true);
  b.inputs({x}).outputs({e});
  b.delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d}).delegate("F", {d, e}).jump_if_false(done, 1);
  const Error error = refused();
  EXPECT_EQ(error.code(), ErrorCode::OrderViolation);
  EXPECT_EQ(error.site().instruction, 2);
}

TEST_F(LifetimeTest, AcceptsBranchesThatShareBytes) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 64);
  const auto merged = b.tensor({4});
  const auto d = b.tensor({4}, 256);
  const auto flag = b.flag(false);
  const auto never = b.flag(false);
  b.inputs({x}).outputs({d});
  b.jump_if_false(flag, 4).delegate("F", {x, a}).move(a, merged).jump_if_false(never, 6);
  b.delegate("F", {x, c}).move(c, merged).delegate("F", {merged, d});
  accepted();
}

TEST_F(LifetimeTest, FindsAMovedValueOverwrittenBeforeItIsRead) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto merged = b.tensor({4});
  const auto c = b.tensor({4}, 64);
  const auto d = b.tensor({4}, 128);
  const auto e = b.tensor({4}, 256);
  b.inputs({x}).outputs({d, e}).delegate("F", {x, a}).move(a, merged).delegate("F", {x, c});
  b.delegate("F", {merged, d}).delegate("F", {c, e});
  EXPECT_EQ(refused().code(), ErrorCode::OrderViolation);
}

TEST_F(LifetimeTest, InputsMayBeOverlaid) {  // they live outside the arena
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 0);
  const auto c = b.tensor({4}, 64);
  const auto d = b.tensor({4}, 128);
  b.inputs({x}).outputs({c, d}).delegate("F", {x, a}).delegate("F", {x, d}).delegate("F", {a, c});
  testing::TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({testing::floats({4}, {1, 2, 3, 4})}, 1), (std::vector<float>{2, 3, 4, 5}));
}

TEST_F(LifetimeTest, TenThousandStepsAreChecked) {
  auto from = b.tensor({4}, 0);
  b.inputs({from});
  for (int i = 0; i < 10'000; ++i) {
    const auto to = b.tensor({4}, i % 2 == 0 ? 64 : 128);
    if (i == 0) b.delegate("F", {from, to});
    if (i != 0) b.call(0, {from, to});
    from = to;
  }
  b.outputs({from});
  accepted();
}

}  // namespace
}  // namespace tandem
