#include "cli/pack/state_memory.h"

#include "base/checked.h"

#include <algorithm>

namespace tandem::cli {
namespace {

constexpr std::uint32_t kHostArena = 1;
constexpr std::uint32_t kSharedArena = 2;
constexpr std::uint32_t kFirstDeviceArena = 3;
constexpr std::uint64_t kAlignment = 64;  // what vector code likes; runtimes align arenas to at least 16

/// The next place in an arena that ends at `end`, which moves.
std::optional<std::uint64_t> append(std::uint64_t& end, std::uint64_t bytes) {
  const auto padded = base::checked_add(end, kAlignment - 1);
  if (!padded) return std::nullopt;
  const std::uint64_t offset = *padded / kAlignment * kAlignment;
  const auto next = base::checked_add(offset, bytes);
  if (!next || *next > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  end = *next;
  return offset;
}

std::optional<PlannedMemory> in_arena(std::uint32_t arena, std::optional<std::uint64_t> offset) {
  if (!offset) return std::nullopt;
  return PlannedMemory{arena, *offset};
}

}  // namespace

std::optional<PlannedMemory> StateMemory::place(const ManifestTensor& tensor) {
  if (tensor.shared) {
    const auto known = shared_.find(tensor.name);
    if (known != shared_.end()) return PlannedMemory{kSharedArena, known->second};
    const auto offset = append(shared_end_, tensor.array.bytes);
    if (offset) shared_.emplace(tensor.name, *offset);
    return in_arena(kSharedArena, offset);
  }
  if (tensor.device == DeviceId{}) return in_arena(kHostArena, append(host_end_, tensor.array.bytes));
  auto at = std::find_if(devices_.begin(), devices_.end(),
                         [&tensor](const DeviceArena& arena) { return arena.device == tensor.device; });
  if (at == devices_.end()) at = devices_.insert(at, {tensor.device});
  return in_arena(kFirstDeviceArena + static_cast<std::uint32_t>(at - devices_.begin()),
                  append(at->end, tensor.array.bytes));
}

std::vector<std::pair<std::uint32_t, DeviceId>> StateMemory::device_arenas() const {
  std::vector<std::pair<std::uint32_t, DeviceId>> arenas;
  for (const DeviceArena& arena : devices_) {
    arenas.emplace_back(kFirstDeviceArena + static_cast<std::uint32_t>(arenas.size()), arena.device);
  }
  return arenas;
}

}  // namespace tandem::cli
