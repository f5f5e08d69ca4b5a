#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem {
namespace {

using testing::floats;
using testing::FunctionBackend;
using testing::MethodBuilder;
using testing::TestRun;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  }
  const runtime::BufferPlan& buffer_of(const runtime::Schedule& schedule, std::int32_t value) {
    return schedule.buffers[schedule.values[static_cast<std::size_t>(value)].place.buffer];
  }

  MethodBuilder b;
};

TEST_F(MemoryTest, UnplannedValuesShareBytesOverTime) {
  auto from = b.tensor({16});
  const auto first = from;
  b.inputs({from});
  for (int i = 0; i < 8; ++i) {
    const auto to = b.tensor({16});
    b.delegate("F", {from, to});
    from = to;
  }
  b.outputs({from});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  const auto& arena = buffer_of(run.schedule(), first + 1);
  EXPECT_EQ(arena.kind, runtime::BufferPlan::Kind::Arena);
  EXPECT_EQ(arena.bytes, 128U);  // two values of 64 bytes in turn
  EXPECT_EQ(run.floats({floats({16}, std::vector<float>(16, 1))}), std::vector<float>(16, 9));
}

TEST_F(MemoryTest, UnplannedValuesDoNotShareWhereTheProgramJumps) {
  const auto x = b.tensor({16});
  const auto a = b.tensor({16});
  const auto c = b.tensor({16});
  const auto d = b.tensor({16});
  const auto done = b.flag(true);
  b.inputs({x}).outputs({d}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d}).jump_if_false(done, 0);
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_NE(run.schedule().values[static_cast<std::size_t>(a)].place.offset,
            run.schedule().values[static_cast<std::size_t>(c)].place.offset);
  EXPECT_EQ(run.floats({floats({16}, std::vector<float>(16, 1))}), std::vector<float>(16, 4));
}

TEST_F(MemoryTest, InputsAndOutputsLiveOutsideTheArena) {
  const auto x = b.tensor({4}, 0);
  const auto y = b.tensor({4}, 64);
  b.inputs({x}).outputs({y}).delegate("F", {x, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(buffer_of(**lowered, x).kind, runtime::BufferPlan::Kind::Input);
  EXPECT_EQ(buffer_of(**lowered, y).kind, runtime::BufferPlan::Kind::Output);
  for (const runtime::BufferPlan& buffer : (*lowered)->buffers) {
    EXPECT_NE(buffer.kind, runtime::BufferPlan::Kind::Arena);
  }
}

TEST_F(MemoryTest, ArenaIsAsLargeAsItsValuesNotAsTheFileSays) {
  b.method().arenas[1].bytes = std::uint64_t{1} << 60;
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(buffer_of(**lowered, a).bytes, 80U);
}

TEST_F(MemoryTest, APlanWithALargeHoleIsMadeAnew) {
  constexpr std::int64_t kFar = std::int64_t{3} << 20;
  b.method().arenas[1].bytes = std::uint64_t{1} << 30;
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, kFar);
  const auto c = b.tensor({4}, kFar + 16);
  const auto unused = b.tensor({4}, 2 * kFar);
  const auto y = b.tensor({4}, 0);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, y});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  const auto& arena = buffer_of(run.schedule(), a);
  EXPECT_EQ(arena.memory_id, 0U);
  EXPECT_EQ(arena.bytes, 64U + 16U);
  EXPECT_EQ(&arena, &buffer_of(run.schedule(), c));
  EXPECT_EQ(&arena, &buffer_of(run.schedule(), unused));
  EXPECT_EQ(run.floats({floats({4}, {1, 2, 3, 4})}), (std::vector<float>{4, 5, 6, 7}));
}

TEST_F(MemoryTest, APlanWithALittleHoleIsKept) {
  constexpr std::int64_t kNear = std::int64_t{1} << 20;
  b.method().arenas[1].bytes = std::uint64_t{1} << 30;
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, kNear);
  const auto y = b.tensor({4}, 0);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ((*lowered)->values[static_cast<std::size_t>(a)].place.offset, static_cast<std::uint64_t>(kNear));
}

TEST_F(MemoryTest, APlanIsKeptWhereTheProgramJumps) {
  constexpr std::int64_t kFar = std::int64_t{3} << 20;
  b.method().arenas[1].bytes = std::uint64_t{1} << 30;
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, kFar);
  const auto y = b.tensor({4}, 0);
  const auto done = b.flag(true);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y}).jump_if_false(done, 0);
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ((*lowered)->values[static_cast<std::size_t>(a)].place.offset, static_cast<std::uint64_t>(kFar));
}

TEST_F(MemoryTest, ArenasOfTheProgramBecomeOneIfThatIsMuchSmaller) {
  constexpr std::int64_t kMany = std::int64_t{1} << 20;  // floats: 4 MiB
  b.method().arenas.resize(3);
  b.method().arenas[1].bytes = b.method().arenas[2].bytes = std::uint64_t{1} << 30;
  const auto x = b.tensor({kMany}, 0);
  const auto a = b.tensor({kMany}, 0);
  const auto c = b.tensor({kMany}, 4 * kMany);
  const auto d = b.tensor({kMany}, 0, false, ScalarType::Float, 2);
  const auto y = b.tensor({kMany}, 0);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {c, d}).delegate("F", {d, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  EXPECT_EQ(&buffer_of(**lowered, a), &buffer_of(**lowered, d));
  EXPECT_EQ(buffer_of(**lowered, a).bytes, static_cast<std::uint64_t>(8 * kMany));
}

TEST_F(MemoryTest, ValuePlannedBetweenElementsGetsItsOwnPlace) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 65);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(buffer_of(run.schedule(), a).memory_id, 0U);
  EXPECT_EQ(run.floats({floats({4}, {1, 2, 3, 4})}), (std::vector<float>{3, 4, 5, 6}));
}

TEST_F(MemoryTest, MisalignedConstantIsRead) {
  alignas(4) static constexpr std::array<std::byte, 9> kBytes{std::byte{0},    std::byte{0},    std::byte{0},
                                                              std::byte{0x80}, std::byte{0x3f}, std::byte{0},
                                                              std::byte{0},    std::byte{0},    std::byte{0x40}};
  const auto c = b.constant({0, 0});
  auto& constant = std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(c)]);
  constant.data = std::span{kBytes}.subspan(1);
  const auto y = b.tensor({2}, 0);
  b.outputs({y}).delegate("F", {c, y});
  TestRun run{b};
  ASSERT_TRUE(run.loaded().ok()) << run.loaded().error().to_string();
  EXPECT_EQ(run.floats({}), (std::vector<float>{2, 3}));
}

TEST_F(MemoryTest, ArenaThatDoesNotFitIsNamed) {
  b.method().arenas[1].bytes = std::uint64_t{1} << 62;
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({std::int64_t{1} << 59}, 0);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  TestRun run{b};
  ASSERT_FALSE(run.loaded().ok());
  EXPECT_EQ(run.loaded().error().code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(run.loaded().error().site().field, "arena 1");
}

TEST_F(MemoryTest, UnplannedSizesThatOverflowAreRefused) {
  const auto x = b.tensor({4}, 0);
  b.inputs({x});
  auto from = x;
  for (int i = 0; i < 3; ++i) {
    const auto to = b.tensor({std::int64_t{1} << 60});
    b.delegate("F", {from, to});
    from = to;
  }
  const auto lowered = b.lower();
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code(), ErrorCode::InvalidProgram);
}

TEST_F(MemoryTest, AccessesNameBufferAndBytes) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  const runtime::Schedule& schedule = **lowered;
  const auto accesses = schedule.accesses_of(schedule.steps[1]);
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].value, static_cast<std::uint32_t>(a));
  EXPECT_EQ(accesses[0].mode, AccessMode::Read);
  EXPECT_EQ(accesses[0].begin, 64U);
  EXPECT_EQ(accesses[0].end, 80U);
  EXPECT_EQ(accesses[1].mode, AccessMode::Write);
}

}  // namespace
}  // namespace tandem
