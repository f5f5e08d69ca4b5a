#include "device/host/host_graph.h"

#include "device/host/host_stream.h"
#include "device/host/piece.h"

#include <utility>
#include <vector>

namespace tandem::device {
namespace {

struct Content {
  std::vector<Piece> pieces{};
  std::vector<std::shared_ptr<const void>> kept{};
};

class HostGraph final : public Graph {
 public:
  explicit HostGraph(Content content) : content_{std::make_shared<const Content>(std::move(content))} {}

  Status launch(Stream& stream) override {
    if (stream.id().device != DeviceId{}) {
      return Error{ErrorCode::InvalidArgument, "the stream belongs to another device"}.with_expected(
          "host", to_string(stream.id().device));
    }
    auto keeps = std::make_unique<std::shared_ptr<const Content>>(content_);  // the graph may go before it has run
    TANDEM_CHECK_OK(stream.submit(&HostGraph::run, keeps.get(), 0));
    static_cast<void>(keeps.release());
    return {};
  }
  std::size_t node_count() const noexcept override { return content_->pieces.size(); }

 private:
  static bool run(void* data, std::uint32_t /*index*/) noexcept {
    const std::unique_ptr<std::shared_ptr<const Content>> content{static_cast<std::shared_ptr<const Content>*>(data)};
    for (const Piece& piece : (*content)->pieces) {
      while (!piece.run()) {
      }
    }
    return false;
  }

  std::shared_ptr<const Content> content_;
};

/// Notes what it is given.
class CapturingStream final : public HostStream {
 public:
  explicit CapturingStream(std::vector<Piece>& pieces) noexcept : pieces_{pieces} {}

  Status submit(Work work, void* data, std::uint32_t index) override {
    pieces_.push_back({.work = work, .data = data, .index = index});
    return {};
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes != 0) pieces_.push_back({.data = to, .from = from, .bytes = bytes});
    return {};
  }
  Status fill(void* to, std::byte value, std::size_t bytes) override {
    if (bytes != 0) pieces_.push_back({.data = to, .bytes = bytes, .value = value});
    return {};
  }

 private:
  static Status refuse() { return Error{ErrorCode::InvalidState, "a wait while the stream captures"}; }
  Status drain() override { return refuse(); }
  void mark(HostEvent& event) override { event.mark(nullptr, 0); }
  Status wait_for(const HostEvent& /*event*/) override { return refuse(); }

  std::vector<Piece>& pieces_;
};

class HostGraphBuilder final : public GraphBuilder {
 public:
  /// One thread runs everything in the order in which it came, which is one that the parts allow.
  void begin_part(std::span<const std::uint32_t> /*after*/) override { part_begins_.push_back(content_.pieces.size()); }
  Result<GraphEdges> edges() override {
    GraphEdges found;
    found.is_chain.assign(part_begins_.size(), true);
    for (std::uint32_t p = 0; p < part_begins_.size(); ++p) {
      const bool is_last = p + 1 == part_begins_.size();
      found.is_empty.push_back(part_begins_[p] == (is_last ? content_.pieces.size() : part_begins_[p + 1]));
      for (std::uint32_t earlier = 0; earlier < p; ++earlier) found.edges.emplace_back(earlier, p);
    }
    return found;
  }
  Status kernel(const KernelLaunch& /*launch*/) override {
    return Error{ErrorCode::NotSupported, "the host has no kernels"}.with_device("host");
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    return CapturingStream{content_.pieces}.copy(to, from, bytes);
  }
  Status capture(const std::function<Status(Stream&)>& enqueue) override {
    std::vector<Piece> pieces;
    CapturingStream stream{pieces};
    TANDEM_CHECK_OK(enqueue(stream));
    content_.pieces.insert(content_.pieces.end(), pieces.begin(), pieces.end());
    return {};
  }
  void keep(std::shared_ptr<const void> memory) override { content_.kept.push_back(std::move(memory)); }
  Result<std::unique_ptr<Graph>> finish(Stream& /*stream*/) override {
    return std::unique_ptr<Graph>{new HostGraph{std::move(content_)}};
  }

 private:
  Content content_{};
  std::vector<std::size_t> part_begins_{};
};

}  // namespace

std::unique_ptr<GraphBuilder> make_host_graph() { return std::make_unique<HostGraphBuilder>(); }

}  // namespace tandem::device
