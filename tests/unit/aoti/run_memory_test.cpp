#include "backends/aoti/run_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace tandem::aoti {
namespace {

/// Counts what comes from the heap.
class CountingMemory final : public MemorySource {
 public:
  std::byte* allocate(std::size_t bytes) noexcept override {
    ++allocations;
    ++live;
    return exhausted ? (--live, nullptr) : host_memory().allocate(bytes);
  }
  void release(std::byte* data) noexcept override {
    --live;
    host_memory().release(data);
  }
  bool copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept override {
    return host_memory().copy(to, from, bytes);
  }
  int allocations = 0;
  int live = 0;
  bool exhausted = false;
};

/// A handle over one storage, as empty_strided makes it.
AtenTensor handle_over(Storage* storage) {
  AtenTensor handle{};
  handle.tag = AtenTensor::kLive;
  handle.defined = true;
  handle.storage = storage;
  handle.base = storage->data;
  handle.storage_bytes = storage->bytes;
  return handle;
}

class RunMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    memory_.reset();
    EXPECT_EQ(source_.live, 0) << "memory leaks";
  }

  Storage* allocate(std::size_t bytes, ScalarType dtype = ScalarType::Float) {
    Storage* storage = memory_->allocate(bytes, dtype);
    EXPECT_NE(storage, nullptr);
    return storage;
  }
  /// One run: `body` allocates and drops, and returns the storage of the only output.
  template <class Body>
  Status run(Body&& body, std::byte* target = nullptr, bool planned = true) {
    std::array<std::byte*, 1> targets{target};
    memory_->begin({scratch_.data(), scratch_.size()}, targets);
    Storage* result = body();
    output_ = handle_over(result);
    const RunMemory::Output output{&output_, planned};
    return memory_->finish({&output, 1});
  }
  void drop_output() { output_.storage->drop_reference(); }
  [[nodiscard]] bool in_scratch(const Storage* storage) const {
    return storage->data >= scratch_.data() && storage->data < scratch_.data() + scratch_.size();
  }

  CountingMemory source_;
  std::unique_ptr<RunMemory> memory_ = std::make_unique<RunMemory>(source_);
  alignas(64) std::array<std::byte, 4096> scratch_{};
  alignas(64) std::array<std::byte, 256> target_{};
  AtenTensor output_{};
};

TEST_F(RunMemoryTest, FirstRunRecordsAndLaterOnesAllocateNothing) {
  const std::int64_t shapes[] = {2, 3};
  memory_->select(shapes);
  EXPECT_FALSE(memory_->recorded());
  EXPECT_EQ(memory_->scratch_bytes(), 0U);
  const auto body = [&] {
    Storage* temporary = allocate(100);
    temporary->drop_reference();
    return allocate(24);
  };
  ASSERT_TRUE(run(body).ok());
  EXPECT_EQ(source_.allocations, 2);
  drop_output();
  EXPECT_TRUE(memory_->recorded());
  EXPECT_EQ(memory_->scratch_bytes(), 128U);
  EXPECT_EQ(memory_->output_bytes(0), 24U);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(body, target_.data()).ok());
    EXPECT_EQ(output_.storage->data, target_.data());
    drop_output();
  }
  EXPECT_EQ(source_.allocations, 2);
  EXPECT_TRUE(memory_->repeats());
}

TEST_F(RunMemoryTest, LifetimesThatDoNotMeetShareBytes) {
  memory_->select({});
  const auto body = [&] {
    Storage* a = allocate(1000);
    Storage* b = allocate(64);
    a->drop_reference();
    Storage* c = allocate(512);
    Storage* d = allocate(448);
    b->drop_reference();
    c->drop_reference();
    d->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run(body).ok());
  drop_output();
  EXPECT_EQ(memory_->scratch_bytes(), 1024U + 64U);  // c and d lie where a was
}

TEST_F(RunMemoryTest, WhatIsAliveTogetherNeverOverlaps) {
  memory_->select({});
  std::vector<std::pair<const std::byte*, std::size_t>> alive;
  const auto body = [&] {
    std::vector<Storage*> storages;
    for (const std::size_t bytes : {96, 32, 200, 8}) storages.push_back(allocate(bytes));
    storages[1]->drop_reference();
    storages.push_back(allocate(64));
    storages.erase(storages.begin() + 1);
    alive.clear();
    for (Storage* storage : storages) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage->data) % 64, 0U);
      alive.emplace_back(storage->data, storage->bytes);
    }
    for (Storage* storage : storages) storage->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run(body).ok());
  drop_output();
  ASSERT_TRUE(run(body, target_.data()).ok());
  drop_output();
  for (std::size_t i = 0; i < alive.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_TRUE(alive[i].first + alive[i].second <= alive[k].first ||
                  alive[k].first + alive[k].second <= alive[i].first);
    }
  }
}

TEST_F(RunMemoryTest, AnotherSizeFallsBackForTheRestOfTheRun) {
  memory_->select({});
  const auto body = [&](std::size_t first) {
    Storage* a = allocate(first);
    a->drop_reference();
    Storage* b = allocate(64);
    EXPECT_EQ(in_scratch(b), first == 128 && memory_->recorded());
    b->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run([&] { return body(128); }).ok());
  drop_output();
  ASSERT_TRUE(run([&] { return body(256); }, target_.data()).ok());
  EXPECT_NE(output_.storage->data, target_.data());
  drop_output();
  EXPECT_FALSE(memory_->repeats());
  ASSERT_TRUE(run([&] { return body(128); }, target_.data()).ok());  // what matches is served again
  EXPECT_EQ(output_.storage->data, target_.data());
  drop_output();
}

TEST_F(RunMemoryTest, AnotherDtypeOfTheSameSizeFallsBack) {
  memory_->select({});
  ASSERT_TRUE(run([&] { return allocate(8, ScalarType::Float); }).ok());
  drop_output();
  ASSERT_TRUE(run([&] { return allocate(8, ScalarType::Long); }, target_.data()).ok());
  EXPECT_NE(output_.storage->data, target_.data());
  drop_output();
}

/// Equal sizes in equal order, but the first one is still in use when the second one would take its bytes.
TEST_F(RunMemoryTest, OtherLifetimesNeverShareBytes) {
  memory_->select({});
  const auto body = [&](bool overlap) {
    Storage* a = allocate(64);
    if (!overlap) a->drop_reference();
    Storage* b = allocate(64);
    if (overlap) {
      EXPECT_NE(a->data, b->data);
      a->drop_reference();
    }
    b->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run([&] { return body(false); }).ok());
  drop_output();
  EXPECT_EQ(memory_->scratch_bytes(), 64U);
  ASSERT_TRUE(run([&] { return body(true); }, target_.data()).ok());
  drop_output();
  EXPECT_FALSE(memory_->repeats());
}

TEST_F(RunMemoryTest, ResultInScratchIsMovedOut) {
  memory_->select({});
  const auto body = [&](bool swapped) {
    Storage* a = allocate(64);
    std::memset(a->data, 7, 64);
    if (!swapped) a->drop_reference();
    Storage* b = allocate(64);
    if (!swapped) return b;
    b->drop_reference();
    return a;
  };
  ASSERT_TRUE(run([&] { return body(false); }).ok());
  drop_output();
  ASSERT_TRUE(run([&] { return body(true); }, target_.data()).ok());
  EXPECT_FALSE(in_scratch(output_.storage));
  EXPECT_EQ(output_.base, output_.storage->data);
  EXPECT_EQ(output_.base[63], std::byte{7});
  drop_output();
}

TEST_F(RunMemoryTest, WithoutATargetTheResultHasMemoryOfItsOwnThatIsReused) {
  memory_->select({});
  const auto body = [&] { return allocate(64); };
  ASSERT_TRUE(run(body).ok());
  drop_output();
  ASSERT_TRUE(run(body).ok());
  const std::byte* first = output_.storage->data;
  drop_output();
  const int allocations = source_.allocations;
  ASSERT_TRUE(run(body).ok());
  EXPECT_EQ(output_.storage->data, first);
  drop_output();
  EXPECT_EQ(source_.allocations, allocations);
  EXPECT_TRUE(memory_->repeats());
}

TEST_F(RunMemoryTest, ResultOfAnotherLayoutIsNeverTheOutputsMemory) {
  memory_->select({});
  const auto body = [&] { return allocate(64); };
  ASSERT_TRUE(run(body, nullptr, /*planned=*/false).ok());
  drop_output();
  EXPECT_EQ(memory_->output_bytes(0), 0U);
  ASSERT_TRUE(run(body, target_.data(), /*planned=*/false).ok());
  EXPECT_NE(output_.storage->data, target_.data());
  drop_output();
}

TEST_F(RunMemoryTest, WhatTheLibraryKeepsIsNeverPlanned) {
  memory_->select({});
  std::vector<Storage*> kept;
  const auto body = [&] {
    kept.push_back(allocate(64));
    return allocate(4);
  };
  ASSERT_TRUE(run(body).ok());
  drop_output();
  ASSERT_TRUE(run(body, target_.data()).ok());
  drop_output();
  EXPECT_FALSE(in_scratch(kept[1]));
  EXPECT_NE(kept[0]->data, kept[1]->data);
  for (Storage* storage : kept) storage->drop_reference();
}

TEST_F(RunMemoryTest, ResultThatTheLibraryKeepsTooIsNeverTheOutputsMemory) {
  memory_->select({});
  std::vector<Storage*> kept;
  const auto body = [&] {
    Storage* result = allocate(64);
    result->add_reference();
    kept.push_back(result);
    return result;
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(run(body, target_.data()).ok());
    drop_output();
  }
  EXPECT_NE(kept[1]->data, target_.data());
  for (Storage* storage : kept) storage->drop_reference();
}

TEST_F(RunMemoryTest, PlannedMemoryThatIsKeptAfterAllIsAnError) {
  memory_->select({});
  Storage* temporary = nullptr;
  const auto body = [&](bool keep) {
    temporary = allocate(64);
    if (!keep) temporary->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run([&] { return body(false); }).ok());
  drop_output();
  const Status status = run([&] { return body(true); }, target_.data());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::BackendFailed);
  drop_output();
  temporary->drop_reference();
}

TEST_F(RunMemoryTest, EachSetOfShapesHasARecordUpToALimit) {
  const auto body = [&](std::size_t bytes) {
    allocate(bytes)->drop_reference();
    return allocate(4);
  };
  for (std::int64_t size = 1; size <= 9; ++size) {
    memory_->select({&size, 1});
    ASSERT_TRUE(run([&] { return body(static_cast<std::size_t>(size) * 64); }).ok());
    drop_output();
  }
  for (std::int64_t size = 9; size >= 2; --size) {
    memory_->select({&size, 1});
    EXPECT_TRUE(memory_->recorded()) << size;
    EXPECT_EQ(memory_->scratch_bytes(), static_cast<std::size_t>(size) * 64);
  }
  const std::int64_t oldest = 1;
  memory_->select({&oldest, 1});
  EXPECT_FALSE(memory_->recorded());
}

TEST_F(RunMemoryTest, TooLittleScratchIsServedFromTheHeap) {
  memory_->select({});
  const auto body = [&] {
    Storage* temporary = allocate(8192);
    std::memset(temporary->data, 1, 8192);
    temporary->drop_reference();
    return allocate(4);
  };
  ASSERT_TRUE(run(body).ok());
  drop_output();
  ASSERT_GT(memory_->scratch_bytes(), scratch_.size());
  ASSERT_TRUE(run(body).ok());
  drop_output();
}

TEST_F(RunMemoryTest, FailedRecordingIsForgotten) {
  memory_->select({});
  memory_->begin({}, {});
  allocate(64)->drop_reference();
  memory_->abandon();
  EXPECT_FALSE(memory_->recorded());
}

TEST_F(RunMemoryTest, ExhaustedMemoryGivesNoStorage) {
  memory_->select({});
  memory_->begin({}, {});
  source_.exhausted = true;
  EXPECT_EQ(memory_->allocate(64, ScalarType::Float), nullptr);
  memory_->abandon();
}

TEST_F(RunMemoryTest, NoBytesNeedNoScratch) {
  memory_->select({});
  const auto body = [&] {
    Storage* none = allocate(0);
    EXPECT_NE(none->data, nullptr);
    none->drop_reference();
    return allocate(0);
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(body).ok());
    drop_output();
  }
  EXPECT_EQ(memory_->scratch_bytes(), 0U);
  EXPECT_TRUE(memory_->repeats());
}

}  // namespace
}  // namespace tandem::aoti
