#include "runtime/order/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Applies actions to one buffer and tells which pairs of labels have no order.
class HistoryTest : public ::testing::Test {
 protected:
  using Kind = Action::Kind;
  static constexpr auto kRead = AccessMode::Read;
  static constexpr auto kWrite = AccessMode::Write;
  static constexpr auto kUpdate = AccessMode::Update;
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  void touch(Kind kind, std::uint32_t stream, std::uint32_t label, std::vector<ByteAccess> accesses) {
    check.apply({.kind = kind, .stream = stream, .label = label, .accesses = accesses});
  }
  void submit(std::uint32_t stream, std::uint32_t label, AccessMode mode, std::uint64_t begin = 0,
              std::uint64_t end = 8) {
    touch(Kind::Submit, stream, label, {{.begin = begin, .end = end, .mode = mode}});
  }
  void host(std::uint32_t label, AccessMode mode) {
    touch(Kind::HostStep, 0, label, {{.begin = 0, .end = 8, .mode = mode}});
  }
  void record(std::uint32_t stream, std::uint32_t event) {
    check.apply({.kind = Kind::Record, .stream = stream, .event = event});
  }
  void wait(std::uint32_t stream, std::uint32_t event) {
    check.apply({.kind = Kind::Wait, .stream = stream, .event = event});
  }
  std::vector<Pair> pairs() const {
    std::vector<Pair> pairs;
    for (const Unordered& found : check.conflicts()) pairs.emplace_back(found.first, found.second);
    return pairs;
  }

  HistoryCheck check;
};

TEST_F(HistoryTest, AStreamOrdersItself) {
  submit(1, 0, kWrite);
  submit(1, 1, kUpdate);
  submit(1, 2, kRead);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, StreamsDoNotOrderEachOther) {
  submit(1, 10, kWrite);
  submit(2, 11, kRead);
  submit(3, 12, kWrite);
  EXPECT_THAT(pairs(), ElementsAre(Pair(10, 11), Pair(10, 12), Pair(11, 12)));
}

TEST_F(HistoryTest, ReadsDoNotConflict) {
  submit(1, 0, kRead);
  submit(2, 1, kRead);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, AnUpdateReadsAndWrites) {
  submit(1, 0, kRead);
  submit(2, 1, kUpdate);
  submit(3, 2, kUpdate);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST_F(HistoryTest, AWaitOrdersWhatFollowsAfterWhatWasRecorded) {
  submit(1, 0, kWrite, 0, 8);
  record(1, 0);
  submit(1, 1, kWrite, 8, 16);  // after the record
  wait(2, 0);
  submit(2, 2, kRead, 0, 8);
  submit(2, 3, kRead, 8, 16);
  EXPECT_THAT(pairs(), ElementsAre(Pair(1, 3)));
}

TEST_F(HistoryTest, AWaitDoesNotOrderWhatItsStreamDidBefore) {
  submit(1, 0, kWrite);
  record(1, 0);
  submit(2, 1, kRead);
  wait(2, 0);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1)));
}

TEST_F(HistoryTest, WaitingForAnEventThatWasNeverRecordedOrdersNothing) {
  submit(1, 0, kWrite);
  wait(2, 0);
  record(1, 0);  // too late
  submit(2, 1, kRead);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1)));
}

TEST_F(HistoryTest, AWaitTakesTheLatestRecord) {
  submit(1, 0, kWrite);
  record(1, 0);
  record(3, 0);  // takes the event away
  wait(2, 0);
  submit(2, 1, kRead);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1)));
}

TEST_F(HistoryTest, RecordingAgainLeavesEarlierWaitsAlone) {
  submit(1, 0, kWrite);
  record(1, 0);
  wait(2, 0);
  record(3, 0);
  submit(2, 1, kRead);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, OrderPassesThroughStreams) {
  submit(1, 0, kWrite);
  record(1, 0);
  wait(2, 0);
  record(2, 1);
  wait(3, 1);
  submit(3, 1, kWrite);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, AHostStepIsOverBeforeWhatIsSubmittedLater) {
  host(0, kWrite);
  submit(1, 1, kRead);
  submit(2, 2, kRead);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, AHostStepDoesNotWaitForStreams) {
  submit(1, 0, kWrite);
  host(1, kRead);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1)));
}

TEST_F(HistoryTest, AHostWaitForAnEventOrdersEverythingSubmittedLater) {
  submit(1, 0, kWrite);
  record(1, 7);
  submit(1, 1, kRead);
  check.apply({.kind = Kind::HostWaitEvent, .event = 7});
  submit(2, 2, kRead);
  host(3, kWrite);  // the read of step 1 was not waited for
  EXPECT_THAT(pairs(), ElementsAre(Pair(1, 3), Pair(2, 3)));
}

TEST_F(HistoryTest, AHostWaitForAnEventThatWasNeverRecordedOrdersNothing) {
  submit(1, 0, kWrite);
  check.apply({.kind = Kind::HostWaitEvent, .event = 7});
  host(1, kRead);
  EXPECT_THAT(pairs(), ElementsAre(Pair(0, 1)));
}

TEST_F(HistoryTest, AHostWaitForAStreamCoversWhatThatStreamWaitedFor) {
  submit(1, 0, kWrite, 0, 8);
  record(1, 0);
  wait(2, 0);
  submit(3, 1, kWrite, 8, 16);
  check.apply({.kind = Kind::HostWaitStream, .stream = 2});
  submit(4, 2, kRead, 0, 8);
  submit(4, 3, kRead, 8, 16);
  EXPECT_THAT(pairs(), ElementsAre(Pair(1, 3)));
}

TEST_F(HistoryTest, AJoinCoversAllStreamsAndNothingLater) {
  submit(1, 0, kWrite, 0, 8);
  submit(2, 1, kWrite, 8, 16);
  check.apply({.kind = Kind::Join});
  submit(3, 2, kUpdate, 0, 16);
  submit(4, 3, kRead, 0, 4);
  EXPECT_THAT(pairs(), ElementsAre(Pair(2, 3)));
}

TEST_F(HistoryTest, OnlyBytesThatMeetConflict) {
  submit(1, 0, kWrite, 0, 8);
  submit(2, 1, kWrite, 8, 16);
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, BuffersAreSeparate) {
  touch(Kind::Submit, 1, 0, {{.buffer = std::uint64_t{1} << 40, .begin = 0, .end = 8, .mode = kWrite}});
  touch(Kind::Submit, 2, 1, {{.buffer = 0, .begin = 0, .end = 8, .mode = kWrite}});
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, EmptyAndUndeclaredAccessesTouchNothing) {
  submit(1, 0, kWrite);
  touch(Kind::Submit, 2, 1, {{.begin = 4, .end = 4, .mode = kWrite}, {.begin = 0, .end = 8, .mode = AccessMode::None}});
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, OneActionDoesNotConflictWithItself) {
  touch(Kind::Submit, 1, 0, {{.begin = 0, .end = 8, .mode = kRead}, {.begin = 0, .end = 8, .mode = kWrite}});
  EXPECT_THAT(pairs(), IsEmpty());
}

TEST_F(HistoryTest, AConflictNamesAccessesAndBytes) {
  constexpr std::uint64_t kBuffer = 5;
  touch(Kind::Submit, 1, 30,
        {{.buffer = 4, .begin = 0, .end = 64, .mode = kRead},
         {.buffer = kBuffer, .begin = 0, .end = 64, .mode = kWrite}});
  touch(Kind::Submit, 1, 31, {{.buffer = kBuffer, .begin = 0, .end = 16, .mode = kWrite}});
  touch(Kind::Submit, 1, 32, {{.buffer = kBuffer, .begin = 40, .end = 44, .mode = kRead}});  // cuts, and takes nothing
  touch(
      Kind::Submit, 2, 33,
      {{.buffer = 6, .begin = 0, .end = 64, .mode = kRead}, {.buffer = kBuffer, .begin = 8, .end = 48, .mode = kRead}});
  ASSERT_EQ(check.conflicts().size(), 2U);
  const Unordered& wide = check.conflicts()[0];
  EXPECT_EQ(wide.first, 30U);
  EXPECT_EQ(wide.second, 33U);
  EXPECT_EQ(wide.first_access, 1U);
  EXPECT_EQ(wide.second_access, 1U);
  EXPECT_EQ(wide.buffer, kBuffer);
  EXPECT_EQ(wide.begin, 16U);
  EXPECT_EQ(wide.end, 48U);
  const Unordered& narrow = check.conflicts()[1];
  EXPECT_EQ(narrow.first, 31U);
  EXPECT_EQ(narrow.begin, 8U);
  EXPECT_EQ(narrow.end, 16U);
}

TEST_F(HistoryTest, AWriteMeetsOneReadPerStream) {
  for (std::uint32_t i = 0; i < 100; ++i) submit(1 + i % 5, i, kRead);
  submit(0, 100, kWrite);
  EXPECT_THAT(pairs(), ElementsAre(Pair(95, 100), Pair(96, 100), Pair(97, 100), Pair(98, 100), Pair(99, 100)));
}

TEST_F(HistoryTest, TellsWhatComesBeforeAnObserver) {
  submit(1, 0, kRead);
  const HappensBefore::Point point = check.last();
  EXPECT_TRUE(check.before(point, 1));
  EXPECT_FALSE(check.before(point, 2));
  EXPECT_FALSE(check.before(point, kHostStream));
  record(1, 0);
  wait(2, 0);
  EXPECT_TRUE(check.before(point, 2));
  EXPECT_FALSE(check.before(point, kHostStream));
  check.apply({.kind = Kind::HostWaitEvent, .event = 0});
  EXPECT_TRUE(check.before(point, kHostStream));
}

}  // namespace
}  // namespace tandem::runtime
