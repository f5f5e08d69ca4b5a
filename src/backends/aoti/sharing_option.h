#pragma once

#include <tandem/backend.h>
#include <tandem/options.h>
#include <tandem/result.h>

#include <atomic>
#include <string_view>

namespace tandem::aoti {

/// ExecuTorch's option `weight_sharing_across_methods`: named buffers of all methods are one. Its other effect, one
/// copy of equal weights, needs no option here. Thread-safety: any thread.
class SharingOption {
 public:
  static constexpr std::string_view kKey = "weight_sharing_across_methods";

  /// Takes the process-wide value, if `options` has one. Errors: InvalidType, it is not a truth value.
  [[nodiscard]] Status set(const BackendOptions& options) {
    if (options.find(kKey) == nullptr) return {};
    TANDEM_TRY(const bool value, options.get<bool>(kKey));
    value_ = value;
    return {};
  }

  /// The load's own value, else the process's. Errors: InvalidType, it is not a truth value.
  [[nodiscard]] Result<bool> is_told(const LoadContext& context) const {
    if (context.options != nullptr && context.options->find(kKey) != nullptr) return context.options->get<bool>(kKey);
    return value_.load();
  }

 private:
  std::atomic<bool> value_{false};
};

}  // namespace tandem::aoti
