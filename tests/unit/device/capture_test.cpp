#include "device/gpu/capture.h"

#include "unit/device/fake_test.h"

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CaptureTest : public FakeTest {
 protected:
  /// However the capture ended, the stream works and no graph is left.
  void expect_as_before() {
    EXPECT_EQ(*stream_->capture_status(), CaptureStatus::None);
    EXPECT_THAT(fake().graphs, IsEmpty());
    std::byte bytes[1] = {};
    EXPECT_TRUE(stream_->fill(bytes, std::byte{1}, 1).ok());
    EXPECT_TRUE(stream_->synchronize().ok());
    EXPECT_EQ(bytes[0], std::byte{1});
  }
  void TearDown() override { stream_.reset(); }

  std::unique_ptr<GpuStream<FakeApi>> stream_ = make_stream();
};

TEST_F(CaptureTest, FinishGivesTheGraph) {
  {
    auto scope = CaptureScope<FakeApi>::begin(*stream_);
    ASSERT_TRUE(scope.ok());
    EXPECT_EQ(*stream_->capture_status(), CaptureStatus::Active);
    auto graph = scope->finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_TRUE(static_cast<bool>(*graph));
    EXPECT_TRUE(fake().graphs.contains(graph->handle()));
    Graph<FakeApi> moved = *std::move(graph);
    Graph<FakeApi> assigned;
    assigned = std::move(moved);
    EXPECT_EQ(fake().graphs.size(), 1U);
  }
  EXPECT_THAT(calls(), ElementsAre("stream_create@1", "capture_begin@1", "capture_end@1", "graph_destroy@1"));
  expect_as_before();
}

TEST_F(CaptureTest, AnAbandonedOneIsEndedAndItsGraphDestroyed) {
  { ASSERT_TRUE(CaptureScope<FakeApi>::begin(*stream_).ok()); }
  EXPECT_THAT(calls(), ElementsAre("stream_create@1", "capture_begin@1", "capture_end@1", "graph_destroy@1"));
  expect_as_before();
}

TEST_F(CaptureTest, ABrokenOneFailsAndLeavesNoHalfGraph) {
  auto scope = CaptureScope<FakeApi>::begin(*stream_);
  ASSERT_TRUE(scope.ok());
  fake().fail("capture_end", FakeCode::CaptureBroken);
  const auto graph = scope->finish();
  EXPECT_EQ(graph.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(graph.error().native().code, 901);
  expect_as_before();
}

TEST_F(CaptureTest, ABrokenAndAbandonedOneLeavesNothing) {
  {
    auto scope = CaptureScope<FakeApi>::begin(*stream_);
    ASSERT_TRUE(scope.ok());
    fake().fail("capture_end", FakeCode::CaptureBroken);
  }
  expect_as_before();
}

TEST_F(CaptureTest, OneThatCannotBeginIsNone) {
  fake().fail("capture_begin", FakeCode::CaptureBroken);
  EXPECT_EQ(CaptureScope<FakeApi>::begin(*stream_).error().native().code, 901);
  EXPECT_EQ(fake().count("capture_end@1"), 0U);
  expect_as_before();
}

TEST_F(CaptureTest, EndsOnce) {
  auto scope = CaptureScope<FakeApi>::begin(*stream_);
  ASSERT_TRUE(scope.ok());
  ASSERT_TRUE(scope->finish().ok());
  EXPECT_EQ(scope->finish().error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(fake().count("capture_end@1"), 1U);
}

TEST_F(CaptureTest, AfterAFaultItMakesNoCalls) {
  {
    auto scope = CaptureScope<FakeApi>::begin(*stream_);
    ASSERT_TRUE(scope.ok());
    break_device();
  }
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(CaptureTest, OnlyStreamsOfOurOwnCapture) {
  const auto borrowed = *device().borrow(stream_->handle());
  for (Stream* one : {borrowed.get(), &device().thread_stream()}) {
    EXPECT_EQ(CaptureScope<FakeApi>::begin(static_cast<GpuStream<FakeApi>&>(*one)).error().code(),
              ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(fake().count("capture_begin@1"), 0U);
}

}  // namespace
}  // namespace tandem::device::gpu
