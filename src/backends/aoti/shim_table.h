#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// A function that libraries import: its name and where Tandem has it.
struct Shim {
  std::string_view name{};
  std::uintptr_t address = 0;
};

/// What Tandem supplies to the libraries of one kind of device. Nothing is exported: addresses are written into each
/// library before it is loaded, so that other copies of these names in the process play no part.
///
/// Lifetime: as long as the process.
/// Source: PyTorch torch/csrc/inductor/aoti_torch/c/shim.h; docs/delegates-aoti.md lists the names.
class ShimTable {
 public:
  explicit ShimTable(std::vector<Shim> shims);
  /// 0 if the name is not there.
  [[nodiscard]] std::uintptr_t find(std::string_view name) const noexcept;
  /// Sorted by name.
  [[nodiscard]] std::span<const Shim> shims() const noexcept { return shims_; }

 private:
  std::vector<Shim> shims_;
};

[[nodiscard]] const ShimTable& shim_table_host();

/// The groups that tables are made of. Those without a device in their name serve every device.
void add_constant_shims(std::vector<Shim>& shims);
void add_metadata_shims(std::vector<Shim>& shims);
void add_handle_shims(std::vector<Shim>& shims);
void add_runtime_shims(std::vector<Shim>& shims);
/// `stderr` and `std::cerr`: a library's text goes to the call that it is in, else to the log sink.
void add_text_shims(std::vector<Shim>& shims);
void add_memory_shims(std::vector<Shim>& shims);
void add_scalar_shims(std::vector<Shim>& shims);
void add_host_matrix_shims(std::vector<Shim>& shims);

/// The address of a shim for its table.
template <class Return, class... Arguments>
[[nodiscard]] std::uintptr_t address_of(Return (*function)(Arguments...)) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace tandem::aoti
