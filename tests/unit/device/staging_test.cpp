#include "unit/device/fake_test.h"

#include <cstdint>
#include <numeric>

namespace tandem::device::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kPiece = Staging<FakeApi>::kPieceBytes;
constexpr std::size_t kRing = Staging<FakeApi>::kAtOnce * kPiece;
constexpr std::size_t kMany = Staging<FakeApi>::kMany;

std::vector<std::uint32_t> numbers(std::size_t bytes, std::uint32_t first) {
  std::vector<std::uint32_t> made(bytes / sizeof(std::uint32_t));
  std::iota(made.begin(), made.end(), first);
  return made;
}

class StagingTest : public FakeTest {
 protected:
  std::unique_ptr<GpuStream<FakeApi>> stream_ = make_stream();
  void TearDown() override { stream_.reset(); }
};

TEST_F(StagingTest, TheSourceHasBeenReadWhenAnUploadReturns) {
  std::vector<std::uint32_t> from = numbers(64, 1);
  const std::vector<std::uint32_t> sent = from;
  std::vector<std::uint32_t> to(from.size());
  ASSERT_TRUE(stream_->upload(to.data(), from.data(), 64).ok());
  std::ranges::fill(from, 0U);
  EXPECT_NE(to, sent) << "nothing has run yet";
  ASSERT_TRUE(stream_->synchronize().ok());
  EXPECT_EQ(to, sent);
}

TEST_F(StagingTest, AFewPiecesWaitForNothing) {
  const std::vector<std::uint32_t> from = numbers(kRing, 1);
  std::vector<std::uint32_t> to(from.size());
  ASSERT_TRUE(stream_->upload(to.data(), from.data(), kRing).ok());
  EXPECT_EQ(fake().count("event_synchronize@1"), 0U);
  EXPECT_EQ(fake().count("stream_synchronize@1"), 0U);
  ASSERT_TRUE(stream_->synchronize().ok());
}

TEST_F(StagingTest, PiecesAreNotWrittenBeforeTheirLastCopyIsDone) {
  // Three times round, and the driver copies as late as it can.
  const std::vector<std::uint32_t> first = numbers(3 * kRing + 20, 1);
  const std::vector<std::uint32_t> second = numbers(kPiece, 7);
  std::vector<std::uint32_t> to_first(first.size());
  std::vector<std::uint32_t> to_second(second.size());
  const auto other = make_stream();
  ASSERT_TRUE(stream_->upload(to_first.data(), first.data(), first.size() * 4).ok());
  ASSERT_TRUE(other->upload(to_second.data(), second.data(), second.size() * 4).ok());
  ASSERT_TRUE(stream_->synchronize().ok());
  ASSERT_TRUE(other->synchronize().ok());
  EXPECT_EQ(to_first, first);
  EXPECT_EQ(to_second, second);
}

TEST_F(StagingTest, DownloadsAreThereWhenTheyReturn) {
  const std::vector<std::uint32_t> sent = numbers(2 * kRing + 8, 3);
  std::vector<std::uint32_t> on_device(sent.size());
  std::vector<std::uint32_t> received(sent.size());
  const std::size_t bytes = sent.size() * 4;
  ASSERT_TRUE(stream_->upload(on_device.data(), sent.data(), bytes).ok());
  ASSERT_TRUE(stream_->download(received.data(), on_device.data(), bytes).ok());
  EXPECT_EQ(received, sent);
}

TEST_F(StagingTest, MemoryIsMadeOnceAndGivenBack) {
  std::byte bytes[4] = {};
  calls();
  ASSERT_TRUE(stream_->upload(bytes, bytes, 4).ok());
  EXPECT_THAT(calls(), ElementsAre("allocate_pinned@1", "event_create@1", "copy@1", "event_record@1"));
  ASSERT_TRUE(stream_->synchronize().ok());
  calls();
  ASSERT_TRUE(stream_->upload(bytes, bytes, 4).ok());
  EXPECT_THAT(calls(), ElementsAre("event_query@1", "copy@1", "event_record@1"));
  stream_.reset();
  device_.reset();
  EXPECT_TRUE(fake().memory.empty());
  EXPECT_TRUE(fake().events.empty());
}

TEST_F(StagingTest, ABusyStreamKeepsNobodyWaiting) {
  std::byte busy[4] = {};
  std::byte bytes[4] = {};
  const auto other = make_stream();
  for (std::size_t i = 0; i + 1 < kMany; ++i) ASSERT_TRUE(stream_->upload(busy, busy, 4).ok());
  ASSERT_TRUE(other->upload(bytes, bytes, 4).ok());
  EXPECT_EQ(fake().count("event_synchronize@1"), 0U);
  EXPECT_EQ(fake().count("allocate_pinned@1"), kMany);
  ASSERT_TRUE(other->synchronize().ok());
  ASSERT_TRUE(other->upload(bytes, bytes, 4).ok()) << "its own piece again";
  EXPECT_EQ(fake().count("event_synchronize@1"), 0U);
  EXPECT_EQ(fake().count("allocate_pinned@1"), kMany);
  ASSERT_TRUE(other->synchronize().ok());
  ASSERT_TRUE(stream_->synchronize().ok());
}

TEST_F(StagingTest, WithManyInUseTheOldestIsWaitedFor) {
  std::vector<std::uint32_t> from = numbers(4 * (kMany + 3), 1);
  const std::vector<std::uint32_t> sent = from;
  std::vector<std::uint32_t> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_TRUE(stream_->upload(&to[i], &from[i], 4).ok());
    from[i] = 0;
  }
  EXPECT_EQ(fake().count("allocate_pinned@1"), kMany);
  ASSERT_TRUE(stream_->synchronize().ok());
  EXPECT_EQ(to, sent);
}

TEST_F(StagingTest, APieceThatCannotBeMadeLeavesNothingAndIsTriedAgain) {
  std::byte bytes[4] = {};
  fake().fail("allocate_pinned", FakeCode::OutOfMemory);
  EXPECT_EQ(stream_->upload(bytes, bytes, 4).error().code(), ErrorCode::OutOfMemory);
  fake().fail("event_create", FakeCode::OutOfMemory);
  EXPECT_EQ(stream_->upload(bytes, bytes, 4).error().code(), ErrorCode::OutOfMemory);
  EXPECT_TRUE(fake().memory.empty());
  EXPECT_TRUE(fake().events.empty());
  EXPECT_TRUE(stream_->upload(bytes, bytes, 4).ok());
  EXPECT_TRUE(stream_->synchronize().ok());
}

TEST_F(StagingTest, ACopyWithoutAFenceIsWaitedFor) {
  std::vector<std::uint32_t> from = numbers(64, 1);
  std::vector<std::uint32_t> to(from.size());
  fake().fail("event_record", FakeCode::BadHandle);
  EXPECT_EQ(stream_->upload(to.data(), from.data(), 64).error().native().code, 400);
  EXPECT_EQ(to, from);
}

TEST_F(StagingTest, AFailedCopyComesOut) {
  std::byte bytes[4] = {};
  fake().fail("copy", FakeCode::BadHandle);
  EXPECT_EQ(stream_->upload(bytes, bytes, 4).error().native().code, 400);
  fake().fail("event_synchronize", FakeCode::Fault);
  EXPECT_EQ(stream_->download(bytes, bytes, 4).error().code(), ErrorCode::DeviceFault);
  stream_.reset();
  device_.reset();
  for (const auto& [data, owner] : std::exchange(fake().memory, {})) std::free(data);
}

TEST_F(StagingTest, IsRefusedWhileTheStreamCaptures) {
  std::byte bytes[4] = {};
  fake().streams[stream_->handle()].capture = CaptureStatus::Active;
  calls();
  EXPECT_EQ(stream_->upload(bytes, bytes, 4).error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(stream_->download(bytes, bytes, 4).error().code(), ErrorCode::InvalidState);
  EXPECT_THAT(calls(), IsEmpty());
}

}  // namespace
}  // namespace tandem::device::gpu
