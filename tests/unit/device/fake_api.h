#pragma once

#include "device/gpu/gpu_api.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem::device::gpu {

enum class FakeCode : std::int64_t {
  Ok = 0,
  OutOfMemory = 2,
  Unloading = 4,
  NoDevice = 100,
  BadHandle = 400,
  NotReady = 600,
  Fault = 700,
  CaptureBroken = 901,
};

/// What the fake driver did and holds. Work on its streams runs only when somebody waits for it.
struct FakeDriver {
  struct StreamState {
    int device = 0;
    int priority = 0;
    std::uint64_t id = 0;
    std::deque<std::function<void()>> pending{};
    std::uint64_t pushed = 0;
    CaptureStatus capture = CaptureStatus::None;
    std::uint32_t captured = 0;  ///< Pieces of work since the capture began.
  };
  struct EventState {
    int device = 0;
    std::uint32_t stream = 0;
    std::uint64_t point = 0;  ///< Done when the stream has done so many.
  };

  std::vector<std::string> calls{};  ///< "copy@1": on device 1. Without enter, leave and questions.
  std::map<std::string, std::deque<FakeCode>> failures{};
  int devices = 2;
  int current = 0;
  bool caller_is_foreign = false;
  CaptureMode mode = CaptureMode::Global;
  std::vector<CaptureMode> modes{};  ///< Of each allocation, question, wait and close.
  std::map<std::uint32_t, StreamState> streams{};
  std::map<std::uint32_t, EventState> events{};
  std::set<std::uint32_t> graphs{};
  std::map<std::uint32_t, std::uint32_t> execs{};  ///< And the number of nodes.
  std::map<std::uint32_t, std::uint32_t> nodes{};  ///< By graph, how many it has.
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> edges{};  ///< By graph.
  std::vector<std::pair<void (*)(void*), void*>> kept{};  ///< By what is captured, and what to call at its end.
  std::map<void*, int> memory{};                          ///< And its device; -1: page-locked.
  std::uint32_t next_handle = 10;
  std::uint64_t next_id = 1;
  int last_errors = 0;  ///< That nobody has cleared.

  /// The next call of this name fails.
  void fail(const std::string& name, FakeCode code) { failures[name].push_back(code); }
  [[nodiscard]] std::size_t count(const std::string& call) const;
  /// Does what a stream was told, up to a point.
  void run(std::uint32_t stream, std::uint64_t point);
  void run(std::uint32_t stream) { run(stream, streams[stream].pushed); }
  [[nodiscard]] bool has_passed(const EventState& event) const;
};

/// The driver of the running test. Every test starts with a new one.
FakeDriver& fake();
void reset_fake();

/// A vendor without capabilities, as HIP 5.2.
struct PlainFakeApi {
  using Code = FakeCode;
  using Stream = std::uint32_t;
  using Event = std::uint32_t;
  using Graph = std::uint32_t;
  struct Caller {
    int device = 0;
    bool is_foreign = false;
  };
  static constexpr DeviceType kDeviceType = DeviceType::Hip;
  static constexpr Origin kOrigin = Origin::Hip;
  static constexpr Code kOk = FakeCode::Ok;
  static constexpr Code kNotReady = FakeCode::NotReady;
  static constexpr Stream kPerThread = 2;

  static ErrorCode meaning(Code code) noexcept;
  static const char* error_name(Code /*code*/) noexcept { return "fakeError"; }
  static const char* error_text(Code /*code*/) noexcept { return "text of the fake"; }
  static bool is_shutting_down(Code code) noexcept { return code == FakeCode::Unloading; }
  static void clear_last_error() noexcept;

  static Code device_count(int* count) noexcept;
  static Code current_device(int* device) noexcept;
  static Code enter(int device, Caller* caller) noexcept;
  static void leave(const Caller& caller) noexcept;
  static bool is_foreign(const Caller& caller) noexcept { return caller.is_foreign; }

  static Code allocate(void** data, std::size_t bytes) noexcept;
  static Code free(void* data) noexcept;
  static Code allocate_pinned(void** data, std::size_t bytes) noexcept;
  static Code free_pinned(void* data) noexcept;
  static Code copy(void* to, const void* from, std::size_t bytes, Stream stream) noexcept;
  static Code fill(void* to, int value, std::size_t bytes, Stream stream) noexcept;

  static Code stream_create(Stream* stream, int priority) noexcept;
  static Code stream_destroy(Stream stream) noexcept;
  static Code stream_synchronize(Stream stream) noexcept;
  static Code stream_wait(Stream stream, Event event) noexcept;
  static Stream per_thread_stream() noexcept { return kPerThread; }
  static bool is_legacy(Stream stream) noexcept { return stream <= 1; }

  static Code event_create(Event* event) noexcept;
  static Code event_destroy(Event event) noexcept;
  static Code event_record(Event event, Stream stream) noexcept;
  static Code event_query(Event event) noexcept;
  static Code event_synchronize(Event event) noexcept;

  static Code capture_begin(Stream stream, CaptureMode mode) noexcept;
  static Code capture_end(Stream stream, Graph* graph) noexcept;
  static Code capture_status(Stream stream, CaptureStatus* status) noexcept;
  static Code exchange_capture_mode(CaptureMode* mode) noexcept;
  static Code graph_destroy(Graph graph) noexcept;
};

/// A vendor with all capabilities.
struct FakeApi : PlainFakeApi {
  static constexpr DeviceType kDeviceType = DeviceType::Cuda;
  static constexpr Origin kOrigin = Origin::Cuda;
  static Code stream_id(Stream stream, std::uint64_t* id) noexcept;
  static constexpr int kForeign = 99;  ///< The priority of streams of a foreign context.
  static Code stream_owner(Stream stream, int* device, bool* is_foreign) noexcept;

  using GraphNode = std::uint32_t;  ///< Which of its graph's it is, from 1.
  using GraphExec = std::uint32_t;
  static Code graph_create(Graph* graph) noexcept;
  static Code graph_add_kernel(GraphNode* node, Graph graph, std::span<const GraphNode> after,
                               const KernelLaunch& launch) noexcept;
  static Code graph_add_copy(GraphNode* node, Graph graph, std::span<const GraphNode> after, void* to, const void* from,
                             std::size_t bytes) noexcept;
  static Code graph_add_child(GraphNode* node, Graph graph, std::span<const GraphNode> after, Graph child) noexcept;
  static Code graph_edges(Graph graph, GraphNode* from, GraphNode* to, std::size_t* count) noexcept;
  static Code graph_node_count(Graph graph, std::size_t* count) noexcept;
  static Code timed_event_create(Event* event) noexcept;
  static Code event_elapsed(float* milliseconds, Event start, Event stop) noexcept;
  static Code capture_add_child(Stream stream, Graph child) noexcept;
  static Code capture_keep(Stream stream, void* data, void (*release)(void*)) noexcept;
  static Code graph_instantiate(GraphExec* exec, Graph graph) noexcept;
  static Code graph_upload(GraphExec exec, Stream stream) noexcept;
  static Code graph_launch(GraphExec exec, Stream stream) noexcept;
  static Code graph_exec_destroy(GraphExec exec) noexcept;
};

static_assert(GpuApi<PlainFakeApi> && !HasStreamIds<PlainFakeApi> && !HasStreamOwner<PlainFakeApi> &&
              !HasGraphs<PlainFakeApi>);
static_assert(GpuApi<FakeApi> && HasStreamIds<FakeApi> && HasStreamOwner<FakeApi> && HasGraphs<FakeApi> &&
              HasTimedEvents<FakeApi>);

}  // namespace tandem::device::gpu
