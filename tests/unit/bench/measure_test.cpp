#include "bench/suite/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace tandem::suite {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Bytes bytes_of(const std::vector<float>& floats) {
  Bytes bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

/// Ways that take as long as they are told, by a clock that only they move.
class MeasureTest : public ::testing::Test {
 protected:
  Way way(const std::string& name, Clock::duration enqueue, Clock::duration wait, std::string against = {}) {
    Way made;
    made.name = name;
    made.enqueue = [this, name, enqueue]() -> Status {
      order += name;
      time += enqueue;
      return {};
    };
    made.wait = [this, wait]() -> Status {
      time += wait;
      return {};
    };
    made.result = [] { return Result<Bytes>{bytes_of({1, 2})}; };
    made.against = std::move(against);
    return made;
  }
  Measurement run(const Case& work) {
    return measure(work, [this] { return time; });
  }
  const Line& line(const Measurement& measured, const std::string& name) {
    for (const Line& one : measured.lines) {
      if (one.way == name) return one;
    }
    ADD_FAILURE() << "no way " << name;
    return measured.lines.front();
  }

  Clock::time_point time{};
  std::string order{};
};

TEST_F(MeasureTest, TimesAreOfTheCallAndOfTheHostsPart) {
  const Measurement measured = run({.ways = {way("a", 3us, 7us)}, .rounds = 20, .warmup = 1});
  EXPECT_TRUE(measured.is_good());
  EXPECT_DOUBLE_EQ(measured.lines[0].time.median, 10);
  EXPECT_DOUBLE_EQ(measured.lines[0].p99, 10);
  ASSERT_TRUE(measured.lines[0].host);
  EXPECT_DOUBLE_EQ(measured.lines[0].host->median, 3);
}

TEST_F(MeasureTest, AWayThatWaitsByItselfHasNoHostTime) {
  Way whole = way("a", 10us, 0us);
  whole.wait = {};
  const Measurement measured = run({.ways = {whole}, .rounds = 5});
  EXPECT_FALSE(measured.lines[0].host);
  EXPECT_DOUBLE_EQ(measured.lines[0].time.median, 10);
}

TEST_F(MeasureTest, SamplesOfManyCallsAreDivided) {
  Way many = way("a", 40us, 0us);
  many.calls = 4;
  const Measurement measured = run({.ways = {many}, .rounds = 5, .repeats = 10});
  EXPECT_DOUBLE_EQ(measured.lines[0].time.median, 10);
  EXPECT_DOUBLE_EQ(measured.lines[0].host->median, 10);
}

TEST_F(MeasureTest, EveryRoundHasEveryWayOnceInAnotherOrder) {
  run({.ways = {way("a", 1us, 1us), way("b", 1us, 1us), way("c", 1us, 1us)}, .rounds = 60, .warmup = 0});
  std::map<std::string, int> pairs;  // who was before whom
  for (std::size_t i = 0; i < order.size(); i += 3) {
    std::string round = order.substr(i, 3);
    ++pairs[round.substr(0, 2)];
    std::ranges::sort(round);
    EXPECT_EQ(round, "abc");
  }
  EXPECT_EQ(order.size(), 180U);
  EXPECT_EQ(pairs.size(), 6U) << "everyone comes after everyone";
}

TEST_F(MeasureTest, RatiosAreOfTheSameBlocks) {
  // The machine becomes slower all the time; one way is twice the other all the same.
  Clock::duration slow = 1us;
  Way base = way("base", 0us, 0us);
  base.wait = [&]() -> Status {
    time += slow;
    return {};
  };
  Way mine = way("mine", 0us, 0us, "base");
  mine.wait = [&]() -> Status {
    time += 2 * slow;
    return {};
  };
  // Between rounds, so that both ways of a round have the same machine.
  base.before = [&, n = 0]() mutable -> Status {
    if (++n % 10 == 0) slow *= 2;
    return {};
  };
  const Measurement measured = run({.ways = {base, mine}, .rounds = 100, .warmup = 0});
  const Line& found = line(measured, "mine");
  ASSERT_TRUE(found.ratio);
  EXPECT_NEAR(found.ratio->ratio.median, 2, 1e-9);
  EXPECT_GT(found.time.highest / found.time.lowest, 100);
}

TEST_F(MeasureTest, BeforeAndAfterAreNotTimed) {
  Way with = way("a", 1us, 1us);
  with.before = with.after = [this]() -> Status {
    time += 1000us;
    return {};
  };
  EXPECT_DOUBLE_EQ(run({.ways = {with}, .rounds = 5}).lines[0].time.median, 2);
}

TEST_F(MeasureTest, AWrongResultVoidsTheRowAndRatiosToIt) {
  Way wrong = way("wrong", 1us, 1us);
  wrong.result = [] { return Result<Bytes>{bytes_of({1, 3})}; };
  const Measurement measured =
      run({.ways = {wrong, way("right", 1us, 1us, "wrong")}, .rounds = 5, .expected = {1, 2}, .tolerance = 1e-3});
  EXPECT_FALSE(measured.is_good());
  EXPECT_THAT(line(measured, "wrong").fault, HasSubstr("element 1 is 3 and should be 2"));
  EXPECT_FALSE(line(measured, "wrong").is_met);
  EXPECT_EQ(line(measured, "right").fault, "");
  EXPECT_FALSE(line(measured, "right").ratio);
}

TEST_F(MeasureTest, OtherBitsAreWrongThoughWithinTheTolerance) {
  Way other = way("other", 1us, 1us);
  other.result = [] { return Result<Bytes>{bytes_of({1, std::nextafter(2.0F, 3.0F)})}; };
  const Measurement measured =
      run({.ways = {way("first", 1us, 1us), other}, .rounds = 5, .expected = {1, 2}, .tolerance = 1e-3});
  EXPECT_THAT(line(measured, "other").fault, HasSubstr("not the bits of first"));
}

TEST_F(MeasureTest, AResultThatBecomesWrongIsFound) {
  Way changing = way("a", 1us, 1us);
  changing.result = [calls = 0]() mutable { return Result<Bytes>{bytes_of({1, ++calls < 5 ? 2.0F : 9.0F})}; };
  const Measurement measured = run({.ways = {changing}, .rounds = 100, .expected = {1, 2}});
  EXPECT_THAT(measured.lines[0].fault, HasSubstr("in a later round"));
}

TEST_F(MeasureTest, NaNAndMissingOutputAreWrong) {
  Way nan = way("nan", 1us, 1us);
  nan.result = [] { return Result<Bytes>{bytes_of({1, std::numeric_limits<float>::quiet_NaN()})}; };
  Way shorter = way("short", 1us, 1us);
  shorter.result = [] { return Result<Bytes>{bytes_of({1})}; };
  const Measurement measured = run({.ways = {nan, shorter}, .rounds = 5, .expected = {1, 2}, .tolerance = 1});
  EXPECT_THAT(line(measured, "nan").fault, HasSubstr("element 1 is nan"));
  EXPECT_THAT(line(measured, "short").fault, HasSubstr("4 bytes of output where 2 floats are expected"));
}

TEST_F(MeasureTest, AWayThatFailsIsVoidAndTheOthersGoOn) {
  Way failing = way("failing", 1us, 1us);
  failing.enqueue = []() -> Status { return Error{ErrorCode::BackendFailed, "no power"}; };
  const Measurement measured = run({.ways = {failing, way("b", 1us, 1us)}, .rounds = 5});
  EXPECT_THAT(line(measured, "failing").fault, HasSubstr("no power"));
  EXPECT_DOUBLE_EQ(line(measured, "b").time.median, 2);
}

TEST_F(MeasureTest, GoalsAreHeldAgainstTheNumbers) {
  Way good = way("good", 1us, 9us, "base");
  good.goal = {.ratio = 1.03};
  Way slow = way("slow", 1us, 10us, "base");
  slow.goal = {.ratio = 1.03, .extra = 0.5};
  const Measurement measured = run({.ways = {way("base", 1us, 9us), good, slow}, .rounds = 5});
  EXPECT_TRUE(line(measured, "good").is_met);
  EXPECT_FALSE(line(measured, "slow").is_met);
  EXPECT_TRUE(measured.is_good()) << "a missed goal is no fault";
}

}  // namespace
}  // namespace tandem::suite
