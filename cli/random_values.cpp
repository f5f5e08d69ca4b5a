#include "cli/random_values.h"

#include "cli/elements.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>

namespace tandem::cli {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) noexcept : state_{state} {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += kGolden;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
    return z ^ (z >> 31U);
  }
  /// Multiples of 2^(1-kBits) in [-1, 1).
  template <class Float, int kBits>
  Float unit() noexcept {
    return std::ldexp(static_cast<Float>(next() >> (64 - kBits)), 1 - kBits) - Float{1};
  }

 private:
  std::uint64_t state_;
};

void draw(SplitMix64& random, float& out) { out = random.unit<float, 24>(); }
void draw(SplitMix64& random, double& out) { out = random.unit<double, 53>(); }
void draw(SplitMix64& random, Float16& out) { out = Float16::exactly(random.unit<float, 11>()); }
void draw(SplitMix64& random, BrainFloat16& out) { out = BrainFloat16::exactly(random.unit<float, 8>()); }
void draw(SplitMix64& random, Truth& out) { out.byte = static_cast<std::uint8_t>(random.next() >> 63U); }
template <std::integral T>
void draw(SplitMix64& random, T& out) {
  out = static_cast<T>(random.next() >> 61U);
}
template <class T>
void draw(SplitMix64& random, std::complex<T>& out) {
  T real{};
  T imag{};
  draw(random, real);
  draw(random, imag);
  out = {real, imag};
}

}  // namespace

Result<Tensor> random_tensor(ScalarType dtype, std::span<const std::int64_t> sizes, std::uint64_t seed,
                             std::uint64_t stream) {
  return visit_element(dtype, [&]<class T>(T) -> Result<Tensor> {
    if constexpr (std::same_as<T, RawByte>) {
      return Error{ErrorCode::NotSupported, fmt::format("no random values for dtype {}", name_of(dtype))};
    } else {
      TANDEM_TRY(Tensor tensor, Tensor::empty(dtype, sizes));
      // One step of the generator between seed and stream, so that (1, 0) and (0, 1) differ.
      SplitMix64 random{SplitMix64{seed}.next() + stream * kGolden};
      const auto count = static_cast<std::size_t>(tensor.numel());
      for (std::size_t i = 0; i < count; ++i) draw(random, tensor.data_as<T>()[i]);
      return tensor;
    }
  });
}

}  // namespace tandem::cli
