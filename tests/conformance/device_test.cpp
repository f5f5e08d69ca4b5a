#include "device/device.h"
#include "device/host/host_device.h"
#include "device/host/seeded_host.h"

#ifdef TANDEM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#endif
#ifdef TANDEM_HAS_HIP
#include "device/hip/hip_device.h"
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace tandem::device {
namespace {

/// What streams did, in the order in which it happened.
class Trace {
 public:
  /// Work that notes its index.
  static bool note(void* trace, std::uint32_t index) noexcept {
    static_cast<Trace*>(trace)->add(index);
    return false;
  }
  void add(std::uint32_t index) {
    const std::scoped_lock lock{mutex_};
    seen_.push_back(index);
  }
  std::vector<std::uint32_t> seen() const {
    const std::scoped_lock lock{mutex_};
    return seen_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> seen_;
};

/// A device that the suites run on. Further ones add themselves at the end of the file.
struct Candidate {
  std::string name;
  Result<Device*> (*find)();
  friend void PrintTo(const Candidate& candidate, std::ostream* out) { *out << candidate.name; }
};

/// What every device must do. Copies and fills are the work that can be seen.
class DeviceTest : public ::testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override {
    const auto found = GetParam().find();
    if (found.ok()) {
      device_ = *found;
      return;
    }
    // A machine without the device skips, unless TANDEM_REQUIRE_DEVICES names it.
    const char* required = std::getenv("TANDEM_REQUIRE_DEVICES");
    const bool is_required = required != nullptr && std::string{required}.find(GetParam().name) != std::string::npos;
    ASSERT_FALSE(is_required) << found.error().to_string();
    GTEST_SKIP() << found.error().to_string();
  }

  Device& device() { return *device_; }
  Stream& stream() { return device().thread_stream(); }
  std::unique_ptr<Stream> make_stream() {
    auto made = device().make_stream();
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  tandem::Event make_event() { return *stream().make_event(); }
  /// Memory of the device with every byte 0.
  Buffer make_buffer(std::size_t bytes) {
    auto made = device().allocate(bytes);
    EXPECT_TRUE(made.ok());
    EXPECT_TRUE(stream().fill(made->data(), std::byte{0}, bytes).ok());
    EXPECT_TRUE(stream().synchronize().ok());
    return *std::move(made);
  }
  /// What is in it, once the device is done.
  std::vector<std::byte> contents(const Buffer& buffer) {
    std::vector<std::byte> bytes(buffer.size());
    EXPECT_TRUE(stream().download(bytes.data(), buffer.data(), buffer.size()).ok());
    EXPECT_TRUE(stream().synchronize().ok());
    return bytes;
  }

 private:
  Device* device_ = nullptr;
};

/// What devices whose streams run host work must do.
class HostWorkTest : public DeviceTest {
 protected:
  /// Whether work waits for somebody to run it, so that a test may not block a piece of it.
  bool is_seeded() { return stream().interleaves(); }
};

std::vector<std::byte> all_of(std::size_t bytes, std::uint8_t value) {
  return std::vector<std::byte>(bytes, std::byte{value});
}

TEST_P(DeviceTest, BuffersAreAlignedAndMove) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    auto buffer = device().allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    ASSERT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U);
    std::byte* const data = buffer->data();
    Buffer moved = *std::move(buffer);
    Buffer assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.data(), data);
  }
}

TEST_P(DeviceTest, MemoryThatDoesNotExistIsNamed) {
  const auto buffer = device().allocate(SIZE_MAX / 2);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(buffer.error().site().device, to_string(device().id()));
}

TEST_P(DeviceTest, BytesGoToTheDeviceAndBack) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{5} << 20}) {  // more than is staged
      const Buffer from = make_buffer(bytes);
      const Buffer to = make_buffer(bytes);
      std::vector<std::byte> sent(bytes);
      for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 255);
      std::vector<std::byte> received(bytes);
      ASSERT_TRUE(one->upload(from.data(), sent.data(), bytes).ok());
      ASSERT_TRUE(one->copy(to.data(), from.data(), bytes).ok());
      ASSERT_TRUE(one->download(received.data(), to.data(), bytes).ok());
      ASSERT_TRUE(one->synchronize().ok());
      ASSERT_EQ(received, sent);
    }
  }
}

TEST_P(DeviceTest, StagingMemoryIsTheHostsAndCopiesReachIt) {
  auto staging = device().allocate_staging(100);
  ASSERT_TRUE(staging.ok());
  const Buffer buffer = make_buffer(100);
  std::memset(staging->data(), 3, 100);
  ASSERT_TRUE(stream().copy(buffer.data(), staging->data(), 100).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  std::memset(staging->data(), 0, 100);
  ASSERT_TRUE(stream().copy(staging->data(), buffer.data(), 100).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  EXPECT_EQ(std::vector<std::byte>(staging->bytes().begin(), staging->bytes().end()), all_of(100, 3));
}

TEST_P(DeviceTest, NoBytesAreMovedToo) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    EXPECT_TRUE(one->copy(nullptr, nullptr, 0).ok());
    EXPECT_TRUE(one->upload(nullptr, nullptr, 0).ok());
    EXPECT_TRUE(one->download(nullptr, nullptr, 0).ok());
    EXPECT_TRUE(one->fill(nullptr, {}, 0).ok());
    EXPECT_TRUE(one->synchronize().ok());
  }
}

TEST_P(DeviceTest, FillsSetTheirBytesInOrder) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    const Buffer buffer = make_buffer(100);
    const Buffer half = make_buffer(50);
    ASSERT_TRUE(one->fill(buffer.data(), std::byte{1}, 100).ok());
    ASSERT_TRUE(one->copy(half.data(), buffer.data() + 25, 50).ok());
    ASSERT_TRUE(one->fill(buffer.data() + 1, std::byte{255}, 98).ok());
    ASSERT_TRUE(one->synchronize().ok());
    std::vector<std::byte> expected = all_of(100, 255);
    expected.front() = expected.back() = std::byte{1};
    EXPECT_EQ(contents(buffer), expected);
    EXPECT_EQ(contents(half), all_of(50, 1));
  }
}

TEST_P(DeviceTest, EventsOutliveTheirStream) {
  const Buffer buffer = make_buffer(100);
  const tandem::Event event = make_event();
  {
    const auto gone = make_stream();
    ASSERT_TRUE(gone->fill(buffer.data(), std::byte{1}, 100).ok());
    ASSERT_TRUE(gone->record(*event.impl()).ok());
  }
  EXPECT_TRUE(*event.is_done());
  EXPECT_TRUE(event.synchronize().ok());
  EXPECT_EQ(contents(buffer), all_of(100, 1));
}

TEST_P(DeviceTest, WaitsOrderCopiesOfManyStreams) {
  // A byte goes round: each stream passes it on once the one before has.
  constexpr std::size_t kStreams = 6;
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(make_stream());
    buffers.push_back(make_buffer(kBytes));
  }
  for (std::uint8_t round = 1; round < 20; ++round) {
    std::vector<tandem::Event> passed;
    for (std::size_t i = 0; i < kStreams; ++i) {
      if (i == 0) {
        ASSERT_TRUE(streams[i]->fill(buffers[i].data(), std::byte{round}, kBytes).ok());
      } else {
        ASSERT_TRUE(streams[i]->wait(*passed.back().impl()).ok());
        ASSERT_TRUE(streams[i]->copy(buffers[i].data(), buffers[i - 1].data(), kBytes).ok());
      }
      passed.push_back(make_event());
      ASSERT_TRUE(streams[i]->record(*passed.back().impl()).ok());
    }
    ASSERT_TRUE(streams[0]->wait(*passed.back().impl()).ok());
    ASSERT_TRUE(stream().wait(*passed.back().impl()).ok());
    ASSERT_EQ(contents(buffers.back()), all_of(kBytes, round));
  }
}

TEST_P(DeviceTest, AWaitForAHeldEventEndsWithItsSignal) {
  const auto own = make_stream();
  const Buffer buffer = make_buffer(100);
  const tandem::Event event = make_event();
  event.impl()->hold();
  EXPECT_FALSE(*event.is_done());
  std::thread signaller{[&event] { event.impl()->signal(); }};
  ASSERT_TRUE(own->wait(*event.impl()).ok());  // on a GPU, here; on the host, later
  ASSERT_TRUE(own->fill(buffer.data(), std::byte{1}, 100).ok());
  ASSERT_TRUE(own->synchronize().ok());
  signaller.join();
  EXPECT_TRUE(*event.is_done());
  EXPECT_EQ(contents(buffer), all_of(100, 1));
}

TEST_P(DeviceTest, AnEventThatWasNeverRecordedOrdersNothing) {
  const auto own = make_stream();
  const tandem::Event event = make_event();
  EXPECT_TRUE(own->wait(*event.impl()).ok());
  EXPECT_TRUE(own->synchronize().ok());
}

TEST_P(DeviceTest, ManyThreadsMayCopyAtOnce) {
  constexpr std::size_t kBytes = std::size_t{3} << 20;
  std::vector<std::thread> threads;
  for (std::uint8_t t = 1; t <= 4; ++t) {
    threads.emplace_back([this, t] {
      const auto own = make_stream();
      const Buffer buffer = make_buffer(kBytes);
      const std::vector<std::byte> sent = all_of(kBytes, t);
      std::vector<std::byte> received(kBytes);
      for (int round = 0; round < 5; ++round) {
        EXPECT_TRUE(own->upload(buffer.data(), sent.data(), kBytes).ok());
        EXPECT_TRUE(own->download(received.data(), buffer.data(), kBytes).ok());
        EXPECT_TRUE(own->synchronize().ok());
        EXPECT_EQ(received, sent);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(DeviceTest, OnlyTheHostsStreamsRunHostWork) {
  const auto nothing = [](void* /*data*/, std::uint32_t /*index*/) noexcept { return false; };
  const Status status = stream().submit(nothing, nullptr, 0);
  if (device().is_host_accessible()) {
    EXPECT_TRUE(status.ok());
  } else {
    EXPECT_EQ(status.error().code(), ErrorCode::NotSupported);
  }
}

TEST_P(DeviceTest, FillsSetBytes) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    auto memory = device().allocate(100);
    ASSERT_TRUE(memory.ok());
    std::vector<std::byte> received(100);
    ASSERT_TRUE(one->fill(memory->data(), std::byte{9}, 100).ok());
    ASSERT_TRUE(one->fill(memory->data() + 10, std::byte{4}, 5).ok());
    ASSERT_TRUE(one->fill(memory->data(), std::byte{1}, 0).ok());
    ASSERT_TRUE(one->copy(received.data(), memory->data(), 100).ok());
    ASSERT_TRUE(one->synchronize().ok());
    std::vector<std::byte> expected(100, std::byte{9});
    std::fill_n(expected.begin() + 10, 5, std::byte{4});
    EXPECT_EQ(received, expected);
  }
}

TEST_P(DeviceTest, StagingMemoryIsTheHosts) {
  auto staging = device().allocate_staging(100);
  auto memory = device().allocate(100);
  ASSERT_TRUE(staging.ok() && memory.ok());
  std::fill_n(staging->data(), 100, std::byte{3});
  ASSERT_TRUE(stream().copy(memory->data(), staging->data(), 100).ok());
  ASSERT_TRUE(stream().fill(memory->data(), std::byte{5}, 1).ok());
  ASSERT_TRUE(stream().copy(staging->data(), memory->data(), 100).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  EXPECT_EQ(staging->data()[0], std::byte{5});
  EXPECT_EQ(staging->data()[99], std::byte{3});
}

TEST_P(DeviceTest, EventsPassWithTheirStream) {
  const tandem::Event event = make_event();
  EXPECT_TRUE(*event.is_done());  // never recorded
  ASSERT_TRUE(event.synchronize().ok());
  ASSERT_TRUE(stream().record(*event.impl()).ok());
  ASSERT_TRUE(stream().wait(*event.impl()).ok());
  ASSERT_TRUE(event.synchronize().ok());
  EXPECT_TRUE(*event.is_done());
}

TEST_P(DeviceTest, ForeignEventsAreRefused) {
  class ForeignEvent final : public Event {
   public:
    ForeignEvent() : Event{DeviceId{DeviceType::Hip, 7}} {}
    Result<bool> is_done() const override { return false; }
    Status synchronize() const override { return {}; }
    void hold() override {}
    void signal() noexcept override {}
  };
  ForeignEvent foreign;
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    const Status recorded = one->record(foreign);
    EXPECT_EQ(recorded.error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(recorded.error().expected(), to_string(device().id()));
    EXPECT_EQ(recorded.error().found(), "hip:7");
    EXPECT_EQ(one->wait(foreign).error().code(), ErrorCode::InvalidArgument);
  }
}

// ---- graphs ----

/// Errors skip: a vendor may have none.
class GraphTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto made = device().make_graph();
    if (!made.ok()) GTEST_SKIP() << made.error().to_string();
  }
  std::unique_ptr<GraphBuilder> builder() { return *device().make_graph(); }
};

TEST_P(GraphTest, PiecesRunInTheirOrderEachTime) {
  const Buffer a = make_buffer(64);
  const Buffer b = make_buffer(64);
  const auto on = make_stream();
  const auto making = builder();
  ASSERT_TRUE(making->copy(b.data(), a.data(), 64).ok());
  ASSERT_TRUE(making
                  ->capture([&](Stream& capturing) -> Status {
                    TANDEM_CHECK_OK(capturing.fill(a.data(), std::byte{7}, 32));
                    return capturing.copy(b.data() + 32, a.data(), 16);
                  })
                  .ok());
  ASSERT_TRUE(making->copy(a.data() + 48, b.data(), 16).ok());
  const auto graph = making->finish(*on);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ((*graph)->node_count(), 4U);
  EXPECT_EQ(contents(a), all_of(64, 0)) << "nothing has run";
  for (const std::uint8_t start : std::array<std::uint8_t, 2>{1, 2}) {
    ASSERT_TRUE(on->fill(a.data(), std::byte{start}, 64).ok());
    ASSERT_TRUE((*graph)->launch(*on).ok());
    ASSERT_TRUE(on->synchronize().ok());
    std::vector<std::byte> expected_b = all_of(64, start);
    std::fill_n(expected_b.begin() + 32, 16, std::byte{7});
    EXPECT_EQ(contents(b), expected_b);
    std::vector<std::byte> expected_a = all_of(64, start);
    std::fill_n(expected_a.begin(), 32, std::byte{7});
    EXPECT_EQ(contents(a), expected_a);
  }
}

TEST_P(GraphTest, PartsFollowThoseThatTheyName) {
  const Buffer a = make_buffer(1 << 16);
  const std::array<Buffer, 4> b{make_buffer(a.size()), make_buffer(a.size()), make_buffer(a.size()),
                                make_buffer(a.size())};
  const auto on = make_stream();
  const auto making = builder();
  const auto copy = [&](std::vector<std::uint32_t> after, const Buffer& to, const Buffer& from) {
    making->begin_part(after);
    ASSERT_TRUE(making->copy(to.data(), from.data(), from.size()).ok());
  };
  making->begin_part({});
  ASSERT_TRUE(
      making->capture([&](Stream& capturing) { return capturing.fill(a.data(), std::byte{3}, a.size()); }).ok());
  copy({0}, b[0], a);
  copy({0}, b[1], a);
  making->begin_part(std::array{1U, 2U});  // empty
  copy({3}, b[2], b[0]);
  copy({2}, b[3], b[1]);
  const auto found = making->edges();
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_EQ(found->is_empty, (std::vector<bool>{false, false, false, true, false, false}));
  EXPECT_EQ(found->is_chain, std::vector<bool>(6, true));
  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  for (const Edge& edge : {Edge{0, 1}, Edge{0, 2}, Edge{1, 4}, Edge{2, 4}, Edge{2, 5}}) {
    EXPECT_NE(std::ranges::find(found->edges, edge), found->edges.end()) << edge.first << " to " << edge.second;
  }
  const auto graph = making->finish(*on);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  ASSERT_TRUE((*graph)->launch(*on).ok());
  ASSERT_TRUE(on->synchronize().ok());
  for (const Buffer& one : b) EXPECT_EQ(contents(one), all_of(a.size(), 3));
}

TEST_P(GraphTest, MayGoWhileItRunsAndKeepsWhatItUses) {
  const Buffer a = make_buffer(1 << 16);
  const auto on = make_stream();
  const auto kept = std::make_shared<int>(1);
  {
    const auto making = builder();
    making->keep(kept);
    ASSERT_TRUE(
        making->capture([&](Stream& capturing) { return capturing.fill(a.data(), std::byte{5}, a.size()); }).ok());
    const auto graph = making->finish(*on);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(kept.use_count(), 2);
    ASSERT_TRUE((*graph)->launch(*on).ok());
  }
  ASSERT_TRUE(on->synchronize().ok());
  EXPECT_EQ(contents(a), all_of(a.size(), 5));
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_P(GraphTest, ACaptureThatFailsOrWaitsLeavesGraphAndStreamsAsTheyWere) {
  const Buffer a = make_buffer(16);
  const auto on = make_stream();
  const auto making = builder();
  const Status failed = making->capture([&](Stream& capturing) -> Status {
    TANDEM_CHECK_OK(capturing.fill(a.data(), std::byte{1}, 16));
    return Error{ErrorCode::BackendFailed, "as told"};
  });
  EXPECT_EQ(failed.error().message(), "as told");
  EXPECT_FALSE(making->capture([](Stream& capturing) { return capturing.synchronize(); }).ok());
  ASSERT_TRUE(making->capture([&](Stream& capturing) { return capturing.fill(a.data(), std::byte{2}, 8); }).ok());
  const auto graph = making->finish(*on);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->node_count(), 1U);
  ASSERT_TRUE((*graph)->launch(*on).ok());
  ASSERT_TRUE(on->synchronize().ok());
  std::vector<std::byte> expected = all_of(16, 0);
  std::fill_n(expected.begin(), 8, std::byte{2});
  EXPECT_EQ(contents(a), expected);
}

TEST_P(DeviceTest, EveryThreadHasItsOwnStreamAndNoIdComesBack) {
  const StreamId mine = stream().id();
  EXPECT_EQ(mine.device, device().id());
  EXPECT_EQ(stream().id(), mine);
  std::vector<StreamId> others(2);
  for (StreamId& other : others) {  // one after the other: the second thread may get the first one's memory
    std::thread{[this, &other] { other = stream().id(); }}.join();
  }
  EXPECT_NE(others[0], mine);
  StreamId made{};
  for (int i = 0; i < 3; ++i) {
    const StreamId next = make_stream()->id();
    EXPECT_NE(next, made);
    EXPECT_NE(next, mine);
    made = next;
  }
  if (!stream().interleaves()) {  // there, streams of threads last as long as the scheduler
    EXPECT_NE(others[0], others[1]);
  }
}

TEST_P(HostWorkTest, WorkRunsInOrder) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    Trace trace;
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(one->submit(&Trace::note, &trace, i).ok());
    ASSERT_TRUE(one->synchronize().ok());
    EXPECT_EQ(trace.seen(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  }
}

TEST_P(HostWorkTest, WorkThatAsksForItRunsAgain) {
  const auto own = make_stream();
  for (Stream* one : {&stream(), own.get()}) {
    int left = 5;
    const auto count_down = [](void* data, std::uint32_t /*index*/) noexcept {
      return --*static_cast<int*>(data) != 0;
    };
    ASSERT_TRUE(one->submit(count_down, &left, 0).ok());
    ASSERT_TRUE(one->synchronize().ok());
    EXPECT_EQ(left, 0);
  }
}

TEST_P(HostWorkTest, MoreWorkThanAQueueHolds) {
  const auto own = make_stream();
  Trace trace;
  for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_TRUE(own->submit(&Trace::note, &trace, i).ok());
  ASSERT_TRUE(own->synchronize().ok());
  ASSERT_EQ(trace.seen().size(), 5000U);
  for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(trace.seen()[i], i);
}

TEST_P(HostWorkTest, DestructionWaitsForTheWork) {
  Trace trace;
  {
    const auto own = make_stream();
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(own->submit(&Trace::note, &trace, i).ok());
  }
  EXPECT_EQ(trace.seen().size(), 100U);
}

TEST_P(HostWorkTest, PollingAnEventComesToAnEnd) {
  const auto own = make_stream();
  Trace trace;
  const tandem::Event event = make_event();
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(own->submit(&Trace::note, &trace, i).ok());
  ASSERT_TRUE(own->record(*event.impl()).ok());
  while (!*event.is_done()) std::this_thread::yield();
  EXPECT_EQ(trace.seen().size(), 10U);
}

TEST_P(HostWorkTest, AWaitOrdersTwoStreams) {
  for (int round = 0; round < 20; ++round) {
    const auto first = make_stream();
    const auto second = make_stream();
    const tandem::Event event = make_event();
    Trace trace;
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(first->submit(&Trace::note, &trace, i).ok());
    ASSERT_TRUE(first->record(*event.impl()).ok());
    ASSERT_TRUE(second->wait(*event.impl()).ok());
    ASSERT_TRUE(second->submit(&Trace::note, &trace, 3).ok());
    ASSERT_TRUE(second->synchronize().ok());
    ASSERT_EQ(trace.seen(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  }
}

TEST_P(HostWorkTest, TheThreadsStreamWaitsForOthers) {
  const auto other = make_stream();
  const tandem::Event event = make_event();
  Trace trace;
  ASSERT_TRUE(other->submit(&Trace::note, &trace, 0).ok());
  ASSERT_TRUE(other->record(*event.impl()).ok());
  ASSERT_TRUE(stream().wait(*event.impl()).ok());
  ASSERT_TRUE(stream().submit(&Trace::note, &trace, 1).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  EXPECT_EQ(trace.seen(), (std::vector<std::uint32_t>{0, 1}));
}

TEST_P(HostWorkTest, RecordingAgainDoesNotMoveEarlierWaits) {
  const auto first = make_stream();
  const auto second = make_stream();
  const tandem::Event event = make_event();
  const tandem::Event gate = make_event();
  gate.impl()->hold();
  Trace trace;
  ASSERT_TRUE(first->submit(&Trace::note, &trace, 0).ok());
  ASSERT_TRUE(first->record(*event.impl()).ok());
  ASSERT_TRUE(second->wait(*event.impl()).ok());
  ASSERT_TRUE(first->wait(*gate.impl()).ok());
  ASSERT_TRUE(first->record(*event.impl()).ok());
  ASSERT_TRUE(second->submit(&Trace::note, &trace, 1).ok());
  ASSERT_TRUE(second->synchronize().ok());  // not behind the gate
  EXPECT_EQ(trace.seen(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_FALSE(*event.is_done());
  gate.impl()->signal();
  EXPECT_TRUE(event.synchronize().ok());
}

TEST_P(HostWorkTest, WorkAfterAnEventThatWasNeverRecordedRuns) {
  const auto own = make_stream();
  const tandem::Event event = make_event();
  Trace trace;
  ASSERT_TRUE(own->wait(*event.impl()).ok());
  ASSERT_TRUE(own->submit(&Trace::note, &trace, 0).ok());
  ASSERT_TRUE(own->synchronize().ok());
  EXPECT_EQ(trace.seen().size(), 1U);
}

TEST_P(HostWorkTest, StreamsThatWaitForEachOtherGoOn) {
  const auto first = make_stream();
  const auto second = make_stream();
  const tandem::Event a = make_event();
  const tandem::Event b = make_event();
  Trace trace;
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(first->submit(&Trace::note, &trace, 2 * i).ok());
    ASSERT_TRUE(first->record(*a.impl()).ok());
    ASSERT_TRUE(second->wait(*a.impl()).ok());
    ASSERT_TRUE(second->submit(&Trace::note, &trace, 2 * i + 1).ok());
    ASSERT_TRUE(second->record(*b.impl()).ok());
    ASSERT_TRUE(first->wait(*b.impl()).ok());
    ASSERT_TRUE(first->wait(*a.impl()).ok());  // its own
  }
  ASSERT_TRUE(first->synchronize().ok());
  ASSERT_EQ(trace.seen().size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(trace.seen()[i], i);
}

TEST_P(HostWorkTest, WorkMustNotWait) {
  struct Waiter {
    Stream* stream;
    tandem::Event event;
    Status of_stream{};
    Status of_event{};
    static bool wait(void* data, std::uint32_t /*index*/) noexcept {
      auto& self = *static_cast<Waiter*>(data);
      self.of_stream = self.stream->synchronize();
      self.of_event = self.event.synchronize();
      return false;
    }
  };
  const auto own = make_stream();
  Waiter waiter{own.get(), make_event()};
  Trace trace;
  // The event's point lies behind the work that waits for it.
  waiter.event.impl()->hold();
  ASSERT_TRUE(own->submit(&Waiter::wait, &waiter, 0).ok());
  ASSERT_TRUE(own->submit(&Trace::note, &trace, 0).ok());
  ASSERT_TRUE(own->synchronize().ok());
  EXPECT_EQ(waiter.of_stream.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(waiter.of_event.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(trace.seen().size(), 1U);
  waiter.event.impl()->signal();
}

TEST_P(HostWorkTest, HeldEventsPassWhenTheyAreSignalled) {
  const auto own = make_stream();
  const tandem::Event event = make_event();
  event.impl()->hold();
  EXPECT_FALSE(*event.is_done());
  Trace trace;
  ASSERT_TRUE(own->wait(*event.impl()).ok());
  ASSERT_TRUE(own->submit(&Trace::note, &trace, 0).ok());
  EXPECT_TRUE(trace.seen().empty());
  std::thread signaller{[&event] { event.impl()->signal(); }};
  ASSERT_TRUE(own->synchronize().ok());
  EXPECT_EQ(trace.seen().size(), 1U);
  EXPECT_TRUE(*event.is_done());
  signaller.join();
}

TEST_P(HostWorkTest, ReportedFailuresComeWithTheNextSynchronize) {
  const auto own = make_stream();
  own->report(Error{ErrorCode::BackendFailed, "first"});
  own->report(Error{ErrorCode::Internal, "second"});
  EXPECT_EQ(own->synchronize().error().message(), "first");
  EXPECT_TRUE(own->synchronize().ok());
}

TEST_P(HostWorkTest, ManyThreadsMayShareAStream) {
  const auto own = make_stream();
  Trace trace;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&own, &trace, t] {
      for (std::uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(own->submit(&Trace::note, &trace, t * 1000 + i).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(own->synchronize().ok());
  std::vector<std::uint32_t> next{0, 0, 0, 0};
  for (const std::uint32_t seen : trace.seen()) EXPECT_EQ(seen % 1000, next[seen / 1000]++);  // each thread's in order
  EXPECT_EQ(next, (std::vector<std::uint32_t>{200, 200, 200, 200}));
}

SeededHost& seeded() {
  static SeededHost host{1};
  return host;
}

std::string name_of(const ::testing::TestParamInfo<Candidate>& parameter) { return parameter.param.name; }

const Candidate kHost{"host", []() -> Result<Device*> { return &HostDevice::instance(); }};
const Candidate kSeeded{"seeded_host", []() -> Result<Device*> { return &seeded(); }};

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, ::testing::Values(kHost, kSeeded), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, HostWorkTest, ::testing::Values(kHost, kSeeded), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, GraphTest, ::testing::Values(kHost, kSeeded), name_of);

#ifdef TANDEM_HAS_CUDA
/// The last one: whatever is done on device 0 by accident fails where there are two.
Result<Device*> cuda() {
  TANDEM_TRY(Device* const last, cuda::find_device(std::max(cuda::device_count() - 1, 0)));
  return last;
}
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceTest, ::testing::Values(Candidate{"cuda", &cuda}), name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, GraphTest, ::testing::Values(Candidate{"cuda", &cuda}), name_of);
#endif
#ifdef TANDEM_HAS_HIP
const Candidate kHip{"hip", [] { return hip::find_device(0); }};
INSTANTIATE_TEST_SUITE_P(Hip, DeviceTest, ::testing::Values(kHip), name_of);
INSTANTIATE_TEST_SUITE_P(Hip, GraphTest, ::testing::Values(kHip), name_of);
#endif

}  // namespace
}  // namespace tandem::device
