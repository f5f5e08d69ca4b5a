#pragma once

#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"
#include "backends/aoti/tensor_handle.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// out = beta * self + alpha * a @ b, batched for tensors of three dimensions. Shapes and dtypes of out, a and b fit.
struct MatrixProduct {
  const AtenTensor& out;
  /// Broadcasts; null with beta 0.
  const AtenTensor* self;
  const AtenTensor& a;
  const AtenTensor& b;
  double beta;
  double alpha;
};

/// For messages: float32[2,3].
[[nodiscard]] std::string shape_of(const AtenTensor& tensor);

/// Tells if the tensors have `rank` dimensions and one dtype, which no data changes.
[[nodiscard]] bool kinds_match(std::size_t rank, const AtenTensor& out, const AtenTensor& a,
                               const AtenTensor& b) noexcept;
/// Tells if the sizes of out = a @ b fit. Precondition: kinds_match().
[[nodiscard]] bool shapes_match(std::size_t rank, const AtenTensor& out, const AtenTensor& a,
                                const AtenTensor& b) noexcept;

/// The products of AOTInductor's C interface on one kind of device, which has their names (kMm, kBmm, kAddmm, kBaddbmm:
/// "aoti_torch_<device>_mm_out" and so on) and
///
///   static std::int32_t multiply(const char* shim, const MatrixProduct& product);
///
/// which may throw, and whose refusals name `shim`.
template <class Device>
class MatrixShims {
 public:
  static void add(std::vector<Shim>& shims) {
    shims.insert(shims.end(), {
                                  {Device::kMm, address_of(mm_out)},
                                  {Device::kBmm, address_of(bmm_out)},
                                  {Device::kAddmm, address_of(addmm_out)},
                                  {Device::kBaddbmm, address_of(baddbmm_out)},
                                  {kMmPlusMm, address_of(mm_plus_mm_out)},
                              });
  }

 private:
  static constexpr const char* kMmPlusMm = "aoti_torch__mm_plus_mm_out";

  /// A name as refusals have it.
  static constexpr const char* without_prefix(const char* symbol) noexcept {
    return symbol + std::string_view{"aoti_torch_"}.size();
  }

  static std::int32_t multiply(const char* symbol, std::size_t rank, AtenTensor* out, AtenTensor* self, AtenTensor* a,
                               AtenTensor* b, double beta, double alpha) noexcept {
    const char* const shim = without_prefix(symbol);
    if (!is_live(out) || !is_live(a) || !is_live(b) || (self != nullptr && !is_live(self))) return refuse_handle(shim);
    return guarded(shim, [&] {
      if (!kinds_match(rank, *out, *a, *b)) {
        return refuse_always(
            shim, "ranks or dtypes do not fit: " + shape_of(*out) + " from " + shape_of(*a) + " and " + shape_of(*b));
      }
      if (!shapes_match(rank, *out, *a, *b)) {
        return refuse(shim, "shapes do not fit: " + shape_of(*out) + " from " + shape_of(*a) + " and " + shape_of(*b));
      }
      return Device::multiply(shim, {*out, self, *a, *b, beta, alpha});
    });
  }

  static std::int32_t mm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat2) noexcept {
    return multiply(Device::kMm, 2, out, nullptr, self, mat2, 0, 1);
  }
  static std::int32_t bmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat2) noexcept {
    return multiply(Device::kBmm, 3, out, nullptr, self, mat2, 0, 1);
  }
  static std::int32_t addmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat1, AtenTensor* mat2, double beta,
                                double alpha) noexcept {
    if (self == nullptr) return refuse_handle(without_prefix(Device::kAddmm));
    return multiply(Device::kAddmm, 2, out, self, mat1, mat2, beta, alpha);
  }
  static std::int32_t baddbmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* batch1, AtenTensor* batch2,
                                  double beta, double alpha) noexcept {
    if (self == nullptr) return refuse_handle(without_prefix(Device::kBaddbmm));
    return multiply(Device::kBaddbmm, 3, out, self, batch1, batch2, beta, alpha);
  }
  /// out = a @ b + c @ d.
  static std::int32_t mm_plus_mm_out(AtenTensor* out, AtenTensor* a, AtenTensor* b, AtenTensor* c,
                                     AtenTensor* d) noexcept {
    const std::int32_t status = multiply(kMmPlusMm, 2, out, nullptr, a, b, 0, 1);
    return status == kShimOk ? multiply(kMmPlusMm, 2, out, out, c, d, 1, 1) : status;
  }
};

}  // namespace tandem::aoti
