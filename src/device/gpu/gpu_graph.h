#pragma once

#include "device/gpu/capture.h"
#include "device/gpu/gpu_stream.h"
#include "device/graph.h"
#include "device/graph_owners.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tandem::device::gpu {

inline Status check_device(DeviceId expected, const Stream& stream) {
  if (stream.id().device == expected) return {};
  return Error{ErrorCode::InvalidArgument, "the stream belongs to another device"}.with_expected(
      to_string(expected), to_string(stream.id().device));
}

/// A graph of a GPU that can be launched.
///
/// Lifetime: the context outlives it.
template <GpuApi Api>
requires HasGraphs<Api>
class GpuGraph final : public device::Graph {
 public:
  using Exec = typename Api::GraphExec;

  GpuGraph(Context<Api>& context, Exec exec, std::size_t nodes, std::vector<std::shared_ptr<const void>> kept) noexcept
      : context_{context}, exec_{exec}, nodes_{nodes}, kept_{std::move(kept)} {}
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;
  ~GpuGraph() override {
    context_.close("a graph cannot be destroyed", [this] { return Api::graph_exec_destroy(exec_); });
  }

  [[nodiscard]] Status launch(Stream& stream) override {
    TANDEM_CHECK_OK(check_device(context_.id(), stream));
    TANDEM_CHECK_OK(stream.may_enqueue());
    const auto handle = static_cast<GpuStream<Api>&>(stream).handle();
    return context_.run("a graph cannot be launched", [this, handle] { return Api::graph_launch(exec_, handle); });
  }
  [[nodiscard]] std::size_t node_count() const noexcept override { return nodes_; }

 private:
  Context<Api>& context_;
  Exec exec_;
  std::size_t nodes_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// Adds nodes one after the other. But for capture(), nothing that other threads do disturbs it, and it disturbs
/// nobody.
template <GpuApi Api>
requires HasGraphs<Api>
class GpuGraphBuilder final : public GraphBuilder {
 public:
  using Node = typename Api::GraphNode;

  /// `staging` is what its capturing stream would use.
  [[nodiscard]] static Result<std::unique_ptr<GraphBuilder>> create(Context<Api>& context, Staging<Api>& staging) {
    typename Api::Graph handle{};
    TANDEM_CHECK_OK(context.run("a graph cannot be made", [&handle] { return Api::graph_create(&handle); }));
    return std::unique_ptr<GraphBuilder>{new GpuGraphBuilder{context, staging, Graph<Api>{context, handle}}};
  }

  void begin_part(std::span<const std::uint32_t> after) override {
    tails_.clear();
    for (const std::uint32_t part : after)
      tails_.insert(tails_.end(), parts_[part].tails.begin(), parts_[part].tails.end());
    parts_.push_back({.tails = tails_});
  }
  [[nodiscard]] Result<GraphEdges> edges() override;
  [[nodiscard]] Status kernel(const KernelLaunch& launch) override {
    return add("a kernel cannot be recorded",
               [this, &launch](Node* node) { return Api::graph_add_kernel(node, graph_.handle(), tails_, launch); });
  }
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return {};
    return add("a copy cannot be recorded", [this, to, from, bytes](Node* node) {
      return Api::graph_add_copy(node, graph_.handle(), tails_, to, from, bytes);
    });
  }
  [[nodiscard]] Status capture(const std::function<Status(Stream&)>& enqueue) override {
    TANDEM_CHECK_OK(make_capture_stream());
    TANDEM_TRY(CaptureScope<Api> scope, CaptureScope<Api>::begin(*capture_stream_));
    TANDEM_CHECK_OK(enqueue(*capture_stream_));
    TANDEM_TRY(const Graph<Api> child, scope.finish());
    std::size_t count = 0;
    TANDEM_CHECK_OK(
        context_.run("a graph does not tell its nodes", [&] { return Api::graph_node_count(child.handle(), &count); }));
    if (count == 0) return {};
    TANDEM_CHECK_OK(add("a captured piece cannot be added", [&](Node* node) {
      return Api::graph_add_child(node, graph_.handle(), tails_, child.handle());
    }));
    node_count_ += count - 1;
    return {};
  }
  void keep(std::shared_ptr<const void> memory) override { kept_.push_back(std::move(memory)); }

  [[nodiscard]] Status add_to_capture(Stream& stream, std::shared_ptr<void> owner) override {
    TANDEM_CHECK_OK(check_device(context_.id(), stream));
    const auto handle = static_cast<GpuStream<Api>&>(stream).handle();
    void* const kept = keep_for_graph(std::make_shared<Kept>(Kept{std::move(owner), std::move(kept_)}));
    bool was_asked = false;
    Status keeps = context_.run("a capture keeps nothing", [&] {
      was_asked = true;
      return Api::capture_keep(handle, kept, [](void* data) { release_kept(data); });
    });
    if (!was_asked) release_kept(kept);
    TANDEM_CHECK_OK(std::move(keeps));
    return context_.run("a graph cannot be added to a capture",
                        [&] { return Api::capture_add_child(handle, graph_.handle()); });
  }

  [[nodiscard]] Result<std::unique_ptr<device::Graph>> finish(Stream& stream) override {
    const auto upload_on = static_cast<GpuStream<Api>&>(stream).handle();
    typename Api::GraphExec exec{};
    TANDEM_CHECK_OK(context_.run_relaxed("a graph cannot be made ready",
                                         [&] { return Api::graph_instantiate(&exec, graph_.handle()); }));
    auto made = std::make_unique<GpuGraph<Api>>(context_, exec, node_count_, std::move(kept_));
    TANDEM_CHECK_OK(context_.run_relaxed("a graph cannot be brought to the device",
                                         [&] { return Api::graph_upload(exec, upload_on); }));
    graph_ = {};
    return std::unique_ptr<device::Graph>{std::move(made)};
  }

 private:
  GpuGraphBuilder(Context<Api>& context, Staging<Api>& staging, Graph<Api> graph) noexcept
      : context_{context}, staging_{staging}, graph_{std::move(graph)} {}

  Status make_capture_stream() {
    if (capture_stream_ != nullptr) return {};
    typename Api::Stream handle{};
    TANDEM_CHECK_OK(context_.run_relaxed("a stream cannot be made", [&] { return Api::stream_create(&handle, 0); }));
    capture_stream_ = std::make_unique<GpuStream<Api>>(context_, staging_, handle, GpuStream<Api>::Kind::Owned);
    return {};
  }

  template <class Add>
  Status add(const char* what, Add&& add) {
    Node node{};
    TANDEM_CHECK_OK(context_.run(what, [&] { return add(&node); }));
    tails_.assign(1, node);
    if (!parts_.empty()) {
      parts_.back().tails = tails_;
      parts_.back().nodes.push_back(node);
    }
    ++node_count_;
    return {};
  }

  struct Kept {
    std::shared_ptr<void> owner{};
    std::vector<std::shared_ptr<const void>> more{};
  };
  struct Part {
    std::vector<Node> tails{};  ///< What comes after it comes after these: its last node, or those of parts before.
    std::vector<Node> nodes{};
  };

  Context<Api>& context_;
  Staging<Api>& staging_;
  Graph<Api> graph_;
  std::vector<Node> tails_{};  ///< The next node comes after these.
  std::vector<Part> parts_{};
  std::size_t node_count_ = 0;                        ///< Kernels and copies, those of captured pieces too.
  std::unique_ptr<GpuStream<Api>> capture_stream_{};  ///< Made when it is first needed.
  std::vector<std::shared_ptr<const void>> kept_{};
};

template <GpuApi Api>
requires HasGraphs<Api> Result<GraphEdges> GpuGraphBuilder<Api>::edges() {
  constexpr const char* kWhat = "a graph does not tell its edges";
  std::size_t count = 0;
  TANDEM_CHECK_OK(context_.run(kWhat, [&] { return Api::graph_edges(graph_.handle(), nullptr, nullptr, &count); }));
  std::vector<Node> from(count);
  std::vector<Node> to(count);
  if (count != 0) {
    TANDEM_CHECK_OK(
        context_.run(kWhat, [&] { return Api::graph_edges(graph_.handle(), from.data(), to.data(), &count); }));
  }
  struct Place {
    std::uint32_t part = 0;
    std::size_t at = 0;
  };
  std::map<Node, Place> places;
  for (std::uint32_t p = 0; p < parts_.size(); ++p) {
    for (std::size_t i = 0; i < parts_[p].nodes.size(); ++i) places[parts_[p].nodes[i]] = {p, i};
  }
  GraphEdges found;
  std::vector<std::size_t> links(parts_.size());  // within a part
  for (std::size_t e = 0; e < count; ++e) {
    const Place& a = places[from[e]];
    const Place& b = places[to[e]];
    if (a.part == b.part) {
      if (a.at + 1 == b.at) ++links[a.part];
    } else if (a.at + 1 == parts_[a.part].nodes.size() && b.at == 0) {
      found.edges.emplace_back(a.part, b.part);
    }
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    found.is_empty.push_back(parts_[p].nodes.empty());
    found.is_chain.push_back(parts_[p].nodes.empty() || links[p] + 1 == parts_[p].nodes.size());
  }
  return found;
}

}  // namespace tandem::device::gpu
