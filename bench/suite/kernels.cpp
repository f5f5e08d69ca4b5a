#include "bench/suite/scenario.h"

#include <fmt/format.h>

namespace tandem::suite {

/// One delegate, which is as much as a caller could have called directly.
Status kernels(const Context& context) {
  // Long enough for a processor that where the buffers lie makes no difference.
  const std::int64_t width = context.machine.is_slow() ? 1024 : 4096;
  const std::int32_t repeats = context.repeats(101, 7);
  for (const int count : {1, 10, 100}) {
    Model model;
    const std::size_t input = model.add({.role = ModelValue::Role::Input, .sizes = {1, width}});
    const std::size_t output = model.add({.role = ModelValue::Role::Output, .sizes = {1, width}});
    std::vector<KernelSpec> specs;
    for (int i = 0; i < count; ++i) {
      KernelSpec spec = exact_kernel(width, repeats, static_cast<float>(i));
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
