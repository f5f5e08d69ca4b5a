#include "runtime/lower/lower.h"

#include "runtime/order/lifetime.h"
#include "runtime/order/order_check.h"

namespace tandem::runtime {

Result<std::unique_ptr<Schedule>> lower(const LowerInput& input) {
  auto schedule = std::make_unique<Schedule>();
  schedule->method = input.method.name;
  schedule->device = input.device;
  TANDEM_CHECK_OK(resolve_values(input, *schedule));
  TANDEM_CHECK_OK(resolve_steps(input, *schedule));
  TANDEM_CHECK_OK(prepare_delegates(input, *schedule));
  find_shared_buffers(input, *schedule);
  TANDEM_CHECK_OK(find_silent_views(input, *schedule));
  join_aliases(input, *schedule);
  TANDEM_CHECK_OK(assign_devices(input, *schedule));
  gather_copies(*schedule);
  find_roots(*schedule);
  schedule->streams = plan_streams(*schedule, input.stream_policy);
  schedule->regions = find_regions(*schedule);
  if (input.plan_branches) find_branches(*schedule);
  TANDEM_CHECK_OK(place(input, *schedule));
  TANDEM_CHECK_OK(bound_inputs(input, *schedule));
  TANDEM_CHECK_OK(plan_memory(input, *schedule));
  collect_accesses(*schedule);
  order_branches(*schedule);
  TANDEM_CHECK_OK(check_lifetimes(*schedule));
  if (!input.allow_races) TANDEM_CHECK_OK(check_order(*schedule));
  return schedule;
}

}  // namespace tandem::runtime
