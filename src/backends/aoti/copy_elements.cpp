#include "backends/aoti/copy_elements.h"

#include "backends/aoti/element.h"
#include "base/strided_copy.h"

#include <span>

namespace tandem::aoti {
namespace {

/// Element by element, in row-major order.
template <class To, class From>
void convert_elements(const AtenTensor& target, const AtenTensor& source, const Strides& from_strides) noexcept {
  auto* to = reinterpret_cast<To*>(target.data());
  const auto* from = reinterpret_cast<const From*>(source.data());
  Strides index{};
  for (std::int64_t left = target.numel(); left > 0; --left) {
    *to = convert<To>(*from);
    for (std::size_t d = target.rank; d-- > 0;) {
      to += target.strides[d];
      from += from_strides[d];
      if (++index[d] < target.sizes[d]) break;
      to -= target.strides[d] * target.sizes[d];
      from -= from_strides[d] * target.sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace

bool broadcast(const AtenTensor& target, const AtenTensor& source, Strides& strides) noexcept {
  if (source.rank > target.rank) return false;
  const std::size_t lead = target.rank - source.rank;
  for (std::size_t d = 0; d < target.rank; ++d) {
    const std::int64_t size = d < lead ? 1 : source.sizes[d - lead];
    if (size != target.sizes[d] && size != 1) return false;
    strides[d] = size == 1 ? 0 : source.strides[d - lead];
  }
  return true;
}

bool can_convert(ScalarType to, ScalarType from) noexcept {
  const auto is_real = [](ScalarType type) { return visit_real(type, [](auto) {}); };
  return to == from || (is_real(to) && is_real(from));
}

const char* copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept {
  Strides from_strides{};
  if (!broadcast(target, source, from_strides)) return "the source does not broadcast to the target's sizes";
  if (target.numel() == 0) return nullptr;
  if (target.data() == nullptr || source.data() == nullptr) return "a tensor has no memory";
  if (target.dtype == source.dtype) {
    const std::span<const std::int64_t> from{from_strides.data(), target.rank};
    const bool onto_itself =
        target.data() == source.data() && base::same_layout(target.size_span(), target.stride_span(), from);
    if (!onto_itself) {
      base::copy_strided(target.data(), target.stride_span(), source.data(), from, target.size_span(),
                         item_bytes(target.dtype));
    }
    return nullptr;
  }
  bool known_source = false;
  const bool known_target = visit_real(target.dtype, [&](auto to) {
    known_source = visit_real(
        source.dtype, [&](auto from) { convert_elements<decltype(to), decltype(from)>(target, source, from_strides); });
  });
  return known_target && known_source ? nullptr : "these dtypes can't be converted";
}

}  // namespace tandem::aoti
