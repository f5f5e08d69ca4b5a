#include "device/device.h"
#include "device/host/host_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace tandem::device {
namespace {

/// What every device must do. Further devices add themselves at the end of the file.
class DeviceTest : public ::testing::TestWithParam<Device*> {
 protected:
  Device& device() { return *GetParam(); }
  Stream& stream() { return device().thread_stream(); }
};

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

TEST_P(DeviceTest, WorkRunsInOrder) {
  std::vector<std::uint32_t> seen;
  const auto note = [](void* data, std::uint32_t index) -> Status {
    static_cast<std::vector<std::uint32_t>*>(data)->push_back(index);
    return {};
  };
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(stream().submit(note, &seen, i).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST_P(DeviceTest, CopiesMoveBytes) {
  auto from = device().allocate(100);
  auto to = device().allocate(100);
  ASSERT_TRUE(from.ok() && to.ok());
  std::vector<std::byte> sent(100, std::byte{7});
  std::vector<std::byte> received(100);
  ASSERT_TRUE(stream().copy(from->data(), sent.data(), 100).ok());
  ASSERT_TRUE(stream().copy(to->data(), from->data(), 100).ok());
  ASSERT_TRUE(stream().copy(received.data(), to->data(), 100).ok());
  ASSERT_TRUE(stream().copy(received.data(), to->data(), 0).ok());
  ASSERT_TRUE(stream().synchronize().ok());
  EXPECT_EQ(received, sent);
}

TEST_P(DeviceTest, EventsPassWithTheirStream) {
  auto event = device().make_event();
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(*(*event)->is_done());  // never recorded
  ASSERT_TRUE(stream().record(**event).ok());
  ASSERT_TRUE(stream().wait(**event).ok());
  ASSERT_TRUE((*event)->synchronize().ok());
  EXPECT_TRUE(*(*event)->is_done());
}

TEST_P(DeviceTest, ForeignEventsAreRefused) {
  class ForeignEvent final : public Event {
    Result<bool> is_done() const override { return false; }
    Status synchronize() const override { return {}; }
  };
  ForeignEvent foreign;
  EXPECT_EQ(stream().record(foreign).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(stream().wait(foreign).error().code(), ErrorCode::InvalidArgument);
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
  EXPECT_NE(others[0], others[1]);
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceTest, ::testing::Values(&HostDevice::instance()),
                         [](const auto& /*info*/) { return "host"; });

}  // namespace
}  // namespace tandem::device
