#include "support/simulated_gpu.h"

#include "device/graph_owners.h"
#include "support/aoti_library/fake_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

namespace tandem::testing {

/// A kernel on a stream, and those that overtake it.
struct SimulatedGpu::Launched {
  explicit Launched(std::function<void()> work) : kernel{std::move(work)} {}
  void run() {
    std::vector<std::shared_ptr<Launched>> first;
    {
      const std::scoped_lock lock{mutex};
      if (std::exchange(has_begun, true)) return;
      first = std::move(overtaking);
    }
    for (const auto& other : first) other->run();
    kernel();
  }
  /// Unless this one has begun, `other` runs before it.
  void let_overtake(const std::shared_ptr<Launched>& other) {
    const std::scoped_lock lock{mutex};
    if (!has_begun) overtaking.push_back(other);
  }

  std::mutex mutex{};
  std::function<void()> kernel;
  std::vector<std::shared_ptr<Launched>> overtaking{};
  bool has_begun = false;
};

/// A capture: what streams that take part were given, in an order that their events allow.
struct SimulatedGpu::Capture {
  std::vector<std::function<void()>> nodes{};
  std::vector<GpuStream*> joined{};
  std::vector<void*> kept{};
  bool ends_in_kernel = false;  ///< The last node is one.
  bool is_over = false;
};

class SimulatedGpu::GpuEvent final : public device::Event {
 public:
  explicit GpuEvent(tandem::Event inner) : Event{DeviceId{DeviceType::Cuda, 0}}, inner_{std::move(inner)} {}
  Result<bool> is_done() const override { return inner_.impl()->is_done(); }
  Status synchronize() const override { return inner_.impl()->synchronize(); }
  void hold() override { inner_.impl()->hold(); }
  void signal() noexcept override { inner_.impl()->signal(); }
  device::Event& inner() const { return *inner_.impl(); }
  /// Not null: recorded by a stream that captures.
  std::shared_ptr<Capture> capture{};

 private:
  tandem::Event inner_;
};

class SimulatedGpu::GpuStream final : public device::Stream {
 public:
  GpuStream(SimulatedGpu& gpu, std::unique_ptr<device::Stream> inner, std::shared_ptr<Capture> capture = {})
      : gpu_{gpu}, inner_{std::move(inner)}, capture_{std::move(capture)} {}

  device::StreamId id() const noexcept override { return {{DeviceType::Cuda, 0}, inner_->id().number}; }
  Status may_wait() const override { return inner_->may_wait(); }
  Status submit(Work /*work*/, void* /*data*/, std::uint32_t /*index*/) override {
    return Error{ErrorCode::NotSupported, "a GPU runs no host work"};
  }
  Result<bool> is_capturing() const override { return capture_ != nullptr; }
  void begin_capture() { capture_ = std::make_shared<Capture>(); }
  std::shared_ptr<Capture> end_capture() { return std::exchange(capture_, nullptr); }
  [[nodiscard]] const std::shared_ptr<Capture>& capture() const { return capture_; }
  Status fill(void* to, std::byte value, std::size_t bytes) override {
    if (capture_ != nullptr) return add_node([to, value, bytes] { std::memset(to, static_cast<int>(value), bytes); });
    last_.reset();
    return inner_->fill(to, value, bytes);
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    if (capture_ != nullptr) return add_node([to, from, bytes] { std::memcpy(to, from, bytes); });
    last_.reset();
    ++gpu_.counts_.copies;
    gpu_.counts_.copied_bytes += bytes;
    return inner_->copy(to, from, bytes);
  }
  Status upload(void* to, const void* from, std::size_t bytes) override {
    EXPECT_FALSE(gpu_.owns(from, 1)) << "the host cannot read memory of the device";
    return copy(to, from, bytes);
  }
  Status record(device::Event& event) override {
    auto& mine = static_cast<GpuEvent&>(event);
    mine.capture = capture_;
    return capture_ != nullptr ? Status{} : inner_->record(mine.inner());
  }
  /// As on CUDA: an event of a capture makes the waiting stream a part of it, others may not be waited for in one.
  Status wait(const device::Event& event) override {
    const auto& theirs = static_cast<const GpuEvent&>(event);
    last_.reset();
    if (theirs.capture == nullptr && capture_ == nullptr) return inner_->wait(theirs.inner());
    const bool is_one =
        theirs.capture != nullptr && !theirs.capture->is_over && (capture_ == nullptr || capture_ == theirs.capture);
    if (!is_one) return Error{ErrorCode::InvalidState, "a wait between a capture and what is outside"};
    if (capture_ == nullptr) {
      capture_ = theirs.capture;
      capture_->joined.push_back(this);
    }
    return {};
  }
  void leave_capture() { capture_.reset(); }
  Status synchronize() override {
    if (capture_ != nullptr) return Error{ErrorCode::InvalidState, "the stream captures"};
    ++gpu_.counts_.synchronizes;
    return inner_->synchronize();
  }
  Result<tandem::Event> make_event() override {
    TANDEM_TRY(tandem::Event event, inner_->make_event());
    return tandem::Event{new GpuEvent{std::move(event)}};
  }

  Status launch(std::function<void()> kernel, bool overlaps) {
    if (capture_ != nullptr) {
      std::vector<std::function<void()>>& nodes = capture_->nodes;
      if (overlaps && capture_->ends_in_kernel) {
        nodes.back() = [first = std::move(kernel), second = std::move(nodes.back())] {
          first();
          second();
        };
      } else {
        nodes.push_back(std::move(kernel));
      }
      capture_->ends_in_kernel = true;
      return {};
    }
    ++gpu_.counts_.launches;
    const auto launched = std::make_shared<Launched>(std::move(kernel));
    if (overlaps && last_ != nullptr) last_->let_overtake(launched);
    last_ = launched;
    auto owned = std::make_unique<std::shared_ptr<Launched>>(launched);
    TANDEM_CHECK_OK(inner_->submit(
        [](void* data, std::uint32_t /*index*/) noexcept {
          const std::unique_ptr<std::shared_ptr<Launched>> run{static_cast<std::shared_ptr<Launched>*>(data)};
          (*run)->run();
          return false;
        },
        owned.get(), 0));
    owned.release();
    return {};
  }
  /// A whole graph: no kernel overtakes it.
  Status launch_graph(std::function<void()> graph) {
    TANDEM_CHECK_OK(launch(std::move(graph), /*overlaps=*/false));
    last_.reset();
    return {};
  }

 private:
  Status add_node(std::function<void()> node) {
    capture_->nodes.push_back(std::move(node));
    capture_->ends_in_kernel = false;
    return {};
  }

  SimulatedGpu& gpu_;
  std::unique_ptr<device::Stream> inner_;
  std::shared_ptr<Launched> last_{};  ///< What a kernel may overtake.
  std::shared_ptr<Capture> capture_;  ///< Not null: it captures.
};

/// What a graph of the device is: functions, what orders them, and what they need. Every launch runs them in another
/// order that the edges allow.
class SimulatedGpu::Graph final : public device::Graph {
 public:
  struct Part {
    std::vector<std::uint32_t> after{};
    std::vector<std::function<void()>> nodes{};
  };
  struct Content {
    std::vector<Part> parts{};
    std::vector<std::shared_ptr<const void>> kept{};

    void run(std::uint32_t seed) const {
      std::mt19937 random{seed};
      std::vector<std::size_t> done(parts.size());
      for (std::vector<std::uint32_t> ready;;) {
        ready.clear();
        for (std::uint32_t p = 0; p < parts.size(); ++p) {
          if (done[p] < parts[p].nodes.size() && may_run(p, done)) ready.push_back(p);
        }
        if (ready.empty()) return;
        const std::uint32_t next = ready[random() % ready.size()];
        parts[next].nodes[done[next]++]();
      }
    }

   private:
    bool may_run(std::uint32_t part, const std::vector<std::size_t>& done) const {
      return std::ranges::all_of(parts[part].after, [&](std::uint32_t earlier) {
        return done[earlier] == parts[earlier].nodes.size() && (done[earlier] != 0 || may_run(earlier, done));
      });
    }
  };
  Graph(SimulatedGpu& gpu, Content content)
      : gpu_{gpu}, content_{std::make_shared<const Content>(std::move(content))} {}
  Status launch(device::Stream& stream) override {
    if (gpu_.failing_launches_ > 0) {
      --gpu_.failing_launches_;
      return Error{ErrorCode::BackendFailed, "a graph cannot be launched"};
    }
    const auto seed = static_cast<std::uint32_t>(++gpu_.counts_.graph_launches);
    --gpu_.counts_.launches;
    return static_cast<GpuStream&>(stream).launch_graph([content = content_, seed] { content->run(seed); });
  }
  std::size_t node_count() const noexcept override {
    std::size_t count = 0;
    for (const Part& part : content_->parts) count += part.nodes.size();
    return count;
  }

 private:
  SimulatedGpu& gpu_;
  std::shared_ptr<const Content> content_;
};

class SimulatedGpu::Builder final : public device::GraphBuilder {
 public:
  explicit Builder(SimulatedGpu& gpu) : gpu_{gpu} {}
  void begin_part(std::span<const std::uint32_t> after) override {
    content_.parts.push_back({.after = {after.begin(), after.end()}});
  }
  Result<device::GraphEdges> edges() override {
    device::GraphEdges found;
    found.is_chain.assign(content_.parts.size(), true);
    for (std::uint32_t p = 0; p < content_.parts.size(); ++p) {
      found.is_empty.push_back(content_.parts[p].nodes.empty());
      for (const std::uint32_t earlier : content_.parts[p].after) {
        if (gpu_.lost_edges_-- == 0) continue;
        found.edges.emplace_back(earlier, p);
      }
    }
    return found;
  }
  Status kernel(const KernelLaunch& launch) override {
    nodes().push_back(launch.arguments == nullptr ? *static_cast<const std::function<void()>*>(launch.function)
                                                  : call_of(launch.function, launch.arguments));
    return {};
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    nodes().emplace_back([to, from, bytes] { std::memcpy(to, from, bytes); });
    return {};
  }
  Status capture(const std::function<Status(device::Stream&)>& enqueue) override {
    const auto capture = std::make_shared<Capture>();
    TANDEM_TRY(auto inner, gpu_.inner_.make_stream());
    GpuStream stream{gpu_, std::move(inner), capture};
    const Status enqueued = enqueue(stream);
    capture->is_over = true;
    for (GpuStream* joined : capture->joined) joined->leave_capture();
    TANDEM_CHECK_OK(enqueued);
    std::ranges::move(capture->nodes, std::back_inserter(nodes()));
    return {};
  }
  void keep(std::shared_ptr<const void> memory) override { content_.kept.push_back(std::move(memory)); }
  Status add_to_capture(device::Stream& stream, std::shared_ptr<void> owner) override {
    const auto& capture = static_cast<GpuStream&>(stream).capture();
    if (capture == nullptr) return Error{ErrorCode::InvalidState, "the stream does not capture"};
    const auto content = std::make_shared<const Graph::Content>(std::move(content_));
    capture->kept.push_back(device::keep_for_graph(
        std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<const void>>>(std::move(owner), content)));
    capture->nodes.emplace_back([content, runs = std::make_shared<std::uint32_t>(0)] { content->run(++*runs); });
    capture->ends_in_kernel = false;
    return {};
  }
  Result<std::unique_ptr<device::Graph>> finish(device::Stream& /*stream*/) override {
    if (gpu_.failing_graphs_ > 0) {
      --gpu_.failing_graphs_;
      return Error{ErrorCode::OutOfMemory, "a graph cannot be made ready"};
    }
    ++gpu_.counts_.graphs;
    return std::unique_ptr<device::Graph>{new Graph{gpu_, std::move(content_)}};
  }

 private:
  std::vector<std::function<void()>>& nodes() {
    if (content_.parts.empty()) content_.parts.emplace_back();
    return content_.parts.back().nodes;
  }

  SimulatedGpu& gpu_;
  Graph::Content content_{};
};

Result<std::unique_ptr<device::GraphBuilder>> SimulatedGpu::make_graph() {
  return std::unique_ptr<device::GraphBuilder>{new Builder{*this}};
}

void SimulatedGpu::begin_capture(StreamRef stream) { static_cast<GpuStream&>(stream.get()).begin_capture(); }

std::shared_ptr<SimulatedGpu::CallersGraph> SimulatedGpu::end_capture(StreamRef stream) {
  const auto capture = static_cast<GpuStream&>(stream.get()).end_capture();
  auto graph = std::make_shared<CallersGraph>();
  graph->nodes = std::move(capture->nodes);
  graph->kept = std::move(capture->kept);
  return graph;
}

SimulatedGpu::CallersGraph::~CallersGraph() {
  for (void* one : kept) device::release_kept(one);
}

Status SimulatedGpu::CallersGraph::launch(StreamRef stream) const {
  return static_cast<GpuStream&>(stream.get()).launch_graph([nodes = nodes] {
    for (const auto& node : nodes) node();
  });
}

namespace {

class ToldTimer final : public device::Timer {
 public:
  explicit ToldTimer(std::function<std::chrono::nanoseconds()> time) : time_{std::move(time)} {}
  Status start(device::Stream& /*stream*/) override { return {}; }
  Status stop(device::Stream& /*stream*/) override {
    told_ = time_();
    return {};
  }
  Result<std::optional<std::chrono::nanoseconds>> elapsed() override { return std::optional{told_}; }

 private:
  std::function<std::chrono::nanoseconds()> time_;
  std::chrono::nanoseconds told_{};
};

}  // namespace

Result<std::unique_ptr<device::Timer>> SimulatedGpu::make_timer() {
  if (!time_) return Device::make_timer();
  return std::unique_ptr<device::Timer>{new ToldTimer{time_}};
}

SimulatedGpu::~SimulatedGpu() {
  device::sweep_kept();
  of_threads_.clear();
  EXPECT_TRUE(blocks_.empty()) << "memory of the device was not given back";
}

Status SimulatedGpu::launch(StreamRef stream, std::function<void()> kernel) {
  return static_cast<GpuStream&>(stream.get()).launch(std::move(kernel), /*overlaps=*/false);
}

Status SimulatedGpu::launch_overlapping(StreamRef stream, std::function<void()> kernel) {
  return static_cast<GpuStream&>(stream.get()).launch(std::move(kernel), /*overlaps=*/true);
}

std::function<void()> SimulatedGpu::call_of(const void* function, void* const* arguments) {
  std::vector<void*> values;
  for (; *arguments != nullptr; ++arguments) values.push_back(*static_cast<void* const*>(*arguments));
  return [run = static_cast<const fake_kernel::Kernel*>(function)->run, values]() mutable {
    std::vector<void*> pointers;
    for (void*& value : values) pointers.push_back(&value);
    run(pointers.data());
  };
}

bool SimulatedGpu::owns(const void* data, std::size_t bytes) const {
  const std::scoped_lock lock{mutex_};
  const auto* const begin = static_cast<const std::byte*>(data);
  return std::ranges::any_of(blocks_, [&](const auto& block) {
    return begin >= block.first && begin + bytes <= block.first + block.second.size();
  });
}

Result<device::Buffer> SimulatedGpu::allocate(std::size_t bytes) {
  TANDEM_TRY(device::Buffer block, inner_.allocate(bytes));
  const std::span<std::byte> memory = block.bytes();
  std::ranges::fill(memory, std::byte{0xA5});  // what was there before
  const std::scoped_lock lock{mutex_};
  blocks_.emplace(memory.data(), std::move(block));
  return device::Buffer{*this, memory};
}

device::Stream& SimulatedGpu::thread_stream() noexcept {
  const std::scoped_lock lock{mutex_};
  auto& stream = of_threads_[std::this_thread::get_id()];
  if (stream == nullptr) stream = std::make_unique<GpuStream>(*this, *inner_.make_stream());
  return *stream;
}

Result<std::unique_ptr<device::Stream>> SimulatedGpu::make_stream() {
  TANDEM_TRY(auto inner, inner_.make_stream());
  return std::unique_ptr<device::Stream>{std::make_unique<GpuStream>(*this, std::move(inner))};
}

void SimulatedGpu::free(std::byte* data) noexcept {
  const std::scoped_lock lock{mutex_};
  blocks_.erase(data);
}

class KernelBackend::KernelContext final : public DelegateContext {
 public:
  KernelContext(const KernelBackend& backend, std::size_t outputs) : backend_{backend}, outputs_{outputs} {}
  Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override { return BoundLayout{}; }
  Status enqueue(EnqueueArgs& args) override {
    if (backend_.failing_ >= 0 && backend_.failing_-- == 0) return Error{ErrorCode::BackendFailed, "as told"};
    std::vector<TensorArg> tensors;
    for (const Argument* argument : args.arguments) {
      EXPECT_TRUE(backend_.gpu_.owns(argument->tensor.data, argument->tensor.nbytes()));
      EXPECT_EQ(argument->tensor.device, backend_.gpu_.id());
      tensors.push_back(argument->tensor);
    }
    for (std::size_t i = 0; i < outputs_; ++i) args.outputs[i] = {};  // in place, with the planned sizes
    std::function<void()> kernel = [kernel = &backend_.kernel_, tensors] { (*kernel)(tensors); };
    if (args.is_captured && !backend_.captures_) {
      ignore(SimulatedGpu::launch(args.stream, std::move(kernel)), "half of it");
      return Error{ErrorCode::NotSupported, "it does not want to be captured"};
    }
    if (args.recorder != nullptr && backend_.wants_run_ && !has_run_) {
      return Error{ErrorCode::NotSupported, "it has never run"};
    }
    has_run_ = true;
    if (args.recorder == nullptr || args.is_captured) return SimulatedGpu::launch(args.stream, std::move(kernel));
    // Half of it may have been recorded before it turns out that the rest cannot be.
    TANDEM_CHECK_OK(args.recorder->kernel({.function = &kernel}));
    if (!backend_.records_) return Error{ErrorCode::NotSupported, "it does not want to be recorded"};
    return {};
  }

 private:
  const KernelBackend& backend_;
  std::size_t outputs_;
  bool has_run_ = false;
};

class KernelBackend::KernelDelegate final : public Delegate {
 public:
  explicit KernelDelegate(const KernelBackend& backend) : backend_{backend} {}
  DelegateCapabilities capabilities() const override {
    DelegateCapabilities capabilities;
    capabilities.runs_on_host = false;
    capabilities.recordable = true;
    capabilities.capturable = backend_.capturable_;
    return capabilities;
  }
  std::size_t output_count() const override { return backend_.outputs_; }
  std::vector<AccessMode> accesses(std::size_t count) const override {
    return backend_.accesses_.empty() ? Delegate::accesses(count) : backend_.accesses_;
  }
  Result<std::unique_ptr<DelegateContext>> new_context() const override {
    return std::unique_ptr<DelegateContext>{new KernelContext{backend_, backend_.outputs_}};
  }

 private:
  const KernelBackend& backend_;
};

Result<std::unique_ptr<Delegate>> KernelBackend::prepare(std::span<const std::byte> /*payload*/,
                                                         const LoadContext& /*context*/) const {
  return std::unique_ptr<Delegate>{new KernelDelegate{*this}};
}

KernelBackend::Kernel add_on_gpu(float amount) {
  return [amount](const std::vector<TensorArg>& arguments) {
    const auto* const in = static_cast<const float*>(arguments.front().data);
    auto* const out = static_cast<float*>(arguments.back().data);
    const std::size_t count = arguments.back().capacity_bytes / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) out[i] = in[i] + amount;
  };
}

}  // namespace tandem::testing
