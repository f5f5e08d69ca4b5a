#include "bench/suite/scenario.h"

#include <fmt/format.h>

namespace tandem::suite {

/// One delegate, which is as much as a caller could have called directly.
Status kernels(const Context& context) {
  constexpr std::int64_t kWidth = 4096;
  for (const int count : {1, 10, 100}) {
    Model model;
    const std::size_t input = model.add({.role = ModelValue::Role::Input, .sizes = {1, kWidth}});
    const std::size_t output = model.add({.role = ModelValue::Role::Output, .sizes = {1, kWidth}});
    std::vector<KernelSpec> specs;
    for (int i = 0; i < count; ++i) {
      KernelSpec spec = exact_kernel(kWidth, context.repeats(101, 1), static_cast<float>(i));
      spec.call.blocks = 32;
      if (i > 0) spec.in[0] = argument(1);  // in place
      specs.push_back(spec);
    }
    model.call(std::move(specs), {input, output});
    const Goal goal = count == 100 ? Goal{.ratio = 1.01} : Goal{.extra = 1};
    TANDEM_CHECK_OK(measure_plain(context, {.scenario = "kernels",
                                            .name = fmt::format("{} in one delegate", count),
                                            .model = model,
                                            .goals = {{"Tandem", goal}, {"steps", goal}, {"graph", goal}}}));
  }
  return {};
}

}  // namespace tandem::suite
