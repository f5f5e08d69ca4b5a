#pragma once

#include "runtime/op.h"

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A method lowered for a device: its values, where they are kept, its steps, and what every step reads and writes.
/// Everything that must know what happens in a run reads this and nothing else. Immutable once lowered.
namespace tandem::runtime {

inline constexpr std::uint32_t kNone = UINT32_MAX;
/// Exporters put buffers that methods share into this arena, at equal offsets.
/// Source: `share_mutable_buffers` of ExecuTorch's memory planning.
inline constexpr std::uint32_t kSharedArena = 2;

/// A block of memory that values live in.
struct BufferPlan {
  enum class Kind : std::uint8_t {
    Arena,     ///< Scratch of one instance; values share its bytes over time.
    State,     ///< One mutable value that outlives an execution.
    Input,     ///< One input: the caller's memory, or a copy of it.
    Output,    ///< One output: memory that goes to the caller.
    Constant,  ///< One value of the file; never written.
  };
  Kind kind = Kind::Arena;
  std::uint64_t bytes = 0;
  DeviceId device{};  ///< Where its bytes are. A method on the host device: where the program wants them.
  std::uint32_t memory_id =
      0;  ///< Arena: the program's number, 0 for Tandem's own. State: the arena it was planned in.
  std::uint32_t value = kNone;  ///< The one value of a State, Input, Output or Constant.
};

/// Where a value's bytes are. `buffer` is kNone for numbers and for views, whose place a step or their source decides.
struct Location {
  std::uint32_t buffer = kNone;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< Upper bound.
};

/// One value of the method.
struct ValuePlan {
  ArgumentSpec spec{};  ///< What it is; sizes are upper bounds.
  DeviceId device{};    ///< Where its bytes are: the host, or the method's device.
  Location place{};
  std::uint32_t alignment = 1;          ///< That delegates want of its address.
  std::uint32_t planned_memory_id = 0;  ///< Arena that the program planned it in; 0 = not planned.
  std::uint64_t planned_offset = 0;
  const std::byte* constant = nullptr;   ///< Constant: its bytes in the file, or an aligned copy of them.
  std::span<const std::byte> initial{};  ///< First bytes of mutable memory; empty: zeros.
  bool is_shared = false;                ///< A mutable buffer that methods share by its place (kSharedArena).
  std::string_view name{};               ///< Fully qualified name, if the file has one.
  std::uint32_t view_of = kNone;         ///< Value whose bytes it has from the start, without a step that says so.
  bool reset = false;                    ///< Steps move or compute it: every run starts from the stored value.
  std::vector<std::uint32_t> roots{};    ///< Values whose bytes it may refer to: itself, or for views their sources.
};

/// One access of a step. On the host device `buffer` is host memory.
struct Access {
  std::uint32_t value = kNone;  ///< The value that the step names, or its source (Schedule::source_of).
  std::uint32_t buffer = kNone;
  std::uint64_t begin = 0;  ///< Bytes [begin, end) of the buffer.
  std::uint64_t end = 0;
  AccessMode mode = AccessMode::Read;
};

struct Step {
  enum class Kind : std::uint8_t {
    Kernel,    ///< An operator, on the host.
    Delegate,  ///< On the host or on the method's device, as the delegate says.
    Copy,      ///< Bytes from one value to another, in the order of the method's device. Never on the host device.
    Move,      ///< A handle from one value to another.
    JumpFalse,
    Free,
  };
  Kind kind = Kind::Kernel;
  std::uint32_t chain = 0;  ///< Where the program has it.
  std::uint32_t instruction = 0;
  std::uint32_t target = 0;     ///< Kernel: operator; Delegate: delegate; JumpFalse: step to continue at.
  std::uint32_t first_arg = 0;  ///< Into Schedule::args. Copy, Move: from, to. JumpFalse: condition. Free: value.
  std::uint32_t arg_count = 0;
  std::uint32_t first_access = 0;  ///< Into Schedule::accesses.
  std::uint32_t access_count = 0;
  bool changes_state = false;  ///< May write something that outlives the execution.
};

/// An input: how its bytes reach the run.
struct InputPlan {
  std::uint32_t value = kNone;
  bool copied = false;               ///< A step may write to it, so the caller's memory cannot be used in place.
  std::vector<SizeBounds> bounds{};  ///< Sizes that it may have, by axis; empty unless it is a tensor of dynamic size.
};

struct DelegatePlan {
  std::string_view backend_id{};
  std::shared_ptr<const Delegate> delegate{};
  std::size_t output_count = 0;
  bool on_host = true;             ///< enqueue() does its work on the calling thread.
  std::uint32_t max_contexts = 0;  ///< That may run at the same time; 0 = any number.
  bool stateful = false;           ///< Its contexts keep something from one run to the next.
  bool recordable = false;         ///< It can put its work on the device into a graph.
  bool capturable = false;         ///< What it enqueues may be captured into one.
  bool prefers_graph = false;      ///< It was told to be in one.
  std::uint32_t alignment = 1;     ///< Of its tensors.
  std::vector<AliasedOutput> aliased_outputs{};
  std::vector<std::vector<SizeBounds>> input_bounds{};  ///< Delegate::input_bounds().
  std::span<const MutableBuffer> buffers{};             ///< The delegate's own list. Empty if it is not `stateful`.
  bool checks_sizes = false;                            ///< It refuses sizes by itself.
  bool shares_buffers = false;                          ///< It was told that named ones are one for all methods.
};

/// A mutable value that outlives an execution.
struct StatePlan {
  std::uint32_t value = kNone;
  bool shared = false;  ///< With other methods that plan it at the same place (ValuePlan::is_shared).
};

/// Which stream each step runs on, and what orders steps on different streams.
struct StreamPlan {
  /// Something that happens before a step, in the order of the list.
  struct Sync {
    enum class Kind : std::uint8_t {
      Record,  ///< `event` marks the point of `stream` after all its steps so far.
      Wait,    ///< What follows on `stream` waits for the point that `event` marked last.
      Join,    ///< The host waits until every stream has passed all its steps so far.
    };
    Kind kind = Kind::Join;
    std::uint32_t step = 0;    ///< Before this step is enqueued; the number of steps: at the end.
    std::uint32_t stream = 0;  ///< Not for Join.
    std::uint32_t event = 0;   ///< Not for Join.
  };

  std::uint32_t streams = 1;  ///< Stream 0 is the execution's own.
  std::uint32_t events = 0;
  std::vector<std::uint32_t> stream_of{};  ///< By step; kNone: at once, on the thread that enqueues.
  std::vector<Sync> syncs{};               ///< By step, ascending.
};

/// Steps in a row that need no host between them: what one graph may hold.
struct Region {
  struct Use {
    std::uint32_t value = kNone;
    bool is_input = false;  ///< A step reads it before any has written it.
  };
  /// A buffer of a delegate in the host's memory: its steps read and write it while they are enqueued.
  struct HostBuffer {
    std::uint32_t delegate = 0;
    std::uint32_t buffer = 0;
  };
  std::uint32_t first = 0;  ///< Step.
  std::uint32_t end = 0;    ///< The step after the last.
  bool stateful = false;    ///< Some delegate keeps state of its own.
  bool changes_state = false;
  std::uint32_t branches = 1;  ///< That a graph may run side by side.
  std::vector<Use> uses{};     ///< Every value that its steps name, once.
  std::vector<HostBuffer> host_buffers{};
};

/// What of a region may run side by side in a graph. The steps of one branch follow each other and share scratch; step
/// by step, everything runs in the order of the program.
struct BranchPlan {
  static constexpr std::uint32_t kMax = 8;
  /// By branch: all its steps below this number.
  using Clock = std::array<std::uint32_t, kMax>;

  std::vector<std::uint32_t> branch_of{};    ///< By step, from 0 in each region. All empty: no region has two.
  std::vector<Clock> known{};                ///< By step: what is over before it begins.
  std::vector<std::uint32_t> first_after{};  ///< By step, and the end: into `after`.
  std::vector<std::uint32_t> after{};        ///< Steps of the same region that a step comes right after.

  [[nodiscard]] bool any() const noexcept { return !branch_of.empty(); }
  [[nodiscard]] std::uint32_t of(std::uint32_t step) const noexcept { return any() ? branch_of[step] : 0; }
  /// Whether step `a` is over before `b` begins, whichever way they run. The number of steps stands for the end.
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return a < b && (!any() || b >= known.size() || a < known[b][branch_of[a]]);
  }
  [[nodiscard]] std::span<const std::uint32_t> after_of(std::uint32_t step) const noexcept {
    return std::span{after}.subspan(first_after[step], first_after[step + 1] - first_after[step]);
  }
};

struct Schedule {
  std::string_view method{};
  DeviceId device{};
  std::vector<ValuePlan> values{};
  std::vector<Argument> stored{};       ///< Per value: the stored number, text or list. List items point in here.
  std::vector<Argument*> list_items{};  ///< Backs the boxed lists of `stored`; nullptr stands for None.
  std::vector<const ArgumentSpec*> list_specs{};  ///< Backs the boxed lists of the specs, entry by entry the same.
  std::vector<BufferPlan> buffers{};
  std::vector<StatePlan> states{};
  std::vector<InputPlan> inputs{};
  std::vector<std::uint32_t> outputs{};  ///< Values.
  std::vector<const Operator*> operators{};
  std::vector<DelegatePlan> delegates{};
  std::vector<Step> steps{};          ///< All chains, one after the other.
  std::vector<std::uint32_t> args{};  ///< Values.
  std::vector<OpAccess> modes{};      ///< How the step touches each of `args`.
  std::vector<Access> accesses{};
  StreamPlan streams{};
  std::vector<Region> regions{};  ///< By step, ascending.
  BranchPlan branches{};
  bool zero_stated = false;  ///< The caller says that sizes of 0 are handled where no delegate says otherwise.
  std::vector<std::vector<std::byte>> owned_bytes{};  ///< Constants that the file does not align.

  Schedule() = default;
  Schedule(const Schedule&) = delete;  // lists point into the object
  Schedule& operator=(const Schedule&) = delete;

  /// The value itself, or the one whose bytes it has from the start.
  [[nodiscard]] std::uint32_t source_of(std::uint32_t value) const noexcept {
    return values[value].view_of == kNone ? value : values[value].view_of;
  }
  /// Which scratch a step uses: steps of one slot are ordered. kNone: the host's.
  [[nodiscard]] std::uint32_t scratch_slot(std::uint32_t step) const noexcept {
    const std::uint32_t stream = streams.stream_of[step];
    return stream == kNone ? kNone : stream + branches.of(step);  // there are branches on one stream only
  }
  [[nodiscard]] std::uint32_t scratch_slots() const noexcept;
  [[nodiscard]] std::span<const std::uint32_t> args_of(const Step& step) const noexcept {
    return {args.data() + step.first_arg, step.arg_count};
  }
  [[nodiscard]] std::span<const OpAccess> modes_of(const Step& step) const noexcept {
    return {modes.data() + step.first_arg, step.arg_count};
  }
  [[nodiscard]] std::span<const Access> accesses_of(const Step& step) const noexcept {
    return {accesses.data() + step.first_access, step.access_count};
  }
};

/// Bounds of the delegate's argument by axis; empty: unknown.
[[nodiscard]] std::span<const SizeBounds> bounds_of(const DelegatePlan& delegate, std::size_t argument) noexcept;
/// Tells whether the bounds hold the size.
[[nodiscard]] constexpr bool takes(const SizeBounds& bounds, std::int64_t size) noexcept {
  return size >= bounds.min && size <= bounds.max;
}
/// "8", "at least 1", "1 to 360", for messages.
[[nodiscard]] std::string text_of(const SizeBounds& bounds);
/// Message about a size that the bounds do not hold.
[[nodiscard]] std::string size_refusal(const SizeBounds& bounds, std::size_t axis, std::int64_t size);

/// Whether the step's work is for the method's device, and not for the host.
[[nodiscard]] bool is_on_device(const Schedule& schedule, const Step& step) noexcept;

/// Whether the step reads, or writes, bytes of an argument with this mode.
[[nodiscard]] constexpr bool reads(OpAccess mode) noexcept {
  return mode == OpAccess::Read || mode == OpAccess::Update;
}
[[nodiscard]] constexpr bool writes(OpAccess mode) noexcept {
  return mode == OpAccess::Write || mode == OpAccess::Update || mode == OpAccess::Partial;
}

/// "instruction 3 (delegate 1, AotiHostBackendB)", for messages.
[[nodiscard]] std::string describe(const Schedule& schedule, const Step& step);
/// Method, chain, instruction and what it calls, for errors.
[[nodiscard]] ErrorSite site_of(const Schedule& schedule, const Step& step);

/// Calls `fn(value, mode)` for every tensor that `step` touches, list items one by one.
/// A Move reads its source and makes its target an alias; a jump reads a tensor condition. Views that no step makes
/// stand for their sources (Schedule::source_of).
template <class Fn>
void for_each_tensor(const Schedule& schedule, const Step& step, Fn&& fn) {
  const auto args = schedule.args_of(step);
  const auto modes = schedule.modes_of(step);
  const auto value_of = [&schedule](const Argument* item) {
    return static_cast<std::uint32_t>(item - schedule.stored.data());
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (modes[i] == OpAccess::None || modes[i] == OpAccess::Result || modes[i] == OpAccess::Return) continue;
    const Argument& stored = schedule.stored[args[i]];
    if (stored.is_tensor()) {
      fn(schedule.source_of(args[i]), modes[i]);
      continue;
    }
    for (const Argument* item : stored.items) {
      if (item != nullptr && item->is_tensor()) fn(schedule.source_of(value_of(item)), modes[i]);
    }
  }
}

}  // namespace tandem::runtime
