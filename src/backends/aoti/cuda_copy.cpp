#include "backends/aoti/cuda_copy.h"

#include "backends/aoti/copy_elements.h"
#include "base/strided_axes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tandem::aoti {
namespace {

using base::Axis;

/// Whether an axis can be the rows of a two-dimensional copy.
bool is_pitch(const Axis& axis, std::int64_t width) noexcept { return axis.to >= width && axis.from >= width; }

}  // namespace

const char* copy_on_stream(const CudaFunctions& functions, cudaStream_t stream, const AtenTensor& target,
                           const AtenTensor& source) noexcept {
  if (target.dtype != source.dtype) return "these dtypes are not converted on the GPU";
  Strides from_strides{};
  if (!broadcast(target, source, from_strides)) return "the source does not broadcast to the target's sizes";
  if (target.numel() == 0) return nullptr;
  std::byte* to = target.data();
  const std::byte* from = source.data();
  if (to == nullptr || from == nullptr) return "a tensor has no memory";
  auto width = static_cast<std::int64_t>(item_bytes(target.dtype));
  base::Axes all = base::simplify(target.size_span(), target.stride_span(), {from_strides.data(), target.rank});
  for (Axis& axis : all.span()) axis = {axis.size, axis.to * width, axis.from * width};  // in bytes from here on
  std::span<Axis> axes = all.span();
  if (!axes.empty() && axes.back().to == width && axes.back().from == width) {
    width *= axes.back().size;
    axes = axes.first(axes.size() - 1);
  }
  if (to == from && axes.empty()) return nullptr;
  // The longest axis that can be rows is; the others are calls.
  Axis rows{1, width, width};
  auto row_axis = axes.end();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (is_pitch(*axis, width) && axis->size > rows.size) {
      rows = *axis;
      row_axis = axis;
    }
  }
  if (row_axis != axes.end()) {
    std::move(row_axis + 1, axes.end(), row_axis);
    axes = axes.first(axes.size() - 1);
  }
  std::int64_t calls = 1;
  for (const Axis& axis : axes) {
    if (__builtin_mul_overflow(calls, axis.size, &calls) || calls > kMaxCopies) {
      return "the layouts differ in too many places to be copied one by one";
    }
  }
  std::array<std::int64_t, kMaxRank> index{};
  for (std::int64_t left = calls; left > 0; --left) {
    const cudaError_t code =
        rows.size == 1 ? functions.copy(to, from, static_cast<std::size_t>(width), cudaMemcpyDefault, stream)
                       : functions.copy_2d(to, static_cast<std::size_t>(rows.to), from,
                                           static_cast<std::size_t>(rows.from), static_cast<std::size_t>(width),
                                           static_cast<std::size_t>(rows.size), cudaMemcpyDefault, stream);
    if (code != cudaSuccess) return functions.get_error_string(code);
    for (std::size_t d = axes.size(); d-- > 0;) {
      to += axes[d].to;
      from += axes[d].from;
      if (++index[d] < axes[d].size) break;
      to -= axes[d].to * axes[d].size;
      from -= axes[d].from * axes[d].size;
      index[d] = 0;
    }
  }
  return nullptr;
}

}  // namespace tandem::aoti
