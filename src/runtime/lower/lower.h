#pragma once

#include "format/data_map.h"
#include "format/pte/pte.h"
#include "runtime/schedule.h"

#include <tandem/backend.h>
#include <tandem/method.h>
#include <tandem/options.h>
#include <tandem/result.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tandem::runtime {

/// What lowering reads. Everything outlives the call; `file`, `data` and `operators` outlive the schedule.
struct LowerInput {
  const format::Program& file;
  const format::Method& method;
  const format::DataMap& data;
  const NamedData& named_data;
  const OperatorRegistry& operators;
  const BackendRegistry& backends;
  const LoadBackendOptionsMap* backend_options = nullptr;
  DeviceId device{};
  bool allow_native_code = true;
  StreamPolicy stream_policy = StreamPolicy::PerThread;
  bool allow_races = false;                     ///< Do not refuse what the order check finds.
  bool plan_branches = false;                   ///< Plan for graphs whose branches run side by side.
  std::string_view folder{};                    ///< As LoadContext::folder.
  std::span<const InputBounds> input_bounds{};  ///< As MethodOptions::input_bounds; other methods' are passed over.
};

/// Turns a method of a verified file into a schedule: resolve, place, plan memory and streams, check.
///
/// Errors: as Method::load.
[[nodiscard]] Result<std::unique_ptr<Schedule>> lower(const LowerInput& input);

/// The passes, each for itself. They run in this order on one schedule.
///
/// Values, stored numbers and constants. Errors: NotFound, InvalidExternalData (an external constant).
[[nodiscard]] Status resolve_values(const LowerInput& input, Schedule& schedule);
/// Steps and operators. Errors: OperatorMissing, BackendMissing (all at once); NotSupported, InvalidType (an operator
/// refuses what the program gives it); InvalidProgram (argument count or kind of an instruction).
[[nodiscard]] Status resolve_steps(const LowerInput& input, Schedule& schedule);
/// Delegates, several at a time. Errors: what Backend::prepare says of the first that fails.
[[nodiscard]] Status prepare_delegates(const LowerInput& input, Schedule& schedule);
/// Fills ValuePlan::is_shared: the mutable buffers in the arena kSharedArena. It has some if it is on the host, no
/// values share bytes of it over time, and all methods have values of one size at one place. Where only one method uses
/// it, they are those that the method reads first, or only writes; others are intermediate results.
void find_shared_buffers(const LowerInput& input, Schedule& schedule);
/// Fills ValuePlan::view_of: values that share bytes with another one although no step says so.
/// Errors: InvalidProgram (a view of what has another dtype or is smaller or dynamic, or of different values on
/// different ways), NotSupported (a view of what a step makes a view, too many jumps).
[[nodiscard]] Status find_silent_views(const LowerInput& input, Schedule& schedule);
/// Makes an output that a delegate writes in an input's memory one value with that input, and with what the program
/// copies to and from them, where every reader still finds what it would: a cache that a delegate updates in place is
/// then moved by nobody. Looks at methods without jumps.
void join_aliases(const LowerInput& input, Schedule& schedule);
/// Methods on a device: turns the copy operators into Copy steps, decides on which side each value lives, and adds
/// copies where the program has none. A value that only the device touches lives there, wherever the exporter planned
/// it; one that both sides touch lives on the host and has a second home on the device.
/// Errors: NotSupported, the method writes on the device what is a list item or a view of the host's.
[[nodiscard]] Status assign_devices(const LowerInput& input, Schedule& schedule);
/// Methods on a device: where steps of the device follow each other, moves what comes from the host to the front and
/// what goes there to the end, so that what is between can be one graph. Looks at methods without jumps.
void gather_copies(Schedule& schedule);
/// Fills ValuePlan::roots: what views refer to.
void find_roots(Schedule& schedule);
/// The streams of a policy. PerThread and PerMethod put every step on the execution's stream; PerDelegate gives each
/// delegate a stream of its own and orders nothing but by the joins before steps that run on the host.
[[nodiscard]] StreamPlan plan_streams(const Schedule& schedule, StreamPolicy policy);
/// What may become graphs: runs of recordable or capturable delegates and of copies on a device, on one stream, that no
/// jump enters.
[[nodiscard]] std::vector<Region> find_regions(const Schedule& schedule);
/// Whether a method with these options may run branches side by side.
[[nodiscard]] bool plans_branches(const MethodOptions& options) noexcept;
/// Gives the steps of regions branches: those that read what none of the others writes. Leaves the plan empty if no
/// region has two, and for methods with jumps.
void find_branches(Schedule& schedule);
/// Gives every state, input, output and constant a buffer of its own.
/// Errors: InvalidProgram (a step writes to a constant, reads a value that has no memory).
[[nodiscard]] Status place(const LowerInput& input, Schedule& schedule);
/// Fills InputPlan::bounds: sizes that the program, the caller and every delegate take that gets the input itself or a
/// copy of it, on every path.
/// Errors: InvalidArgument (the caller's bounds: an input or axis that is not there, no size left).
[[nodiscard]] Status bound_inputs(const LowerInput& input, Schedule& schedule);
/// The arenas: where all other values are, and the size of every arena. Values keep the program's places, which may
/// have holes where inputs, outputs and states would be; if these take more than 2 MiB and 3 % of what is in use at the
/// same time, and nothing jumps, all places are new. So are those on the device where there are branches: the program
/// let values share bytes that are then in use at the same time. Values with new places share bytes if all steps of one
/// come before all of the other, also side by side; with jumps they share none.
/// Errors: InvalidProgram (sizes overflow).
[[nodiscard]] Status plan_memory(const LowerInput& input, Schedule& schedule);
/// Fills the accesses of all steps from arguments, modes, roots and places, and Step::changes_state.
void collect_accesses(Schedule& schedule);
/// Fills what each step of a region comes right after, from the bytes that steps touch, if there are branches.
void order_branches(Schedule& schedule);

}  // namespace tandem::runtime
