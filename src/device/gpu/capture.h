#pragma once

#include "device/gpu/gpu_stream.h"

#include <utility>

namespace tandem::device::gpu {

/// Owns a graph of a GPU's, which is a description: nothing of it runs.
///
/// Lifetime: the context outlives it.
template <GpuApi Api>
class Graph {
 public:
  using Handle = typename Api::Graph;

  Graph() noexcept = default;
  Graph(Context<Api>& context, Handle handle) noexcept : context_{&context}, handle_{handle} {}
  Graph(Graph&& other) noexcept : context_{other.context_}, handle_{std::exchange(other.handle_, Handle{})} {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Graph() {
    if (handle_ != Handle{}) {
      context_->close("a graph cannot be destroyed", [this] { return Api::graph_destroy(handle_); });
    }
  }

  [[nodiscard]] Handle handle() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Handle{}; }

 private:
  Context<Api>* context_ = nullptr;
  Handle handle_{};
};

/// While it lives, a stream records what is enqueued into a graph instead of running it. However it ends, the stream
/// no longer captures and works as before.
///
/// In thread-local mode on a non-blocking stream of our own: nothing that other threads do breaks it but a device-wide
/// synchronise, and what this thread may not do meanwhile fails for itself alone.
/// Lifetime: ends on the thread that began it; the stream outlives it.
template <GpuApi Api>
class CaptureScope {
 public:
  /// Errors: InvalidArgument, a stream that Tandem does not own; InvalidState, it captures already; as
  ///   Context::usable().
  [[nodiscard]] static Result<CaptureScope> begin(GpuStream<Api>& stream) {
    if (stream.kind() != GpuStream<Api>::Kind::Owned) {
      return Error{ErrorCode::InvalidArgument, "only a stream that Tandem made may capture"}.with_device(
          to_string(stream.context().id()));
    }
    TANDEM_CHECK_OK(stream.context().run(
        "a capture cannot begin", [&stream] { return Api::capture_begin(stream.handle(), CaptureMode::ThreadLocal); }));
    return CaptureScope{stream};
  }
  CaptureScope(CaptureScope&& other) noexcept : stream_{std::exchange(other.stream_, nullptr)} {}
  CaptureScope& operator=(CaptureScope&&) = delete;
  /// Abandons what was recorded, unless finish() was called.
  ~CaptureScope() {
    if (stream_ != nullptr) ignore(end().status, "the capture is given up");
  }

  /// What was recorded. The scope is over then, also if this fails.
  /// Errors: InvalidState, something broke the capture; as Context::usable().
  [[nodiscard]] Result<Graph<Api>> finish() {
    if (stream_ == nullptr) return Error{ErrorCode::InvalidState, "the capture is over"};
    Ended ended = end();
    TANDEM_CHECK_OK(std::move(ended.status));
    return std::move(ended.graph);
  }

 private:
  struct Ended {
    Status status{};
    Graph<Api> graph{};
  };

  explicit CaptureScope(GpuStream<Api>& stream) noexcept : stream_{&stream} {}

  Ended end() {
    GpuStream<Api>& stream = *std::exchange(stream_, nullptr);
    typename Api::Graph graph{};
    Status status = stream.context().run("a capture failed", [&] { return Api::capture_end(stream.handle(), &graph); });
    return {std::move(status), Graph<Api>{stream.context(), graph}};  // half a graph goes with it
  }

  GpuStream<Api>* stream_;
};

}  // namespace tandem::device::gpu
