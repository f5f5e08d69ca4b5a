#include "device/gpu/devices.h"
#include "unit/device/fake_test.h"

#include <sys/wait.h>
#include <unistd.h>

namespace tandem::device::gpu {
namespace {

using DevicesTest = FakeTest;

TEST_F(DevicesTest, AreAllThatTheDriverHas) {
  Devices<FakeApi> devices;
  EXPECT_EQ(devices.count(), 2);
  EXPECT_EQ((*devices.find(1))->id(), (DeviceId{DeviceType::Cuda, 1}));
  EXPECT_EQ(*devices.find(1), *devices.find(1));
  EXPECT_EQ(calls(), (std::vector<std::string>{"device_count@0"})) << "looking for devices used one";
}

TEST_F(DevicesTest, OthersAreNotFoundAndThoseThereAreNamed) {
  Devices<FakeApi> devices;
  for (const int index : {-1, 2, 100}) {
    const auto found = devices.find(index);
    EXPECT_EQ(found.error().code(), ErrorCode::NotFound);
    EXPECT_EQ(found.error().expected(), "cuda:0 to cuda:1");
  }
}

TEST_F(DevicesTest, NoDriverIsNoDevice) {
  fake().fail("device_count", FakeCode::NoDevice);
  Devices<FakeApi> devices;
  EXPECT_EQ(devices.count(), 0);
  for (const auto& found : {devices.find(0), devices.current()}) {
    EXPECT_EQ(found.error().code(), ErrorCode::NotSupported);
    EXPECT_EQ(found.error().native().code, 100);
  }
}

TEST_F(DevicesTest, TheCurrentOneIsTheCallers) {
  Devices<FakeApi> devices;
  callers_device_ = fake().current = 1;
  EXPECT_EQ((*devices.current())->id().index, 1);
}

TEST_F(DevicesTest, AForkedChildHasNone) {
  Devices<FakeApi> devices;
  const auto stream = make_stream();
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused = devices.count() == 0 && devices.find(0).error().code() == ErrorCode::InvalidState &&
                            stream->synchronize().error().code() == ErrorCode::InvalidState;
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tandem::device::gpu
