#include "fake_api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace tandem::device::gpu {
namespace {

std::unique_ptr<FakeDriver> driver = std::make_unique<FakeDriver>();

/// Notes a call; what it was told to answer.
FakeCode note(const std::string& name) {
  fake().calls.push_back(name + "@" + std::to_string(fake().current));
  auto& scripted = fake().failures[name];
  if (scripted.empty()) return FakeCode::Ok;
  const FakeCode code = scripted.front();
  scripted.pop_front();
  ++fake().last_errors;
  return code;
}

FakeCode note_relaxed(const std::string& name) {
  fake().modes.push_back(fake().mode);
  return note(name);
}

FakeCode push(std::uint32_t stream, const char* name, std::function<void()> work) {
  const FakeCode code = note(name);
  if (code != FakeCode::Ok) return code;
  FakeDriver::StreamState& state = fake().streams[stream];
  if (state.capture != CaptureStatus::None) {
    ++state.captured;
    return code;
  }
  state.pending.push_back(std::move(work));
  ++state.pushed;
  return code;
}

FakeCode make_memory(void** data, std::size_t bytes, int device) {
  *data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  fake().memory[*data] = device;
  return FakeCode::Ok;
}

FakeCode drop_memory(void* data) {
  if (fake().memory.erase(data) == 0) return FakeCode::BadHandle;
  std::free(data);
  return FakeCode::Ok;
}

}  // namespace

FakeDriver& fake() { return *driver; }
void reset_fake() { driver = std::make_unique<FakeDriver>(); }

std::size_t FakeDriver::count(const std::string& call) const {
  return static_cast<std::size_t>(std::ranges::count(calls, call));
}

void FakeDriver::run(std::uint32_t stream, std::uint64_t point) {
  StreamState& state = streams[stream];
  while (state.pushed - state.pending.size() < point) {
    const std::function<void()> work = std::move(state.pending.front());
    state.pending.pop_front();
    work();
  }
}

bool FakeDriver::has_passed(const EventState& event) const {
  const auto found = streams.find(event.stream);
  return found == streams.end() || found->second.pushed - found->second.pending.size() >= event.point;
}

ErrorCode PlainFakeApi::meaning(Code code) noexcept {
  switch (code) {
    case FakeCode::OutOfMemory:
      return ErrorCode::OutOfMemory;
    case FakeCode::NoDevice:
      return ErrorCode::NotFound;
    case FakeCode::BadHandle:
      return ErrorCode::InvalidArgument;
    case FakeCode::Fault:
      return ErrorCode::DeviceFault;
    case FakeCode::CaptureBroken:
      return ErrorCode::InvalidState;
    default:
      return ErrorCode::Internal;
  }
}

void PlainFakeApi::clear_last_error() noexcept { fake().last_errors = 0; }

FakeCode PlainFakeApi::device_count(int* count) noexcept {
  *count = fake().devices;
  return note("device_count");
}
FakeCode PlainFakeApi::current_device(int* device) noexcept {
  *device = fake().current;
  return FakeCode::Ok;
}
FakeCode PlainFakeApi::enter(int device, Caller* caller) noexcept {
  caller->device = fake().current;
  caller->is_foreign = fake().caller_is_foreign;
  auto& scripted = fake().failures["enter"];
  if (!scripted.empty()) return note("enter");
  fake().current = device;
  return FakeCode::Ok;
}
void PlainFakeApi::leave(const Caller& caller) noexcept { fake().current = caller.device; }

FakeCode PlainFakeApi::allocate(void** data, std::size_t bytes) noexcept {
  const FakeCode code = note_relaxed("allocate");
  return code == FakeCode::Ok ? make_memory(data, bytes, fake().current) : code;
}
FakeCode PlainFakeApi::free(void* data) noexcept {
  const FakeCode code = note_relaxed("free");
  return code == FakeCode::Ok ? drop_memory(data) : code;
}
FakeCode PlainFakeApi::allocate_pinned(void** data, std::size_t bytes) noexcept {
  const FakeCode code = note_relaxed("allocate_pinned");
  return code == FakeCode::Ok ? make_memory(data, bytes, -1) : code;
}
FakeCode PlainFakeApi::free_pinned(void* data) noexcept {
  const FakeCode code = note_relaxed("free_pinned");
  return code == FakeCode::Ok ? drop_memory(data) : code;
}
FakeCode PlainFakeApi::copy(void* to, const void* from, std::size_t bytes, Stream stream) noexcept {
  return push(stream, "copy", [to, from, bytes] { std::memmove(to, from, bytes); });
}
FakeCode PlainFakeApi::fill(void* to, int value, std::size_t bytes, Stream stream) noexcept {
  return push(stream, "fill", [to, value, bytes] { std::memset(to, value, bytes); });
}

FakeCode PlainFakeApi::stream_create(Stream* stream, int priority) noexcept {
  const FakeCode code = note_relaxed("stream_create");
  if (code != FakeCode::Ok) return code;
  *stream = fake().next_handle++;
  fake().streams[*stream] = {.device = fake().current, .priority = priority, .id = fake().next_id++};
  return code;
}
FakeCode PlainFakeApi::stream_destroy(Stream stream) noexcept {
  fake().streams.erase(stream);
  return note_relaxed("stream_destroy");
}
FakeCode PlainFakeApi::stream_synchronize(Stream stream) noexcept {
  const FakeCode code = note_relaxed("stream_synchronize");
  if (code == FakeCode::Ok) fake().run(stream);
  return code;
}
FakeCode PlainFakeApi::stream_wait(Stream stream, Event event) noexcept {
  const FakeDriver::EventState now = fake().events[event];
  return push(stream, "stream_wait", [now] {
    if (!fake().has_passed(now)) fake().run(now.stream, now.point);
  });
}

FakeCode PlainFakeApi::event_create(Event* event) noexcept {
  const FakeCode code = note_relaxed("event_create");
  if (code != FakeCode::Ok) return code;
  *event = fake().next_handle++;
  fake().events[*event] = {.device = fake().current};
  return code;
}
FakeCode PlainFakeApi::event_destroy(Event event) noexcept {
  fake().events.erase(event);
  return note_relaxed("event_destroy");
}
FakeCode PlainFakeApi::event_record(Event event, Stream stream) noexcept {
  const FakeCode code = push(stream, "event_record", [] {});
  if (code == FakeCode::Ok) {
    fake().events[event].stream = stream;
    fake().events[event].point = fake().streams[stream].pushed;
  }
  return code;
}
FakeCode PlainFakeApi::event_query(Event event) noexcept {
  const FakeCode code = note_relaxed("event_query");
  if (code != FakeCode::Ok) return code;
  if (fake().has_passed(fake().events[event])) return FakeCode::Ok;
  ++fake().last_errors;
  return FakeCode::NotReady;
}
FakeCode PlainFakeApi::event_synchronize(Event event) noexcept {
  const FakeCode code = note_relaxed("event_synchronize");
  const FakeDriver::EventState now = fake().events[event];
  if (code == FakeCode::Ok && !fake().has_passed(now)) fake().run(now.stream, now.point);
  return code;
}

FakeCode PlainFakeApi::capture_begin(Stream stream, CaptureMode mode) noexcept {
  const FakeCode code = note(mode == CaptureMode::ThreadLocal ? "capture_begin" : "capture_begin of another mode");
  if (code == FakeCode::Ok) fake().streams[stream].capture = CaptureStatus::Active;
  return code;
}
FakeCode PlainFakeApi::capture_end(Stream stream, Graph* graph) noexcept {
  const FakeCode code = note("capture_end");
  fake().streams[stream].capture = CaptureStatus::None;
  // A driver may give half a graph with a failure.
  *graph = fake().next_handle++;
  fake().graphs.insert(*graph);
  fake().nodes[*graph] = std::exchange(fake().streams[stream].captured, 0);
  return code;
}
FakeCode PlainFakeApi::capture_status(Stream stream, CaptureStatus* status) noexcept {
  *status = fake().streams[stream].capture;
  return FakeCode::Ok;
}
FakeCode PlainFakeApi::exchange_capture_mode(CaptureMode* mode) noexcept {
  std::swap(*mode, fake().mode);
  return FakeCode::Ok;
}
FakeCode PlainFakeApi::graph_destroy(Graph graph) noexcept {
  return fake().graphs.erase(graph) == 1 ? note("graph_destroy") : FakeCode::BadHandle;
}

FakeCode FakeApi::stream_id(Stream stream, std::uint64_t* id) noexcept {
  thread_local const std::uint64_t thread_id = 1000 + fake().next_id++;
  *id = stream == kPerThread ? thread_id : fake().streams[stream].id;
  return FakeCode::Ok;
}
FakeCode FakeApi::stream_owner(Stream stream, int* device, bool* is_foreign) noexcept {
  const FakeCode code = note("stream_owner");
  *device = fake().streams[stream].device;
  *is_foreign = fake().streams[stream].priority == kForeign;
  return code;
}

namespace {

/// A node goes after some of its graph's.
FakeCode add_node(const char* name, std::uint32_t* node, std::uint32_t graph,
                  std::span<const std::uint32_t> after) noexcept {
  std::uint32_t& count = fake().nodes[graph];
  const auto is_one = [&count](std::uint32_t one) { return one >= 1 && one <= count; };
  if (fake().graphs.count(graph) == 0 || !std::ranges::all_of(after, is_one)) return FakeCode::BadHandle;
  const FakeCode code = note(name);
  if (code != FakeCode::Ok) return code;
  *node = ++count;
  for (const std::uint32_t one : after) fake().edges[graph].emplace_back(one, *node);
  return code;
}

}  // namespace

FakeCode FakeApi::graph_create(Graph* graph) noexcept {
  const FakeCode code = note("graph_create");
  if (code != FakeCode::Ok) return code;
  *graph = fake().next_handle++;
  fake().graphs.insert(*graph);
  return code;
}
FakeCode FakeApi::graph_add_kernel(GraphNode* node, Graph graph, std::span<const GraphNode> after,
                                   const KernelLaunch& /*launch*/) noexcept {
  return add_node("graph_add_kernel", node, graph, after);
}
FakeCode FakeApi::graph_add_copy(GraphNode* node, Graph graph, std::span<const GraphNode> after, void* /*to*/,
                                 const void* /*from*/, std::size_t /*bytes*/) noexcept {
  return add_node("graph_add_copy", node, graph, after);
}
FakeCode FakeApi::graph_add_child(GraphNode* node, Graph graph, std::span<const GraphNode> after,
                                  Graph child) noexcept {
  return fake().graphs.count(child) == 1 ? add_node("graph_add_child", node, graph, after) : FakeCode::BadHandle;
}
FakeCode FakeApi::graph_edges(Graph graph, GraphNode* from, GraphNode* to, std::size_t* count) noexcept {
  const auto& edges = fake().edges[graph];
  if (from != nullptr) {
    for (std::size_t e = 0; e < *count; ++e) {
      from[e] = edges[e].first;
      to[e] = edges[e].second;
    }
  }
  *count = edges.size();
  return note("graph_edges");
}
FakeCode FakeApi::graph_node_count(Graph graph, std::size_t* count) noexcept {
  *count = fake().nodes[graph];
  return FakeCode::Ok;
}
FakeCode FakeApi::timed_event_create(Event* event) noexcept { return event_create(event); }
FakeCode FakeApi::event_elapsed(float* milliseconds, Event start, Event stop) noexcept {
  const FakeCode code = note_relaxed("event_elapsed");
  if (code != FakeCode::Ok) return code;
  if (!fake().has_passed(fake().events[start]) || !fake().has_passed(fake().events[stop])) return FakeCode::NotReady;
  *milliseconds = static_cast<float>(fake().events[stop].point - fake().events[start].point);
  return FakeCode::Ok;
}
FakeCode FakeApi::capture_add_child(Stream stream, Graph child) noexcept {
  const FakeCode code = note("capture_add_child");
  if (code != FakeCode::Ok) return code;
  if (fake().streams[stream].capture != CaptureStatus::Active) return FakeCode::CaptureBroken;
  fake().streams[stream].captured += fake().nodes[child];
  return code;
}
FakeCode FakeApi::capture_keep(Stream stream, void* data, void (*release)(void*)) noexcept {
  const bool captures = fake().streams[stream].capture == CaptureStatus::Active;
  const FakeCode code = captures ? note("capture_keep") : FakeCode::CaptureBroken;
  if (code == FakeCode::Ok) {
    fake().kept.emplace_back(release, data);
  } else {
    release(data);
  }
  return code;
}
FakeCode FakeApi::graph_instantiate(GraphExec* exec, Graph graph) noexcept {
  const FakeCode code = note_relaxed("graph_instantiate");
  if (code != FakeCode::Ok) return code;
  *exec = fake().next_handle++;
  fake().execs[*exec] = fake().nodes[graph];
  return code;
}
FakeCode FakeApi::graph_upload(GraphExec exec, Stream /*stream*/) noexcept {
  return fake().execs.count(exec) == 1 ? note_relaxed("graph_upload") : FakeCode::BadHandle;
}
FakeCode FakeApi::graph_launch(GraphExec exec, Stream stream) noexcept {
  return fake().execs.count(exec) == 1 ? push(stream, "graph_launch", [] {}) : FakeCode::BadHandle;
}
FakeCode FakeApi::graph_exec_destroy(GraphExec exec) noexcept {
  return fake().execs.erase(exec) == 1 ? note_relaxed("graph_exec_destroy") : FakeCode::BadHandle;
}

}  // namespace tandem::device::gpu
