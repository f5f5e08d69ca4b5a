#include "backends/aoti/shim_table.h"

#include <algorithm>
#include <utility>

namespace tandem::aoti {

ShimTable::ShimTable(std::vector<Shim> shims) : shims_{std::move(shims)} { std::ranges::sort(shims_, {}, &Shim::name); }

std::uintptr_t ShimTable::find(std::string_view name) const noexcept {
  const auto found = std::ranges::lower_bound(shims_, name, {}, &Shim::name);
  return found != shims_.end() && found->name == name ? found->address : 0;
}

const ShimTable& shim_table_host() {
  static const ShimTable* table = [] {
    std::vector<Shim> shims;
    add_constant_shims(shims);
    add_metadata_shims(shims);
    add_handle_shims(shims);
    add_runtime_shims(shims);
    add_text_shims(shims);
    add_memory_shims(shims);
    add_scalar_shims(shims);
    add_host_matrix_shims(shims);
    return new ShimTable{std::move(shims)};  // never destroyed: loaded libraries point into it
  }();
  return *table;
}

}  // namespace tandem::aoti
