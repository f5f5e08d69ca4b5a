#include "backends/aoti/matrix_shims.h"

namespace tandem::aoti {

std::string shape_of(const AtenTensor& tensor) {
  std::string text{name_of(tensor.dtype)};
  text += "[";
  for (const std::int64_t size : tensor.size_span()) text += std::to_string(size) + ",";
  if (tensor.rank != 0) text.pop_back();
  return text + "]";
}

bool kinds_match(std::size_t rank, const AtenTensor& out, const AtenTensor& a, const AtenTensor& b) noexcept {
  return out.rank == rank && a.rank == rank && b.rank == rank && a.dtype == out.dtype && b.dtype == out.dtype;
}

bool shapes_match(std::size_t rank, const AtenTensor& out, const AtenTensor& a, const AtenTensor& b) noexcept {
  if (rank == 3 && (a.sizes[0] != out.sizes[0] || b.sizes[0] != out.sizes[0])) return false;
  const std::size_t row = rank - 2;
  return a.sizes[row] == out.sizes[row] && b.sizes[row + 1] == out.sizes[row + 1] && a.sizes[row + 1] == b.sizes[row];
}

}  // namespace tandem::aoti
