#include "cli/strided.h"

#include "base/strided_copy.h"

#include <cstddef>
#include <string>

namespace tandem::cli {
namespace {

/// Precondition: equal dtypes and sizes.
void copy_elements(const Tensor& from, const Tensor& to) {
  base::copy_strided(to.data(), to.strides(), from.data(), from.strides(), from.sizes(), item_bytes(from.dtype()));
}

}  // namespace

Result<Tensor> contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  TANDEM_TRY(Tensor copy, Tensor::empty(tensor.dtype(), tensor.sizes()));
  copy_elements(tensor, copy);
  return copy;
}

Result<Tensor> in_layout(const Tensor& tensor, std::span<const std::uint8_t> dim_order) {
  if (dim_order.size() != tensor.rank()) {
    return Error{ErrorCode::InvalidArgument, "dim_order has another length than the shape"}.with_expected(
        std::to_string(tensor.rank()), std::to_string(dim_order.size()));
  }
  bool row_major = true;
  for (std::size_t i = 0; i < dim_order.size(); ++i) row_major = row_major && dim_order[i] == i;
  if (row_major) return contiguous(tensor);
  TANDEM_TRY(Tensor copy, Tensor::empty(tensor.dtype(), tensor.sizes(), dim_order));
  copy_elements(tensor, copy);
  return copy;
}

Result<Tensor> row_of(const Tensor& tensor, std::int64_t index) {
  const auto step = index * tensor.strides()[0] * static_cast<std::int64_t>(item_bytes(tensor.dtype()));
  auto* data = tensor.data_as<std::byte>() + step;
  return Tensor::from_blob(data, tensor.dtype(), tensor.sizes().subspan(1), tensor.strides().subspan(1),
                           [tensor] { /* keeps the bytes */ });
}

}  // namespace tandem::cli
