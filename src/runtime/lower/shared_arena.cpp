#include "runtime/lower/lower.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

namespace tandem::runtime {
namespace {

/// A place in the shared arena.
struct Place {
  std::uint64_t bytes = 0;
  std::size_t method = 0;  ///< The first that has it.
  bool in_two_methods = false;
  bool is_written = false;  ///< In the method at hand.
  bool is_read = false;
  bool is_read_first = false;
};
using Places = std::map<std::uint64_t, Place>;  // by offset

/// Null for what is not in the arena, or is an input, which lives elsewhere.
const format::Tensor* in_arena(const format::Method& method, std::size_t value) {
  const auto* const tensor = std::get_if<format::Tensor>(&method.values[value]);
  if (tensor == nullptr || !tensor->allocation || tensor->allocation->memory_id != kSharedArena) return nullptr;
  const auto is_value = [value](std::int32_t index) { return static_cast<std::size_t>(index) == value; };
  return std::ranges::any_of(method.inputs, is_value) ? nullptr : tensor;
}

/// Empty if the arena is not one that methods share.
Places find_places(const format::Program& file) {
  Places places;
  for (std::size_t m = 0; m < file.methods.size(); ++m) {
    const format::Method& method = file.methods[m];
    if (method.arenas.size() <= kSharedArena) continue;
    if (method.arenas[kSharedArena].device != DeviceId{}) return {};
    for (std::size_t v = 0; v < method.values.size(); ++v) {
      const format::Tensor* const tensor = in_arena(method, v);
      if (tensor == nullptr) continue;
      const auto [known, is_new] = places.try_emplace(tensor->allocation->offset, Place{tensor->bytes, m});
      if (known->second.bytes != tensor->bytes) return {};
      known->second.in_two_methods = known->second.in_two_methods || known->second.method != m;
    }
  }
  std::uint64_t end = 0;
  for (const auto& [offset, place] : places) {
    if (offset < end) return {};
    end = offset + place.bytes;
  }
  return places;
}

}  // namespace

void find_shared_buffers(const LowerInput& input, Schedule& schedule) {
  Places places = find_places(input.file);
  if (places.empty()) return;
  const auto place_of = [&](std::uint32_t value) -> Place* {
    const bool is_there = value < input.method.values.size() && in_arena(input.method, value) != nullptr;
    return is_there ? &places.at(schedule.values[value].planned_offset) : nullptr;
  };
  for (const Step& step : schedule.steps) {
    for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
      Place* const place = place_of(value);
      if (place == nullptr || !reads(mode)) return;
      place->is_read_first = place->is_read_first || !place->is_written;
      place->is_read = true;
    });
    for_each_tensor(schedule, step, [&](std::uint32_t value, OpAccess mode) {
      if (Place* const place = place_of(value); place != nullptr && writes(mode)) place->is_written = true;
    });
  }
  for (const std::int32_t output : input.method.outputs) {
    if (Place* const place = place_of(static_cast<std::uint32_t>(output)); place != nullptr) place->is_read = true;
  }
  for (std::uint32_t v = 0; v < input.method.values.size(); ++v) {
    const Place* const place = place_of(v);
    if (place == nullptr) continue;
    const bool outlives = place->is_read_first || (place->is_written && !place->is_read);
    schedule.values[v].is_shared =
        place->in_two_methods || outlives || !schedule.values[v].name.empty() || !schedule.values[v].initial.empty();
  }
}

}  // namespace tandem::runtime
