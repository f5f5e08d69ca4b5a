#pragma once

#include "runtime/order/order_check.h"
#include "runtime/schedule.h"

#include <tandem/method.h>
#include <tandem/program.h>
#include <tandem/result.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

/// What the order check says of one way to put a method's steps on streams.
struct PlanCheck {
  StreamPolicy policy = StreamPolicy::PerThread;
  runtime::StreamPlan plan{};
  std::vector<runtime::Conflict> conflicts{};
  std::size_t pairs = 0;    ///< Of steps that are in conflict.
  std::size_t streams = 0;  ///< That steps run on.
};

/// What is known of one method without running it.
struct MethodCheck {
  std::string name{};
  std::vector<std::string> missing{};  ///< Why it does not run here: everything, not only the first.
  std::optional<Error> error{};        ///< What loading said.
  std::shared_ptr<Method> method{};    ///< Null if loading failed.
  std::optional<PlanCheck> order{};    ///< With the wanted policy; nothing without a loaded method.
  std::optional<PlanCheck> stream_per_delegate{};

  /// Operators, backends and data are here and took the program. Its order is another question.
  [[nodiscard]] bool runnable() const { return missing.empty(); }
  /// Nothing if it could not be checked.
  [[nodiscard]] std::optional<bool> ordered() const;
  [[nodiscard]] bool good() const { return runnable() && ordered() == true; }
};

/// Loads one method with `options` and checks its order. `problems` is what is known to be missing beforehand. Blocks:
/// delegates are prepared, so their code is loaded into this process.
[[nodiscard]] MethodCheck check_method(const std::shared_ptr<const Program>& program, const std::string& name,
                                       MethodOptions options, StreamPolicy policy, std::vector<std::string> problems);

}  // namespace tandem::cli
