#include "backends/aoti/copy_elements.h"
#include "backends/aoti/gemm.h"
#include "backends/aoti/shim_guard.h"
#include "backends/aoti/shim_table.h"

#include <string>

namespace tandem::aoti {
namespace {

/// The last two dimensions of `tensor`, at index `batch` of the first of three.
Matrix matrix_of(const AtenTensor& tensor, std::int64_t batch = 0) noexcept {
  const std::size_t lead = tensor.rank - std::size_t{2};
  const std::int64_t start = lead == 0 ? 0 : batch * tensor.strides[0];
  return {tensor.data() + start * static_cast<std::int64_t>(item_bytes(tensor.dtype)), tensor.sizes[lead],
          tensor.sizes[lead + 1], tensor.strides[lead], tensor.strides[lead + 1]};
}

std::string shape_of(const AtenTensor& tensor) {
  std::string text{name_of(tensor.dtype)};
  text += "[";
  for (const std::int64_t size : tensor.size_span()) text += std::to_string(size) + ",";
  if (tensor.rank != 0) text.pop_back();
  return text + "]";
}

/// Whether out = a @ b makes sense for tensors of `rank` dimensions.
bool shapes_match(std::size_t rank, const AtenTensor& out, const AtenTensor& a, const AtenTensor& b) noexcept {
  if (out.rank != rank || a.rank != rank || b.rank != rank) return false;
  if (a.dtype != out.dtype || b.dtype != out.dtype) return false;
  if (rank == 3 && (a.sizes[0] != out.sizes[0] || b.sizes[0] != out.sizes[0])) return false;
  const std::size_t row = rank - 2;
  return a.sizes[row] == out.sizes[row] && b.sizes[row + 1] == out.sizes[row + 1] && a.sizes[row + 1] == b.sizes[row];
}

/// out = beta * self + alpha * a @ b, batched for rank 3. `self` broadcasts; null with beta 0.
std::int32_t multiply(const char* shim, std::size_t rank, AtenTensor* out, AtenTensor* self, AtenTensor* a,
                      AtenTensor* b, double beta, double alpha) noexcept {
  if (!is_live(out) || !is_live(a) || !is_live(b) || (self != nullptr && !is_live(self))) return refuse_handle(shim);
  return guarded(shim, [&] {
    if (!shapes_match(rank, *out, *a, *b)) {
      return refuse(shim, "shapes do not fit: " + shape_of(*out) + " from " + shape_of(*a) + " and " + shape_of(*b));
    }
    const bool in_place = self != nullptr && self->data() == out->data();
    if (self != nullptr && beta != 0 && !in_place) {
      if (self->dtype != out->dtype) return refuse(shim, "self has another dtype: " + shape_of(*self));
      if (const char* why = copy_elements(*out, *self); why != nullptr) return refuse(shim, why);
    }
    const std::int64_t batches = rank == 3 ? out->sizes[0] : 1;
    for (std::int64_t i = 0; i < batches; ++i) {
      const char* why = gemm(out->dtype, matrix_of(*out, i), matrix_of(*a, i), matrix_of(*b, i), beta, alpha);
      if (why != nullptr) return refuse(shim, std::string{why} + ": " + shape_of(*out));
    }
    return kShimOk;
  });
}

std::int32_t mm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat2) noexcept {
  return multiply("cpu_mm_out", 2, out, nullptr, self, mat2, 0, 1);
}
std::int32_t bmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat2) noexcept {
  return multiply("cpu_bmm_out", 3, out, nullptr, self, mat2, 0, 1);
}
std::int32_t addmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* mat1, AtenTensor* mat2, double beta,
                       double alpha) noexcept {
  if (self == nullptr) return refuse_handle("cpu_addmm_out");
  return multiply("cpu_addmm_out", 2, out, self, mat1, mat2, beta, alpha);
}
std::int32_t baddbmm_out(AtenTensor* out, AtenTensor* self, AtenTensor* batch1, AtenTensor* batch2, double beta,
                         double alpha) noexcept {
  if (self == nullptr) return refuse_handle("cpu_baddbmm_out");
  return multiply("cpu_baddbmm_out", 3, out, self, batch1, batch2, beta, alpha);
}

/// out = a @ b + c @ d.
std::int32_t mm_plus_mm_out(AtenTensor* out, AtenTensor* a, AtenTensor* b, AtenTensor* c, AtenTensor* d) noexcept {
  constexpr const char* kShim = "_mm_plus_mm_out";
  const std::int32_t status = multiply(kShim, 2, out, nullptr, a, b, 0, 1);
  return status == kShimOk ? multiply(kShim, 2, out, out, c, d, 1, 1) : status;
}

}  // namespace

void add_host_matrix_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_cpu_mm_out", address_of(mm_out)},
                                {"aoti_torch_cpu_bmm_out", address_of(bmm_out)},
                                {"aoti_torch_cpu_addmm_out", address_of(addmm_out)},
                                {"aoti_torch_cpu_baddbmm_out", address_of(baddbmm_out)},
                                {"aoti_torch__mm_plus_mm_out", address_of(mm_plus_mm_out)},
                            });
}

}  // namespace tandem::aoti
