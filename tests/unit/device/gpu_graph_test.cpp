#include "device/graph_owners.h"
#include "unit/device/fake_test.h"

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GpuGraphTest : public FakeTest {
 protected:
  ~GpuGraphTest() override {
    EXPECT_THAT(fake().graphs, IsEmpty());
    EXPECT_THAT(fake().execs, IsEmpty());
  }
  std::unique_ptr<GraphBuilder> builder() {
    auto made = device().make_graph();
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  std::unique_ptr<device::Graph> graph_of(int kernels) {
    const auto making = builder();
    for (int i = 0; i < kernels; ++i) EXPECT_TRUE(making->kernel({}).ok());
    const auto stream = make_stream();
    auto made = making->finish(*stream);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
};

TEST_F(GpuGraphTest, PiecesFollowEachOtherAndAreLaunchedAsOne) {
  const auto stream = make_stream();
  calls();
  {
    const auto making = builder();
    int memory = 0;
    ASSERT_TRUE(making->kernel({}).ok());
    ASSERT_TRUE(making->copy(&memory, &memory, sizeof memory).ok());
    ASSERT_TRUE(making->copy(&memory, &memory, 0).ok());  // no node
    ASSERT_TRUE(making->kernel({}).ok());
    const auto graph = making->finish(*stream);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ((*graph)->node_count(), 3U);
    ASSERT_TRUE((*graph)->launch(*stream).ok());
    ASSERT_TRUE((*graph)->launch(*stream).ok());
  }
  EXPECT_THAT(calls(), ElementsAre("graph_create@1", "graph_add_kernel@1", "graph_add_copy@1", "graph_add_kernel@1",
                                   "graph_instantiate@1", "graph_upload@1", "graph_destroy@1", "graph_launch@1",
                                   "graph_launch@1", "graph_exec_destroy@1"));
}

TEST_F(GpuGraphTest, PartsFollowThoseThatTheyName) {
  const auto making = builder();
  std::array<std::byte, 8> memory{};
  const auto part = [&making](std::vector<std::uint32_t> after, int kernels) {
    making->begin_part(after);
    for (int i = 0; i < kernels; ++i) ASSERT_TRUE(making->kernel({}).ok());
  };
  part({}, 2);      // 0: nodes 1, 2
  part({0}, 1);     // 1: node 3
  part({0}, 0);     // 2: nothing
  part({2}, 2);     // 3: nodes 4, 5
  part({1, 3}, 0);  // 4: nothing
  making->begin_part(std::array{4U});
  ASSERT_TRUE(making->capture([&memory](Stream& capturing) { return capturing.fill(memory.data(), {}, 8); }).ok());
  const auto found = making->edges();
  ASSERT_TRUE(found.ok());
  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_THAT(found->edges, ::testing::UnorderedElementsAre(Edge{0, 1}, Edge{0, 3}, Edge{1, 5}, Edge{3, 5}));
  EXPECT_EQ(found->is_empty, (std::vector<bool>{false, false, true, false, true, false}));
  EXPECT_EQ(found->is_chain, std::vector<bool>(6, true));
  fake().edges.begin()->second.pop_back();  // a driver that lost one
  EXPECT_EQ(making->edges()->edges.size(), 3U);
  fake().fail("graph_edges", FakeCode::BadHandle);
  EXPECT_EQ(making->edges().error().message(), "a graph does not tell its edges");
}

TEST_F(GpuGraphTest, CapturedPiecesAreMembers) {
  const auto stream = make_stream();
  const auto making = builder();
  ASSERT_TRUE(making->kernel({}).ok());
  calls();
  std::array<std::byte, 8> memory{};
  const auto enqueue = [&memory](Stream& capturing) -> Status {
    TANDEM_CHECK_OK(capturing.fill(memory.data(), std::byte{1}, 8));
    return capturing.fill(memory.data(), std::byte{2}, 8);
  };
  ASSERT_TRUE(making->capture(enqueue).ok());
  EXPECT_THAT(calls(), ElementsAre("stream_create@1", "capture_begin@1", "fill@1", "fill@1", "capture_end@1",
                                   "graph_add_child@1", "graph_destroy@1"));
  EXPECT_EQ(memory[0], std::byte{0}) << "nothing ran";
  ASSERT_TRUE(making->capture([](Stream&) { return Status{}; }).ok());  // no piece
  ASSERT_TRUE(making->capture(enqueue).ok());
  const auto graph = making->finish(*stream);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->node_count(), 5U);
}

TEST_F(GpuGraphTest, AFailedCaptureChangesNothingAndEnds) {
  const auto stream = make_stream();
  const auto making = builder();
  const Status refused = making->capture([](Stream& capturing) -> Status {
    ignore(capturing.fill(nullptr, std::byte{0}, 1), "half of it");
    return Error{ErrorCode::BackendFailed, "no"};
  });
  EXPECT_EQ(refused.error().message(), "no");
  fake().fail("capture_end", FakeCode::CaptureBroken);
  EXPECT_EQ(making->capture([](Stream&) { return Status{}; }).error().code(), ErrorCode::InvalidState);
  fake().fail("capture_begin", FakeCode::OutOfMemory);
  EXPECT_EQ(making->capture([](Stream&) { return Status{}; }).error().code(), ErrorCode::OutOfMemory);
  for (const auto& [handle, state] : fake().streams) EXPECT_EQ(state.capture, CaptureStatus::None) << handle;
  ASSERT_TRUE(making->kernel({}).ok());
  const auto graph = making->finish(*stream);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->node_count(), 1U);
}

TEST_F(GpuGraphTest, OneThatIsNeverFinishedIsDestroyed) {
  {
    const auto making = builder();
    ASSERT_TRUE(making->kernel({}).ok());
  }
  EXPECT_EQ(fake().count("graph_destroy@1"), 1U);
}

TEST_F(GpuGraphTest, KeepsWhatItUsesAsLongAsItLives) {
  const auto memory = std::make_shared<int>(1);
  const auto making = builder();
  making->keep(memory);
  const auto stream = make_stream();
  auto graph = making->finish(*stream);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(memory.use_count(), 2);
  graph->reset();
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(GpuGraphTest, FailuresHaveNamesAndLeaveNothing) {
  fake().fail("graph_create", FakeCode::OutOfMemory);
  EXPECT_EQ(device().make_graph().error().code(), ErrorCode::OutOfMemory);
  const auto stream = make_stream();
  {
    const auto making = builder();
    fake().fail("graph_add_kernel", FakeCode::BadHandle);
    const Status refused = making->kernel({});
    EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(refused.error().message(), "a kernel cannot be recorded");
    ASSERT_TRUE(making->kernel({}).ok());  // the failure left no node
    fake().fail("graph_instantiate", FakeCode::OutOfMemory);
    EXPECT_EQ(making->finish(*stream).error().code(), ErrorCode::OutOfMemory);
  }
  {
    const auto making = builder();
    fake().fail("graph_upload", FakeCode::OutOfMemory);
    EXPECT_EQ(making->finish(*stream).error().code(), ErrorCode::OutOfMemory);
  }
  const auto graph = graph_of(1);
  fake().fail("graph_launch", FakeCode::Fault);
  EXPECT_EQ(graph->launch(*stream).error().code(), ErrorCode::DeviceFault);
  EXPECT_EQ(graph->launch(*stream).error().code(), ErrorCode::DeviceFault) << "remembered";
  fake().execs.clear();  // the driver took it along
}

TEST_F(GpuGraphTest, JoinsACaptureOfTheCallersAndIsKeptByIt) {
  const auto stream = make_stream();
  auto owner = std::make_shared<int>(1);
  const auto kept = std::make_shared<int>(2);
  {
    const auto making = builder();
    ASSERT_TRUE(making->kernel({}).ok());
    ASSERT_TRUE(making->kernel({}).ok());
    making->keep(kept);
    EXPECT_EQ(making->add_to_capture(*stream, owner).error().code(), ErrorCode::InvalidState) << "it does not capture";
    sweep_kept();
    EXPECT_EQ(owner.use_count(), 1);
  }
  ASSERT_EQ(FakeApi::capture_begin(stream->handle(), CaptureMode::Relaxed), FakeCode::Ok);
  {
    const auto making = builder();
    ASSERT_TRUE(making->kernel({}).ok());
    making->keep(kept);
    fake().fail("capture_keep", FakeCode::OutOfMemory);
    EXPECT_EQ(making->add_to_capture(*stream, owner).error().code(), ErrorCode::OutOfMemory);
    sweep_kept();
    EXPECT_EQ(owner.use_count(), 1);
    GpuDevice<FakeApi> other{0};
    EXPECT_EQ(making->add_to_capture(**other.make_stream(), owner).error().code(), ErrorCode::InvalidArgument);
  }
  {
    const auto making = builder();
    ASSERT_TRUE(making->kernel({}).ok());
    making->keep(kept);
    ASSERT_TRUE(making->add_to_capture(*stream, owner).ok());
  }
  EXPECT_EQ(fake().streams[stream->handle()].captured, 1U);
  sweep_kept();
  EXPECT_EQ(owner.use_count(), 2) << "the caller's graph lives";
  EXPECT_EQ(kept.use_count(), 2);
  ASSERT_EQ(fake().kept.size(), 1U);
  fake().kept.front().first(fake().kept.front().second);
  EXPECT_EQ(owner.use_count(), 2) << "not in the driver's callback";
  sweep_kept();
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(kept.use_count(), 1);
  std::uint32_t graph = 0;
  static_cast<void>(FakeApi::capture_end(stream->handle(), &graph));
  static_cast<void>(FakeApi::graph_destroy(graph));
}

TEST_F(GpuGraphTest, StreamOfAnotherDeviceIsRefused) {
  const auto graph = graph_of(1);
  GpuDevice<FakeApi> other{0};
  const auto stream = other.make_stream();
  const Status refused = graph->launch(**stream);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().expected(), "cuda:1");
  EXPECT_EQ(refused.error().found(), "cuda:0");
}

TEST_F(GpuGraphTest, MakingOneDoesNotMindACaptureInGlobalMode) {
  fake().modes.clear();
  graph_of(2);
  for (const CaptureMode mode : fake().modes) EXPECT_EQ(mode, CaptureMode::Relaxed);
}

TEST_F(GpuGraphTest, VendorsWithoutGraphsSaySo) {
  GpuDevice<PlainFakeApi> plain{0};
  EXPECT_EQ(plain.make_graph().error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::device::gpu
