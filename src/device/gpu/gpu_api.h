#pragma once

#include <tandem/device.h>
#include <tandem/error.h>
#include <tandem/recorder.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tandem::device::gpu {

enum class CaptureStatus : std::uint8_t { None, Active, Invalidated };
/// What the calling thread's calls may do while streams capture.
enum class CaptureMode : std::uint8_t { Global, ThreadLocal, Relaxed };

/// `Function`, called with these arguments, does not throw and gives `Answer`.
template <class Function, class Answer, class... Arguments>
concept Answers = std::is_nothrow_invocable_r_v<Answer, Function, Arguments...>;

/// What the code for GPUs needs of a vendor: types, and static functions that answer with a code. Nothing above a
/// vendor's `X_api.h` names a vendor's function.
///
/// `enter` makes a device current for the calling thread and notes in `Caller` what was current, `leave` restores
/// exactly that; `is_foreign` tells whether the caller has a context of that device that is not the one Tandem uses.
/// What comes after them is called with its device current.
template <class Api>
concept GpuApi = requires {
  requires std::same_as<const DeviceType, decltype(Api::kDeviceType)>;
  requires std::same_as<const Origin, decltype(Api::kOrigin)>;
  requires std::same_as<const typename Api::Code, decltype(Api::kOk)>;
  requires std::same_as<const typename Api::Code, decltype(Api::kNotReady)>;

  requires Answers<decltype(Api::meaning), ErrorCode, typename Api::Code>;
  requires Answers<decltype(Api::error_name), const char*, typename Api::Code>;
  requires Answers<decltype(Api::error_text), const char*, typename Api::Code>;
  requires Answers<decltype(Api::is_shutting_down), bool, typename Api::Code>;
  requires Answers<decltype(Api::clear_last_error), void>;

  requires Answers<decltype(Api::device_count), typename Api::Code, int*>;
  requires Answers<decltype(Api::current_device), typename Api::Code, int*>;
  requires Answers<decltype(Api::enter), typename Api::Code, int, typename Api::Caller*>;
  requires Answers<decltype(Api::leave), void, const typename Api::Caller&>;
  requires Answers<decltype(Api::is_foreign), bool, const typename Api::Caller&>;

  requires Answers<decltype(Api::allocate), typename Api::Code, void**, std::size_t>;
  requires Answers<decltype(Api::free), typename Api::Code, void*>;
  requires Answers<decltype(Api::allocate_pinned), typename Api::Code, void**, std::size_t>;
  requires Answers<decltype(Api::free_pinned), typename Api::Code, void*>;
  requires Answers<decltype(Api::copy), typename Api::Code, void*, const void*, std::size_t, typename Api::Stream>;
  requires Answers<decltype(Api::fill), typename Api::Code, void*, int, std::size_t, typename Api::Stream>;

  requires Answers<decltype(Api::stream_create), typename Api::Code, typename Api::Stream*, int>;
  requires Answers<decltype(Api::stream_destroy), typename Api::Code, typename Api::Stream>;
  requires Answers<decltype(Api::stream_synchronize), typename Api::Code, typename Api::Stream>;
  requires Answers<decltype(Api::stream_wait), typename Api::Code, typename Api::Stream, typename Api::Event>;
  requires Answers<decltype(Api::per_thread_stream), typename Api::Stream>;
  requires Answers<decltype(Api::is_legacy), bool, typename Api::Stream>;

  requires Answers<decltype(Api::event_create), typename Api::Code, typename Api::Event*>;
  requires Answers<decltype(Api::event_destroy), typename Api::Code, typename Api::Event>;
  requires Answers<decltype(Api::event_record), typename Api::Code, typename Api::Event, typename Api::Stream>;
  requires Answers<decltype(Api::event_query), typename Api::Code, typename Api::Event>;
  requires Answers<decltype(Api::event_synchronize), typename Api::Code, typename Api::Event>;

  requires Answers<decltype(Api::capture_begin), typename Api::Code, typename Api::Stream, CaptureMode>;
  requires Answers<decltype(Api::capture_end), typename Api::Code, typename Api::Stream, typename Api::Graph*>;
  requires Answers<decltype(Api::capture_status), typename Api::Code, typename Api::Stream, CaptureStatus*>;
  requires Answers<decltype(Api::exchange_capture_mode), typename Api::Code, CaptureMode*>;
  requires Answers<decltype(Api::graph_destroy), typename Api::Code, typename Api::Graph>;
};

/// Capability: the driver numbers streams, and no number comes back. Without it each Stream object has a number of its
/// own: two that borrow one handle then count as two streams, which costs waits that change nothing.
template <class Api>
concept HasStreamIds = requires {
  requires Answers<decltype(Api::stream_id), typename Api::Code, typename Api::Stream, std::uint64_t*>;
};

/// Capability: the driver tells whose a stream is, and whether its context's memory is not that of the device's other
/// users. Without it, whoever borrows one is believed.
template <class Api>
concept HasStreamOwner = requires {
  requires Answers<decltype(Api::stream_owner), typename Api::Code, typename Api::Stream, int*, bool*>;
};

/// Capability: graphs whose nodes are added one by one, each after some of those before, a copy of another graph among
/// them, and run as a whole, or added as a copy to what a stream captures, whose graph then keeps something: a callback
/// tells of its end, and of a failure to. Without it work goes to streams step by step.
template <class Api>
concept HasGraphs = requires {
  requires Answers<decltype(Api::graph_create), typename Api::Code, typename Api::Graph*>;
  requires Answers < decltype(Api::graph_add_kernel), typename Api::Code, typename Api::GraphNode*, typename Api::Graph,
      std::span<const typename Api::GraphNode>,
  const KernelLaunch& > ;
  requires Answers < decltype(Api::graph_add_copy), typename Api::Code, typename Api::GraphNode*, typename Api::Graph,
      std::span<const typename Api::GraphNode>,
  void*, const void*, std::size_t > ;
  requires Answers < decltype(Api::graph_add_child), typename Api::Code, typename Api::GraphNode*, typename Api::Graph,
      std::span<const typename Api::GraphNode>,
  typename Api::Graph > ;
  requires Answers<decltype(Api::graph_edges), typename Api::Code, typename Api::Graph, typename Api::GraphNode*,
                   typename Api::GraphNode*, std::size_t*>;
  requires Answers<decltype(Api::graph_node_count), typename Api::Code, typename Api::Graph, std::size_t*>;
  requires Answers<decltype(Api::graph_instantiate), typename Api::Code, typename Api::GraphExec*, typename Api::Graph>;
  requires Answers<decltype(Api::graph_upload), typename Api::Code, typename Api::GraphExec, typename Api::Stream>;
  requires Answers<decltype(Api::graph_launch), typename Api::Code, typename Api::GraphExec, typename Api::Stream>;
  requires Answers<decltype(Api::capture_add_child), typename Api::Code, typename Api::Stream, typename Api::Graph>;
  requires Answers<decltype(Api::capture_keep), typename Api::Code, typename Api::Stream, void*, void (*)(void*)>;
  requires Answers<decltype(Api::graph_exec_destroy), typename Api::Code, typename Api::GraphExec>;
};

/// Capability: events that remember when they were passed. kNotReady: they were not. Without it nobody tells the
/// device's time.
template <class Api>
concept HasTimedEvents = requires {
  requires Answers<decltype(Api::timed_event_create), typename Api::Code, typename Api::Event*>;
  requires Answers<decltype(Api::event_elapsed), typename Api::Code, float*, typename Api::Event, typename Api::Event>;
};

}  // namespace tandem::device::gpu
