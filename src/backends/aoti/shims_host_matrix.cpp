#include "backends/aoti/copy_elements.h"
#include "backends/aoti/gemm.h"
#include "backends/aoti/matrix_shims.h"

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

struct Host {
  static constexpr const char* kMm = "aoti_torch_cpu_mm_out";
  static constexpr const char* kBmm = "aoti_torch_cpu_bmm_out";
  static constexpr const char* kAddmm = "aoti_torch_cpu_addmm_out";
  static constexpr const char* kBaddbmm = "aoti_torch_cpu_baddbmm_out";

  static std::int32_t multiply(const char* shim, const MatrixProduct& product) {
    const auto& [out, self, a, b, beta, alpha] = product;
    if (!has_gemm(out.dtype)) return refuse_always(shim, "no products of this dtype: " + shape_of(out));
    const bool in_place = self != nullptr && self->data() == out.data();
    if (self != nullptr && beta != 0 && !in_place) {
      if (self->dtype != out.dtype) return refuse_always(shim, "self has another dtype: " + shape_of(*self));
      if (const char* why = copy_elements(out, *self); why != nullptr) return refuse(shim, why);
    }
    const std::int64_t batches = out.rank == 3 ? out.sizes[0] : 1;
    for (std::int64_t i = 0; i < batches; ++i) {
      const char* why = gemm(out.dtype, matrix_of(out, i), matrix_of(a, i), matrix_of(b, i), beta, alpha);
      if (why != nullptr) return refuse(shim, std::string{why} + ": " + shape_of(out));
    }
    return kShimOk;
  }
};

}  // namespace

void add_host_matrix_shims(std::vector<Shim>& shims) { MatrixShims<Host>::add(shims); }

}  // namespace tandem::aoti
