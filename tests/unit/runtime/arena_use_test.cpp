#include "runtime/order/arena_use.h"
#include "support/function_backend.h"
#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace tandem {
namespace {

using runtime::ArenaUse;
using runtime::kNone;
using ::testing::ElementsAre;
using testing::FunctionBackend;
using testing::MethodBuilder;

/// Tensors of four floats, 16 bytes each.
class ArenaUseTest : public ::testing::Test {
 protected:
  ArenaUseTest() {
    EXPECT_TRUE(b.backends.register_backend("F", std::make_shared<FunctionBackend>(1, testing::add_number(1))).ok());
  }
  std::vector<ArenaUse> arenas() {
    lowered = b.lower();
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return runtime::find_arena_use(**lowered);
  }
  ArenaUse only_arena() {
    std::vector<ArenaUse> found = arenas();
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? ArenaUse{} : std::move(found.front());
  }
  static const ArenaUse::Value& of(const ArenaUse& arena, std::int32_t value) {
    static const ArenaUse::Value kMissing;
    for (const ArenaUse::Value& found : arena.values) {
      if (found.value == static_cast<std::uint32_t>(value)) return found;
    }
    ADD_FAILURE() << "value " << value << " is not in the arena";
    return kMissing;
  }

  MethodBuilder b;
  Result<std::unique_ptr<runtime::Schedule>> lowered = Error{ErrorCode::InvalidArgument, "not lowered"};
};

TEST_F(ArenaUseTest, ValuesLiveFromTheirFirstToTheirLastStep) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto c = b.tensor({4}, 128);
  const auto d = b.tensor({4}, 192);
  const auto y = b.tensor({4}, 256);
  b.inputs({x}).outputs({y});
  b.delegate("F", {x, a}).delegate("F", {a, c}).delegate("F", {a, c, d}).delegate("F", {d, y});
  const ArenaUse arena = only_arena();
  EXPECT_EQ(arena.bytes, 208U);
  EXPECT_THAT(arena.live, ElementsAre(16, 32, 48, 16, 0));
  EXPECT_EQ(arena.peak_bytes, 48U);
  EXPECT_EQ(arena.peak_step, 2U);
  ASSERT_EQ(arena.values.size(), 3U) << "neither the input nor the output";
  EXPECT_EQ(of(arena, a).first, 0U);
  EXPECT_EQ(of(arena, a).last, 2U);
  EXPECT_EQ(of(arena, d).first, 2U);
  EXPECT_EQ(of(arena, d).last, 3U);
  EXPECT_EQ(of(arena, d).offset, 192U);
  EXPECT_EQ(of(arena, d).bytes, 16U);
}

TEST_F(ArenaUseTest, AViewKeepsItsSourceAlive) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto view = b.tensor({2, 2});
  const auto two = b.number(2);
  const auto c = b.tensor({4}, 128);
  const auto y = b.tensor({2, 2}, 192);
  b.inputs({x}).outputs({y}).delegate("F", {x, a});
  b.kernel("executorch_prim::et_view.default", {a, b.numbers({two, two}), view});
  b.delegate("F", {x, c}).delegate("F", {view, c, y});
  const ArenaUse arena = only_arena();
  EXPECT_EQ(arena.values.size(), 2U) << "the view has no bytes of its own";
  EXPECT_EQ(of(arena, a).last, 3U);
}

TEST_F(ArenaUseTest, WhatAnOutputRefersToLivesToTheEnd) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto view = b.tensor({2, 2});
  const auto two = b.number(2);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({view, y}).delegate("F", {x, a});
  b.kernel("executorch_prim::et_view.default", {a, b.numbers({two, two}), view}).delegate("F", {x, y});
  const ArenaUse arena = only_arena();
  EXPECT_EQ(of(arena, a).last, 3U);
  EXPECT_THAT(arena.live, ElementsAre(16, 16, 16, 16));
}

TEST_F(ArenaUseTest, WhatNoStepTouchesHasBytesAndIsNeverInUse) {
  const auto x = b.tensor({4}, 0);
  const auto a = b.tensor({4}, 64);
  const auto unused = b.tensor({4}, 512);
  const auto y = b.tensor({4}, 128);
  b.inputs({x}).outputs({y}).delegate("F", {x, a}).delegate("F", {a, y});
  const ArenaUse arena = only_arena();
  EXPECT_EQ(of(arena, unused).first, kNone);
  EXPECT_EQ(of(arena, unused).last, kNone);
  EXPECT_EQ(arena.bytes, 528U);
  EXPECT_EQ(arena.peak_bytes, 16U);
}

TEST_F(ArenaUseTest, EachArenaHasItsOwnPeak) {
  const auto x = b.tensor({4}, 0);
  const auto planned = b.tensor({4}, 64);
  const auto unplanned = b.tensor({8});
  const auto y = b.tensor({4}, 128);
  b.inputs({x})
      .outputs({y})
      .delegate("F", {x, planned})
      .delegate("F", {planned, unplanned})
      .delegate("F", {unplanned, y});
  const std::vector<ArenaUse> found = arenas();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].peak_bytes, 16U);
  EXPECT_EQ(found[1].peak_bytes, 32U);
  EXPECT_EQ((*lowered)->buffers[found[0].buffer].memory_id, 1U);
  EXPECT_EQ((*lowered)->buffers[found[1].buffer].memory_id, 0U);
}

TEST_F(ArenaUseTest, NoArenaIsNoUse) {
  const auto x = b.tensor({4}, 0);
  const auto y = b.tensor({4}, 64);
  b.inputs({x}).outputs({y}).delegate("F", {x, y});
  EXPECT_TRUE(arenas().empty());
}

TEST(LifetimeOrderTest, OfBranchesOnlyWhatIsKnownToBeOverComesBefore) {
  // Steps 0 and 1 on two branches, then 2 on the first, which waits for neither.
  runtime::BranchPlan branches;
  branches.branch_of = {0, 1, 0};
  branches.known.resize(3);
  branches.known[2][0] = 1;  // step 0 is over
  runtime::Lifetime first;
  runtime::Lifetime beside;
  runtime::Lifetime later;
  first.touch(0, 0);
  beside.touch(1, 1);
  later.touch(2, 0);
  EXPECT_TRUE(before(branches, first, later));
  EXPECT_FALSE(before(branches, beside, later));
  EXPECT_FALSE(before(branches, first, beside));
  EXPECT_TRUE(before({}, beside, later)) << "in a row";
  later.touch(3, 1);
  EXPECT_EQ(later.spans.size(), 2U);
  EXPECT_EQ(later.first(), 2U);
  EXPECT_EQ(later.last(), 3U);
}

}  // namespace
}  // namespace tandem
