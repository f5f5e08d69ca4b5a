#include "runtime/execute/dispatcher.h"

#include "base/fork.h"
#include "base/guarded.h"
#include "device/graph_owners.h"
#include "device/tensor_impl.h"
#include "runtime/execute/captured_run.h"
#include "runtime/execute/inputs.h"
#include "runtime/execute/lane.h"
#include "runtime/execute/region_graphs.h"
#include "runtime/execute/stream_walk.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace tandem::runtime {

/// A run inside which the calling thread is: it keeps its turn until it is over, so the method's own delegates must not
/// ask for another one.
class Dispatcher::Inside {
 public:
  explicit Inside(const Dispatcher& dispatcher) noexcept
      : dispatcher_{dispatcher}, outer_{std::exchange(innermost, this)} {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { innermost = outer_; }

  /// Tells whether the calling thread is inside a run of any method.
  [[nodiscard]] static bool any() noexcept { return innermost != nullptr; }
  /// Errors: InvalidState, the calling thread is inside a run of `dispatcher`.
  [[nodiscard]] static Status refuse(const Dispatcher& dispatcher) {
    for (const Inside* run = innermost; run != nullptr; run = run->outer_) {
      if (&run->dispatcher_ != &dispatcher) continue;
      return Error{ErrorCode::InvalidState, "the method is called from within its own execution"}.with_method(
          std::string{dispatcher.schedule_->method});
    }
    return {};
  }

 private:
  static thread_local const Inside* innermost;
  const Dispatcher& dispatcher_;
  const Inside* outer_;
};

thread_local const Dispatcher::Inside* Dispatcher::Inside::innermost = nullptr;

/// One call's turn: its stream, the state that it has to itself while it enqueues, and its instance.
class Dispatcher::Turn {
 public:
  /// Blocks until it is the caller's turn. Errors: Busy, if it may not wait; InvalidState, it would wait for itself.
  [[nodiscard]] static Result<Turn> take(Dispatcher& dispatcher, device::Stream& stream,
                                         const ExecuteOptions& options) {
    TANDEM_CHECK_OK(Inside::refuse(dispatcher));
    Turn turn{dispatcher, stream, dispatcher.choose_state(options)};
    if (turn.state_ != nullptr) {
      base::FairGate& gate = turn.state_->order().gate;
      if (options.wait_if_busy) {
        gate.enter();
      } else if (!gate.try_enter()) {
        turn.state_ = nullptr;  // not ours to leave
        return Error{ErrorCode::Busy, "the state is in use"}.with_method(std::string{dispatcher.schedule_->method});
      }
    }
    TANDEM_TRY(turn.lane_, dispatcher.enter(turn.stream(), options));
    if (turn.state_ != nullptr) turn.state_->note_execution();
    return turn;
  }
  Turn(Turn&& other) noexcept
      : dispatcher_{other.dispatcher_},
        stream_{other.stream_},
        state_{std::exchange(other.state_, nullptr)},
        lane_{std::exchange(other.lane_, nullptr)} {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (lane_ != nullptr) dispatcher_.leave(*lane_, stream_);
    if (state_ != nullptr) state_->order().gate.leave();
  }

  [[nodiscard]] device::Stream& stream() const noexcept { return stream_; }
  [[nodiscard]] State* state() const noexcept { return state_; }
  [[nodiscard]] Lane& lane() const noexcept { return *lane_; }

  /// Makes the stream wait for whatever the run conflicts with on other streams.
  [[nodiscard]] Status order(const Run& run, std::span<const Event> ready) const {
    return for_each_use(
        run, ready, [this](const device::Uses& uses) { return uses.before_write(stream_); },
        [this](const device::Uses& uses) { return uses.before_read(stream_); },
        [this](const Event& event) { return stream_.wait(*event.impl()); });
  }
  /// The same by waits of the host.
  [[nodiscard]] Status wait_for_conflicts(const Run& run, std::span<const Event> ready) const {
    const auto wait = [](const device::Uses& uses) { return uses.synchronize(); };
    return for_each_use(run, ready, wait, wait, [](const Event& event) { return event.impl()->synchronize(); });
  }
  /// Notes what later executions must wait for. An undefined `done`: the run is over, and so is all before it.
  void note(const Event& done, std::span<const Value> inputs, std::span<const Tensor> written) const {
    const device::StreamId id = stream_.id();
    lane_->uses().note_write(id, done);
    if (state_ != nullptr) state_->order().uses.note_write(id, done);
    if (!done.defined()) return;
    for (const Value& input : inputs) {
      if (input.is_tensor()) input.tensor().impl()->make_uses().note_read(id, done);
    }
    for (const Tensor& target : written) {
      if (target.defined()) target.impl()->make_uses().note_write(id, done);
    }
  }

 private:
  Turn(Dispatcher& dispatcher, device::Stream& stream, State* state) noexcept
      : dispatcher_{dispatcher}, stream_{stream}, state_{state} {}

  template <class Write, class Read, class Ready>
  Status for_each_use(const Run& run, std::span<const Event> ready, Write&& write, Read&& read, Ready&& wait) const {
    TANDEM_CHECK_OK(write(lane_->uses()));
    if (state_ != nullptr) TANDEM_CHECK_OK(write(state_->order().uses));
    for (const Value& input : run.inputs()) {
      const device::Uses* const uses = input.is_tensor() ? input.tensor().impl()->known_uses() : nullptr;
      if (uses != nullptr) TANDEM_CHECK_OK(read(*uses));
    }
    for (const Tensor& target : run.written()) {
      const device::Uses* const uses = target.defined() ? target.impl()->known_uses() : nullptr;
      if (uses != nullptr) TANDEM_CHECK_OK(write(*uses));
    }
    for (const Event& event : ready) {
      if (event.defined()) TANDEM_CHECK_OK(wait(event));
    }
    return {};
  }

  Dispatcher& dispatcher_;
  device::Stream& stream_;
  State* state_;
  Lane* lane_ = nullptr;
};

namespace {

/// An execution that an executor runs later.
class Job {
 public:
  Job(std::weak_ptr<Dispatcher> dispatcher, std::shared_ptr<Execution::Shared> shared, std::span<const Value> inputs,
      const ExecuteOptions& options)
      : dispatcher_{std::move(dispatcher)},
        shared_{std::move(shared)},
        inputs_{inputs.begin(), inputs.end()},
        outputs_{options.outputs.begin(), options.outputs.end()},
        ready_{options.inputs_ready.begin(), options.inputs_ready.end()},
        options_{options} {
    options_.outputs = outputs_;
    options_.inputs_ready = ready_;
    options_.executor = {};
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    if (!ended_) end(Error{ErrorCode::InvalidState, "the executor dropped the execution"});
  }

  void run() noexcept {
    if (std::exchange(ended_, true)) return;
    const std::shared_ptr<Dispatcher> dispatcher = dispatcher_.lock();
    end(dispatcher == nullptr
            ? Status{Error{ErrorCode::InvalidState, "the method was destroyed before the executor ran the execution"}}
            : base::guarded(ErrorCode::Internal,
                            [&] { return dispatcher->execute_to_end(inputs_, shared_->values, options_); }));
  }

 private:
  void end(Status status) noexcept {
    if (!status.ok()) shared_->done.impl()->set_failure(std::move(status).error());
    shared_->done.impl()->signal();
  }

  std::weak_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<Execution::Shared> shared_;
  std::vector<Value> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<Event> ready_;
  ExecuteOptions options_;
  bool ended_ = false;
};

/// Of a method on a device.
bool has_host_steps(const Schedule& schedule) {
  return std::ranges::any_of(schedule.steps, [&schedule](const Step& step) {
    return !is_on_device(schedule, step) && step.kind != Step::Kind::Free && step.kind != Step::Kind::Move;
  });
}

bool is_host_tensor(const Schedule& schedule, std::uint32_t value) {
  return schedule.stored[value].is_tensor() && schedule.values[value].device == DeviceId{};
}

/// Whether the host has to copy an output when the device is done: one that is bound to memory of the caller's, or one
/// whose place a step decides.
bool needs_host_copy(const Schedule& schedule, std::span<const Tensor> bound) {
  for (std::size_t i = 0; i < schedule.outputs.size(); ++i) {
    const std::uint32_t value = schedule.outputs[i];
    if (!schedule.stored[value].is_tensor() || schedule.values[value].device != DeviceId{}) continue;
    if (!bound.empty() && bound[i].defined()) return true;
    const std::uint32_t buffer = schedule.values[value].place.buffer;
    if (buffer == kNone || schedule.buffers[buffer].kind != BufferPlan::Kind::Output) return true;
  }
  return false;
}

Status check_options(const Schedule& schedule, const MethodOptions& options) {
  const auto refuse = [&schedule](const char* key, std::string expected, std::uint32_t found) {
    return Error{ErrorCode::InvalidArgument, "the method cannot be loaded with this option"}
        .with_expected(std::move(expected), std::to_string(found))
        .with_key(key)
        .with_method(std::string{schedule.method});
  };
  if (options.instances == 0) return refuse("instances", "at least 1", 0);
  if (options.max_in_flight == 0) return refuse("max_in_flight", "at least 1", 0);
  for (std::size_t d = 0; d < schedule.delegates.size(); ++d) {
    const std::uint32_t most = schedule.delegates[d].max_contexts;
    if (most == 0 || options.instances <= most) continue;
    return refuse("instances", "at most " + std::to_string(most), options.instances)
        .with_backend(std::string{schedule.delegates[d].backend_id}, static_cast<int>(d));
  }
  return {};
}

}  // namespace

Dispatcher::Dispatcher(std::shared_ptr<const Schedule> schedule, device::Device& device, std::shared_ptr<State> state,
                       const MethodOptions& options)
    : schedule_{std::move(schedule)},
      device_{device},
      state_{std::move(state)},
      graphs_{options.graphs},
      scheduler_{options.scheduler},
      has_host_steps_{has_host_steps(*schedule_)},
      has_host_inputs_{std::ranges::any_of(
          schedule_->inputs, [this](std::uint32_t value) { return is_host_tensor(*schedule_, value); },
          &InputPlan::value)},
      has_host_outputs_{
          std::ranges::any_of(schedule_->outputs, [this](auto value) { return is_host_tensor(*schedule_, value); })},
      gate_{options.instances} {}

bool Dispatcher::is_fully_async() const noexcept {
  return schedule_->streams.streams == 1 && schedule_->streams.syncs.empty() &&
         (on_host() || !needs_host_copy(*schedule_, {}));
}

Dispatcher::~Dispatcher() { device::sweep_kept(); }

Result<std::shared_ptr<Dispatcher>> Dispatcher::create(std::shared_ptr<const Schedule> schedule, device::Device& device,
                                                       std::shared_ptr<State> state, const MethodOptions& options) {
  TANDEM_CHECK_OK(check_options(*schedule, options));
  device::sweep_kept();
  std::shared_ptr<Dispatcher> made{new Dispatcher{std::move(schedule), device, std::move(state), options}};
  for (std::uint32_t i = 0; i < options.instances; ++i) {
    TANDEM_TRY(auto lane, Lane::create(*made->schedule_, device, options));
    made->lanes_.push_back(std::move(lane));
  }
  if (options.streams == StreamPolicy::PerMethod) {
    TANDEM_TRY(made->own_stream_, device.make_stream());
  }
  return made;
}

device::Stream& Dispatcher::choose_stream(const ExecuteOptions& options) const {
  if (options.stream) return options.stream->get();
  if (const std::optional<StreamRef> callers = CallerStreamGuard::current()) return callers->get();
  return own_stream_ != nullptr ? *own_stream_ : device_.thread_stream();
}

State* Dispatcher::choose_state(const ExecuteOptions& options) const noexcept {
  return options.state != nullptr ? options.state->impl().get() : state_.get();
}

Result<bool> Dispatcher::check(std::span<const Value> inputs, const ExecuteOptions& options,
                               const device::Stream& stream) const {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  TANDEM_CHECK_OK(check_inputs(*schedule_, inputs));
  TANDEM_CHECK_OK(Outputs::check_bound(*schedule_, options.outputs));
  const auto refuse_device = [this](const char* message, DeviceId found) {
    return Error{ErrorCode::InvalidArgument, message}
        .with_expected(to_string(schedule_->device), to_string(found))
        .with_method(std::string{schedule_->method})
        .with_device(to_string(schedule_->device));
  };
  TANDEM_TRY(const bool captures, stream.is_capturing());
  const DeviceId device = stream.id().device;
  if (device != schedule_->device) return refuse_device("the stream belongs to another device", device);
  for (const Event& event : options.inputs_ready) {
    if (!event.defined() || event.impl()->device() == schedule_->device) continue;
    return refuse_device("an event of inputs_ready belongs to another device", event.impl()->device());
  }
  const State* const state = choose_state(options);
  if (options.state != nullptr && (state == nullptr || &state->schedule() != schedule_.get())) {
    return Error{ErrorCode::InvalidArgument, "the state belongs to another method"}
        .with_expected(std::string{schedule_->method},
                       state == nullptr ? "no state" : std::string{state->schedule().method})
        .with_method(std::string{schedule_->method});
  }
  if (state != nullptr && state->is_indeterminate()) {
    return Error{ErrorCode::InvalidState, "an earlier execution failed and may have changed the state; reset it"}
        .with_method(std::string{schedule_->method});
  }
  return captures;
}

/// Methods that hold buffers of one name, of which nothing says whether they are one: nobody may miss a change.
Status Dispatcher::check_linked_buffers(const ExecuteOptions& options, const device::Stream& stream) {
  State* const state = choose_state(options);
  if (state == nullptr || !state->is_linked()) return {};
  TANDEM_CHECK_OK(stream.may_wait());
  return device_.with_current([&] { return state->check_others(!Inside::any()); });
}

Status Dispatcher::capture(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options,
                           device::Stream& stream) {
  TANDEM_CHECK_OK(may_be_captured(*schedule_, options));
  TANDEM_CHECK_OK(Inside::refuse(*this));
  const std::shared_ptr<State> state = options.state != nullptr ? options.state->impl() : nullptr;
  if (state != nullptr && state->is_linked()) {
    return Error{
        ErrorCode::NotSupported,
        "a capture of a method that may share buffers with another one; its later launches cannot be checked. " +
            std::string{kHowToDecide}}
        .with_method(std::string{schedule_->method});
  }
  std::optional<base::FairLock> turn;
  if (state != nullptr) turn.emplace(state->order().gate);
  const Inside inside{*this};
  return device_.beside_a_capture(
      [&] { return capture_run(schedule_, device_, state, graphs_, inputs, outputs, options.outputs, stream); });
}

Result<Lane*> Dispatcher::enter(const device::Stream& stream, const ExecuteOptions& options) {
  if (options.wait_if_busy) {
    gate_.enter();
  } else if (!gate_.try_enter()) {
    return Error{ErrorCode::Busy, "every instance is in use"}
        .with_expected("at most " + std::to_string(lanes_.size()), std::to_string(lanes_.size() + 1))
        .with_method(std::string{schedule_->method});
  }
  for (;;) {
    Lane* const best = choose_lane(stream);
    if (best != nullptr && best->try_take()) return best;
  }
}

/// Of the lanes that nobody enqueues on: one that this stream used last, for then there is nothing to wait for; else
/// one whose work is over; else the one that was used longest ago.
Lane* Dispatcher::choose_lane(const device::Stream& stream) const {
  const std::uint64_t mine = stream.id().number;
  for (const auto& lane : lanes_) {
    if (!lane->is_taken() && (lanes_.size() == 1 || lane->last_stream() == mine)) return lane.get();
  }
  // Only now, because it may ask the driver, which all threads share.
  Lane* oldest = nullptr;
  for (const auto& lane : lanes_) {
    if (lane->is_taken()) continue;
    if (lane->uses().are_over()) return lane.get();
    if (oldest == nullptr || lane->last_turn() < oldest->last_turn()) oldest = lane.get();
  }
  return oldest;
}

void Dispatcher::leave(Lane& lane, const device::Stream& stream) noexcept {
  // Only a choice needs to know who used what when.
  if (lanes_.size() > 1) lane.note_turn(stream.id().number, turns_.fetch_add(1, std::memory_order_relaxed));
  lane.give_back();
  gate_.leave();
}

Status Dispatcher::execute(std::span<const Value> inputs, std::span<Value> outputs, const ExecuteOptions& options) {
  const bool is_awaited = on_host() || has_host_outputs_;
  TANDEM_TRY(const Started run, start(inputs, outputs, options, is_awaited));
  return finish(run, is_awaited);
}

Status Dispatcher::execute_to_end(std::span<const Value> inputs, std::span<Value> outputs,
                                  const ExecuteOptions& options) {
  TANDEM_TRY(const Started run, start(inputs, outputs, options, true));
  return finish(run, true);
}

Status Dispatcher::finish(const Started& run, bool is_awaited) {
  if (run.done.defined() && is_awaited) TANDEM_CHECK_OK(run.done.synchronize());
  report(run.trials, is_awaited ? Trial::Span::WholeRun : Trial::Span::Enqueueing, run.begin);
  return {};
}

/// Only runs that went well count.
void Dispatcher::report(std::span<const TrialRun> trials, Trial::Span span, Clock::time_point begin) {
  for (const TrialRun& part : trials) part.trial->add(part.way, span, Clock::now() - begin);
}

Result<Dispatcher::Started> Dispatcher::start(std::span<const Value> inputs, std::span<Value> outputs,
                                              const ExecuteOptions& options, bool is_awaited) {
  device::Stream& stream = choose_stream(options);
  TANDEM_TRY(const bool captures, check(inputs, options, stream));
  if (captures) {
    TANDEM_CHECK_OK(capture(inputs, outputs, options, stream));
    return Started{};
  }
  const bool is_inline = stream.is_inline();
  if (!is_inline || !is_fully_async()) TANDEM_CHECK_OK(stream.may_wait());
  TANDEM_CHECK_OK(check_linked_buffers(options, stream));
  TANDEM_TRY(const Turn turn, Turn::take(*this, stream, options));
  Started run;
  if (!on_host()) {
    run.begin = Clock::now();
    TANDEM_TRY(run.done, enqueue_steps(turn, inputs, outputs, options, is_awaited));
    run.trials = std::move(turn.lane().trials());
  } else if (is_fully_async() && !is_inline) {
    TANDEM_TRY(run.done, enqueue(turn, inputs, outputs, nullptr, options));
  } else {
    TANDEM_CHECK_OK(is_fully_async() ? run_inline(turn, inputs, outputs, options)
                                     : run_with_host(turn, inputs, outputs, options));
  }
  return run;
}

Status Dispatcher::run_inline(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                              const ExecuteOptions& options) {
  Run& run = turn.lane().inline_run();
  TANDEM_CHECK_OK(run.prepare(turn.state(), inputs, turn.lane().outputs(), options.outputs));
  if (Status ordered = turn.order(run, options.inputs_ready); !ordered.ok()) {
    return run.finish(std::move(ordered), false, outputs, nullptr);
  }
  const Inside inside{*this};
  while (run.advance(StreamRef{turn.stream()}, UINT32_MAX, outputs)) {
  }
  turn.note({}, {}, {});
  return run.status();
}

Status Dispatcher::run_with_host(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                                 const ExecuteOptions& options) {
  Run& run = turn.lane().inline_run();
  TANDEM_CHECK_OK(run.prepare(turn.state(), inputs, turn.lane().outputs(), options.outputs));
  const Inside inside{*this};
  bool changed_state = false;
  Status ran = turn.wait_for_conflicts(run, options.inputs_ready);
  if (ran.ok()) ran = run.begin(nullptr);
  if (ran.ok()) ran = walk_streams(turn.lane(), turn.stream(), changed_state);
  turn.note({}, {}, {});
  return run.finish(std::move(ran), changed_state, outputs, nullptr);
}

Result<Event> Dispatcher::enqueue_steps(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                                        const ExecuteOptions& options, bool is_awaited) {
  return device_.with_current([&] { return enqueue_steps_here(turn, inputs, outputs, options, is_awaited); });
}

Result<Event> Dispatcher::enqueue_steps_here(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                                             const ExecuteOptions& options, bool is_awaited) {
  device::Stream& stream = turn.stream();
  Lane& lane = turn.lane();
  TANDEM_TRY(EnqueuedRun* const slot, lane.take_run(options.wait_if_busy));
  TANDEM_TRY(const Event done, lane.take_event(stream));
  Run& run = lane.inline_run();
  lane.trials().clear();
  const bool at_slots = lane.graphs() != nullptr && lane.graphs()->slots().begin_run(lane.trials());
  TANDEM_CHECK_OK(run.prepare(turn.state(), inputs, lane.outputs(), options.outputs, at_slots));
  if (lane.graphs() != nullptr) lane.graphs()->slots().note_memory(inputs, run.outputs());
  const Lane::InHand hand{lane, run};
  const Inside inside{*this};
  if (has_host_inputs_) lane.instance().set_idle(lane.uses().are_over());  // asks the driver
  // What the host writes, an earlier run on the instance may still be copying to the device.
  const bool host_writes = has_host_steps_ || run.copies_inputs_on_host();
  bool changed_state = false;
  Status ran = host_writes ? turn.wait_for_conflicts(run, options.inputs_ready) : turn.order(run, options.inputs_ready);
  const bool is_timed =
      !is_awaited && lane.graphs() != nullptr && lane.graphs()->are_on_trial() && lane.trial_timer().is_there();
  if (is_timed) lane.trial_timer().begin(stream);
  if (ran.ok()) ran = run.begin(&stream);
  if (ran.ok()) ran = walk_streams(lane, stream, changed_state);
  if (ran.ok() && run.copies_outputs_on_host()) ran = stream.synchronize();
  ran = run.finish(std::move(ran), changed_state, outputs, &stream);
  if (is_timed && ran.ok()) lane.trial_timer().end(stream, std::exchange(lane.trials(), {}));
  // A run that failed half-way has left work on the stream all the same.
  if (Status recorded = stream.record(*done.impl()); !recorded.ok()) {
    ignore(stream.synchronize(), "nothing can be ordered after this run, so it has to be over");
    return ran.ok() ? std::move(recorded).error() : std::move(ran).error();
  }
  slot->done = done;
  slot->on_device = true;
  slot->under_way.store(true, std::memory_order_relaxed);
  turn.note(done, hand.read(), hand.written());
  if (!ran.ok()) return std::move(ran).error();
  return done;
}

Result<Event> Dispatcher::enqueue(const Turn& turn, std::span<const Value> inputs, std::span<Value> outputs,
                                  std::shared_ptr<Execution::Shared> shared, const ExecuteOptions& options) {
  device::Stream& stream = turn.stream();
  Lane& lane = turn.lane();
  TANDEM_TRY(EnqueuedRun* const next, lane.take_run(options.wait_if_busy));
  TANDEM_TRY(const Event done, lane.take_event(stream));
  if (shared != nullptr) {
    next->kept_inputs.assign(inputs.begin(), inputs.end());
    inputs = next->kept_inputs;
  }
  const auto undo = [&](Status failure) {
    next->kept_inputs.clear();
    return next->run.finish(std::move(failure), false, {}, nullptr).error();
  };
  if (Status prepared = next->run.prepare(turn.state(), inputs, lane.outputs(), options.outputs); !prepared.ok()) {
    return undo(std::move(prepared));
  }
  if (Status ordered = turn.order(next->run, options.inputs_ready); !ordered.ok()) return undo(std::move(ordered));
  const Lane::InHand hand{lane, next->run};
  if (shared != nullptr) {
    shared->done = done;
    next->run.announce(shared->early);
  }
  next->done = done;
  next->values = outputs;
  next->inside = &stream.within_work();
  next->steps_at_once = stream.interleaves() ? 1 : UINT32_MAX;
  if (options.state != nullptr) next->kept_state = options.state->impl();
  next->shared = std::move(shared);
  next->dispatcher = shared_from_this();
  next->under_way.store(true, std::memory_order_relaxed);
  if (Status submitted = stream.submit(&EnqueuedRun::work, next, 0); !submitted.ok()) {
    next->under_way.store(false, std::memory_order_relaxed);
    next->dispatcher.reset();
    next->shared.reset();
    next->kept_state.reset();
    return undo(std::move(submitted));
  }
  if (Status recorded = stream.record(*done.impl()); !recorded.ok()) {
    ignore(stream.synchronize(), "nothing can be ordered after this run, so it has to be over");
    return std::move(recorded).error();
  }
  turn.note(done, hand.read(), hand.written());
  return done;
}

Result<Execution> Dispatcher::execute_async(std::span<const Value> inputs, const ExecuteOptions& options) {
  device::Stream& stream = choose_stream(options);
  TANDEM_TRY(const bool captures, check(inputs, options, stream));
  auto shared = std::make_shared<Execution::Shared>();
  shared->early.resize(schedule_->outputs.size());
  shared->values.resize(schedule_->outputs.size());
  if (captures) {
    TANDEM_TRY(shared->done, stream.make_event());  // nothing to wait for: nothing runs before the caller's graph does
    TANDEM_CHECK_OK(capture(inputs, shared->values, options, stream));
    shared->early = shared->values;
    return Execution{std::move(shared)};
  }
  const bool copies_on_host = !on_host() && needs_host_copy(*schedule_, options.outputs);
  const bool needs_host = copies_on_host || !is_fully_async();
  if (options.executor && (needs_host || stream.is_inline())) return post(inputs, std::move(shared), options);
  if (needs_host) {
    const char* const why = is_fully_async() ? "an output is bound to the host's memory, and there is no executor"
                                             : "the method needs the host between its steps, and there is no executor";
    return Error{ErrorCode::WouldBlock, why}.with_method(std::string{schedule_->method});
  }
  TANDEM_CHECK_OK(check_linked_buffers(options, stream));
  TANDEM_TRY(const Turn turn, Turn::take(*this, stream, options));
  if (!on_host()) {
    const Clock::time_point begin = Clock::now();
    TANDEM_TRY(shared->done, enqueue_steps(turn, inputs, shared->values, options, false));
    report(turn.lane().trials(), Trial::Span::Enqueueing, begin);
    shared->early = shared->values;
    return Execution{std::move(shared)};
  }
  if (!stream.is_inline()) {
    TANDEM_TRY(const Event done, enqueue(turn, inputs, shared->values, shared, options));
    return Execution{std::move(shared)};
  }
  TANDEM_TRY(shared->done, turn.lane().take_event(stream));
  TANDEM_CHECK_OK(stream.record(*shared->done.impl()));
  if (Status ran = run_inline(turn, inputs, shared->values, options); !ran.ok()) {
    shared->done.impl()->set_failure(std::move(ran).error());
  }
  shared->early = shared->values;
  return Execution{std::move(shared)};
}

Result<Execution> Dispatcher::post(std::span<const Value> inputs, std::shared_ptr<Execution::Shared> shared,
                                   const ExecuteOptions& options) {
  device::Stream& stream = choose_stream(options);
  TANDEM_TRY(shared->done, stream.make_event());
  shared->done.impl()->hold();
  ExecuteOptions later = options;
  if (!stream.is_inline()) later.stream = StreamRef{stream};  // the thread's own choice is not the executor's
  const auto job = std::make_shared<Job>(weak_from_this(), shared, inputs, later);
  TANDEM_CHECK_OK(base::guarded(ErrorCode::InvalidState, [&]() -> Status {
    options.executor([job] { job->run(); });
    return {};
  }));
  return Execution{std::move(shared)};
}

Status Dispatcher::prepare(std::span<const Value> inputs, const ExecuteOptions& options) {
  device::Stream& stream = choose_stream(options);
  TANDEM_TRY(const bool captures, check(inputs, options, stream));
  if (captures) {
    return Error{ErrorCode::InvalidState, "nothing can be prepared on a stream that captures"}.with_method(
        std::string{schedule_->method});
  }
  TANDEM_CHECK_OK(stream.may_wait());
  TANDEM_CHECK_OK(Inside::refuse(*this));
  State* const state = choose_state(options);
  std::optional<base::FairLock> state_turn;
  if (state != nullptr) state_turn.emplace(state->order().gate);
  for (const auto& lane : lanes_) {
    if (lane->graphs() == nullptr) return {};
    const base::FairLock turn{gate_};
    while (!lane->try_take()) std::this_thread::yield();  // somebody enqueues on this very one
    const Status prepared =
        device_.with_current([&]() -> Status { return prepare_graphs(*lane, state, inputs, stream, options); });
    lane->give_back();
    TANDEM_CHECK_OK(prepared);
  }
  return {};
}

Status Dispatcher::prepare_graphs(Lane& lane, State* state, std::span<const Value> inputs, device::Stream& stream,
                                  const ExecuteOptions& options) {
  TANDEM_CHECK_OK(lane.uses().synchronize());
  if (state != nullptr) TANDEM_CHECK_OK(state->order().uses.synchronize());
  Run& run = lane.inline_run();
  TANDEM_CHECK_OK(run.prepare(state, inputs, lane.outputs(), options.outputs));
  Status prepared = run.begin(&stream);
  if (prepared.ok()) prepared = lane.graphs()->prepare(stream);
  ignore(run.finish(Error{ErrorCode::InvalidState, "nothing ran"}, false, {}, nullptr), "its memory goes back");
  return prepared;
}

std::vector<GraphInfo> Dispatcher::graphs() {
  const base::FairLock turn{gate_};
  for (const auto& lane : lanes_) {
    if (!lane->try_take()) continue;
    auto described = lane->graphs() == nullptr ? std::vector<GraphInfo>{} : lane->graphs()->describe();
    lane->give_back();
    return described;
  }
  return {};
}

Status Dispatcher::wait_until_idle() {
  for (const auto& lane : lanes_) TANDEM_CHECK_OK(lane->uses().synchronize());
  return {};
}

}  // namespace tandem::runtime
