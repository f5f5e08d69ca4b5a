#pragma once

#include <tandem/export.h>
#include <tandem/result.h>

#include <array>
#include <cstddef>
#include <memory>

namespace tandem {

/// One launch of a kernel, as the device's driver takes it.
struct KernelLaunch {
  void* function = nullptr;  ///< A CUfunction or hipFunction_t.
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;  ///< Pointers to the arguments, which are copied; or null, and `extra` has them.
  void** extra = nullptr;
};

/// Where a delegate puts its work while a graph is recorded, instead of on a stream: nothing runs. What it puts here is
/// done in this order each time the graph runs, with the same addresses.
///
/// Lifetime: during one DelegateContext::enqueue().
/// Thread-safety: none.
class TANDEM_EXPORT Recorder {
 public:
  virtual ~Recorder() = default;
  /// Errors: NotSupported, the device records no such launch; what the driver says.
  [[nodiscard]] virtual Status kernel(const KernelLaunch& launch) = 0;
  /// A copy between ranges of the device's memory.
  [[nodiscard]] virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Keeps `memory`, which recorded work uses, as long as the graph.
  virtual void keep(std::shared_ptr<const void> memory) = 0;
};

}  // namespace tandem
