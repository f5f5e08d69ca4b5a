#include "runtime/state_memory.h"

#include "device/host/host_device.h"
#include "support/simulated_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace tandem {
namespace {

using runtime::StateMemory;

struct Place {
  const char* name;
  bool on_gpu;
  StateMemory::Home home;
};

void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

class StateMemoryTest : public ::testing::TestWithParam<Place> {
 protected:
  device::Device& device() {
    if (GetParam().on_gpu) return gpu_;
    return device::HostDevice::instance();
  }
  std::shared_ptr<StateMemory> make(std::size_t bytes, std::span<const std::byte> initial) {
    auto made = StateMemory::create(device(), GetParam().home, bytes, initial);
    EXPECT_TRUE(made.ok());
    return *made;
  }

  testing::SimulatedGpu gpu_{1};
};

TEST_P(StateMemoryTest, InitialBytesAreFollowedByZeros) {
  const std::vector<std::byte> initial(3, std::byte{7});
  const auto memory = make(5, initial);
  const std::vector<std::byte> expected{std::byte{7}, std::byte{7}, std::byte{7}, std::byte{0}, std::byte{0}};
  EXPECT_TRUE(std::ranges::equal(memory->bytes(), expected));
  EXPECT_TRUE(*memory->is_initial());
}

TEST_P(StateMemoryTest, AChangeAnywhereIsSeenAndResetUndoesIt) {
  constexpr std::size_t kBytes = (std::size_t{1} << 20) + 5;  // more than is compared at a time
  std::vector<std::byte> initial(kBytes - 2, std::byte{3});
  const auto memory = make(kBytes, initial);
  for (const std::size_t at : {std::size_t{0}, (std::size_t{1} << 20) - 1, std::size_t{1} << 20, kBytes - 1}) {
    memory->bytes()[at] ^= std::byte{1};
    EXPECT_FALSE(*memory->is_initial()) << at;
    ASSERT_TRUE(memory->reset().ok());
    EXPECT_TRUE(*memory->is_initial()) << at;
  }
}

TEST_P(StateMemoryTest, NoBytesAreInitial) {
  const auto memory = make(0, {});
  EXPECT_TRUE(*memory->is_initial());
  EXPECT_TRUE(memory->reset().ok());
}

TEST_P(StateMemoryTest, ContentsAgreeAsFarAsZerosFollow) {
  const std::vector<std::byte> one(4, std::byte{1});
  const std::vector<std::byte> longer{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{0}};
  const std::vector<std::byte> other{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{2}};
  const auto memory = make(8, one);
  EXPECT_TRUE(memory->begins_as(one));
  EXPECT_TRUE(memory->begins_as(longer));
  EXPECT_FALSE(memory->begins_as(other));
  EXPECT_FALSE(memory->begins_as({}));
}

INSTANTIATE_TEST_SUITE_P(Homes, StateMemoryTest,
                         ::testing::Values(Place{"host", false, StateMemory::Home::Staging},
                                           Place{"pageable", true, StateMemory::Home::Host},
                                           Place{"staging", true, StateMemory::Home::Staging},
                                           Place{"device", true, StateMemory::Home::Device}),
                         [](const auto& place) { return std::string{place.param.name}; });

}  // namespace
}  // namespace tandem
