#include "bench/suite/plan.h"

#include <cstring>
#include <type_traits>

namespace tandem::suite {
namespace {

struct Header {
  std::uint64_t kernels = 0;
  std::uint64_t weights = 0;
  std::uint64_t accesses = 0;
  std::uint64_t scratch_floats = 0;
};

template <class T>
void append(std::vector<std::byte>& bytes, const T* items, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* const from = reinterpret_cast<const std::byte*>(items);
  bytes.insert(bytes.end(), from, from + count * sizeof(T));
}

template <class T>
bool take(std::span<const std::byte>& bytes, T* items, std::size_t count) {
  if (bytes.size() < count * sizeof(T)) return false;
  if (count != 0) std::memcpy(items, bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return true;
}

/// Counts are held against what is left before anything is allocated.
template <class T>
bool take(std::span<const std::byte>& bytes, std::vector<T>& items, std::uint64_t count) {
  if (count > bytes.size() / sizeof(T)) return false;
  items.resize(count);
  return take(bytes, items.data(), items.size());
}

}  // namespace

std::vector<std::byte> write_plan(const Plan& plan) {
  const Header header{plan.kernels.size(), plan.weights.size(), plan.accesses.size(), plan.scratch_floats};
  std::vector<std::byte> bytes;
  append(bytes, &header, 1);
  append(bytes, plan.kernels.data(), plan.kernels.size());
  append(bytes, plan.weights.data(), plan.weights.size());
  append(bytes, plan.accesses.data(), plan.accesses.size());
  return bytes;
}

Result<Plan> read_plan(std::span<const std::byte> payload) {
  Header header;
  Plan plan;
  if (!take(payload, &header, 1) || !take(payload, plan.kernels, header.kernels) ||
      !take(payload, plan.weights, header.weights) || !take(payload, plan.accesses, header.accesses) ||
      !payload.empty()) {
    return Error{ErrorCode::InvalidProgram, "the payload is no plan of the suite"};
  }
  plan.scratch_floats = header.scratch_floats;
  return plan;
}

KernelCall resolve(const KernelSpec& spec, const Bindings& bindings) noexcept {
  const auto address = [&bindings](const Place& place) -> void* {
    switch (place.kind) {
      case Place::Kind::None:
        return nullptr;
      case Place::Kind::Argument:
        return bindings.arguments[place.at];
      case Place::Kind::Weight:
        return const_cast<float*>(bindings.weights + place.at);
      case Place::Kind::Scratch:
        return bindings.scratch + place.at;
    }
    return nullptr;
  };
  KernelCall call = spec.call;
  if (call.rows == 0) call.rows = bindings.rows;
  for (std::size_t i = 0; i < 4; ++i) call.in[i] = address(spec.in[i]);
  call.out = address(spec.out);
  return call;
}

}  // namespace tandem::suite
