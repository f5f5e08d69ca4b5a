#include "simulated_machine.h"

#include "bench/suite/host_kernels.h"
#include "support/program_method.h"

#include <array>
#include <cstring>
#include <utility>

namespace tandem::suite {
namespace {

using testing::SimulatedGpu;

class SimulatedLauncher final : public Launcher {
 public:
  explicit SimulatedLauncher(bool spoils_recorded) : spoils_recorded_{spoils_recorded} {}
  bool is_on_host() const noexcept override { return false; }
  Status launch(StreamRef stream, const KernelCall& call) override {
    return SimulatedGpu::launch(stream, [call] { run_on_host(call); });
  }
  Status record(Recorder& recorder, const KernelCall& call) override {
    KernelCall recorded = call;
    if (spoils_recorded_) recorded.amount *= 2;
    const std::function<void()> kernel = [recorded] { run_on_host(recorded); };
    return recorder.kernel({.function = const_cast<std::function<void()>*>(&kernel)});
  }

 private:
  bool spoils_recorded_;
};

class SimulatedRawGraph final : public RawGraph {
 public:
  explicit SimulatedRawGraph(std::unique_ptr<device::Graph> graph) : graph_{std::move(graph)} {}
  [[nodiscard]] device::Graph& graph() { return *graph_; }

 private:
  std::unique_ptr<device::Graph> graph_;
};

class SimulatedStream final : public RawStream {
 public:
  static Result<std::unique_ptr<RawStream>> create(SimulatedGpu& gpu) {
    TANDEM_TRY(auto stream, gpu.make_stream());
    std::unique_ptr<SimulatedStream> made{new SimulatedStream{gpu, std::move(stream)}};
    for (Event& event : made->events_) {
      TANDEM_TRY(event, made->stream_->make_event());
    }
    return std::unique_ptr<RawStream>{std::move(made)};
  }
  Status launch(std::span<const KernelCall> calls) override {
    for (const KernelCall& call : calls) {
      TANDEM_CHECK_OK(SimulatedGpu::launch(StreamRef{*stream_}, [call] { run_on_host(call); }));
    }
    return {};
  }
  /// In the order of the nodes, which is one that their edges allow: an edge from a later node is refused.
  Result<std::unique_ptr<RawGraph>> make_graph(std::span<const RawNode> nodes) override {
    TANDEM_TRY(auto builder, gpu_.make_graph());
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const std::uint32_t before : nodes[n].after) {
        if (before >= n) return Error{ErrorCode::InvalidArgument, "a node runs after a later one"};
      }
      const std::function<void()> kernel = [call = nodes[n].call] { run_on_host(call); };
      TANDEM_CHECK_OK(builder->kernel({.function = const_cast<std::function<void()>*>(&kernel)}));
    }
    TANDEM_TRY(auto graph, builder->finish(*stream_));
    return std::unique_ptr<RawGraph>{std::make_unique<SimulatedRawGraph>(std::move(graph))};
  }
  Status launch(RawGraph& graph) override { return static_cast<SimulatedRawGraph&>(graph).graph().launch(*stream_); }
  Status copy(void* to, const void* from, std::size_t bytes) override { return stream_->copy(to, from, bytes); }
  Status record(std::size_t mark) override { return stream_->record(*events_[mark].impl()); }
  Status wait(std::size_t mark) override { return events_[mark].synchronize(); }

 private:
  SimulatedStream(SimulatedGpu& gpu, std::unique_ptr<device::Stream> stream) : gpu_{gpu}, stream_{std::move(stream)} {}
  SimulatedGpu& gpu_;
  std::unique_ptr<device::Stream> stream_;
  std::array<Event, kMarks> events_{};
};

std::shared_ptr<void> share(device::Buffer buffer) {
  const auto owner = std::make_shared<device::Buffer>(std::move(buffer));
  return {owner, owner->data()};
}

}  // namespace

void SimulatedMachine::spoil_recorded() { spoils_recorded_ = true; }

std::shared_ptr<Launcher> SimulatedMachine::launcher() { return std::make_shared<SimulatedLauncher>(spoils_recorded_); }

Result<std::unique_ptr<LoadedMethod>> SimulatedMachine::load(std::shared_ptr<const Program> program,
                                                             MethodOptions options) {
  options.device = gpu_.id();
  TANDEM_TRY(auto method, testing::ProgramMethod::load(std::move(program), "forward", gpu_, options));
  return std::unique_ptr<LoadedMethod>{new LoadedAs<testing::ProgramMethod>{std::move(method)}};
}

Result<Stream> SimulatedMachine::make_stream() {
  TANDEM_TRY(auto stream, gpu_.make_stream());
  return Stream{std::move(stream)};
}

Result<std::unique_ptr<RawStream>> SimulatedMachine::make_raw_stream() { return SimulatedStream::create(gpu_); }

Result<std::shared_ptr<void>> SimulatedMachine::allocate(std::size_t bytes) {
  TANDEM_TRY(device::Buffer buffer, gpu_.allocate(bytes));
  return share(std::move(buffer));
}

Result<std::shared_ptr<void>> SimulatedMachine::allocate_staging(std::size_t bytes) {
  TANDEM_TRY(device::Buffer buffer, gpu_.allocate_staging(bytes));
  return share(std::move(buffer));
}

Status SimulatedMachine::copy_now(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
  return {};
}

Result<std::optional<std::size_t>> SimulatedMachine::launches_in(const std::function<Status()>& work) {
  gpu_.reset_counts();
  TANDEM_CHECK_OK(work());
  return std::optional{static_cast<std::size_t>(gpu_.counts().launches + gpu_.counts().graph_launches)};
}

}  // namespace tandem::suite
