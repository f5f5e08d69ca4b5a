#include "bench/suite/scenario.h"

namespace tandem::suite {
namespace {

constexpr std::int64_t kWidth = 512;
constexpr int kLinks = 6;

}  // namespace

/// Every branch is `kLinks` delegates with one kernel, short and longer ones.
Status branches(const Context& context) {
  Model model;
  const auto between = [&model] { return model.add({.sizes = {1, kWidth}}); };
  const std::size_t input = model.add({.role = ModelValue::Role::Input, .sizes = {1, kWidth}});
  std::vector<std::size_t> ends;
  for (int branch = 0; branch < 4; ++branch) {
    std::size_t last = input;
    for (int i = 0; i < kLinks; ++i) {
      const std::size_t next = between();
      const std::int32_t length = context.repeats(i % 2 == 0 ? 1000 : 4000, i % 2 == 0 ? 10 : 40);
      const float amount = static_cast<float>(branch + 1) * 0.25F + static_cast<float>(i * i);
      model.call({exact_kernel(kWidth, length, amount)}, {last, next});
      last = next;
    }
    ends.push_back(last);
  }
  const std::size_t output = model.add({.role = ModelValue::Role::Output, .sizes = {1, kWidth}});
  KernelSpec join;
  join.call.op = Op::Sum4;
  join.call.columns = kWidth;
  for (std::uint32_t i = 0; i < 4; ++i) join.in[i] = argument(i);
  join.out = argument(4);
  model.call({join}, {ends[0], ends[1], ends[2], ends[3], output});
  // Goals of modes that the machine does not have are not used.
  return measure_plain(context,
                       {.scenario = "branches",
                        .name = "four chains of 6 and a join",
                        .model = model,
                        .goals = {{"graph", {.ratio = 1.03, .extra = 1}}, {"branches", {.ratio = 0.5}, "graph"}},
                        .parts = 25,
                        .has_forked_graph = true});
}

}  // namespace tandem::suite
