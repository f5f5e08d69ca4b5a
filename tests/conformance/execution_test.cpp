// What executions do on every device: streams, dependency events, states, outputs, failures. Further devices add
// themselves at the end of the file.
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/host/seeded_host.h"
#include "support/function_backend.h"
#include "support/method_builder.h"
#include "support/test_method.h"

#include <tandem/method.h>
#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::add_number;
using testing::floats;
using testing::FunctionBackend;
using testing::MethodBuilder;
using testing::TestMethod;
using testing::to_floats;

/// A stream that stands still until open() or destruction: whatever is enqueued on it has not happened.
class ClosedStream {
 public:
  explicit ClosedStream(device::Device& device)
      : gate_{*device.thread_stream().make_event()}, stream_{*device.make_stream()} {
    gate_.impl()->hold();
    EXPECT_TRUE(stream_.wait(gate_).ok());
  }
  ~ClosedStream() { open(); }
  void open() {
    if (!std::exchange(open_, true)) gate_.impl()->signal();
  }
  [[nodiscard]] StreamRef ref() const { return stream_.ref(); }
  [[nodiscard]] const Stream& get() const { return stream_; }

 private:
  Event gate_;
  Stream stream_;
  bool open_ = false;
};

constexpr std::int64_t kSize = 4;

/// y = x + 1 + 10 + 100, in three delegates.
struct Chain : MethodBuilder {
  Chain() {
    const float amounts[] = {1, 10, 100};
    auto last = tensor({kSize});
    inputs({last});
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string id = "Add" + std::to_string(i);
      EXPECT_TRUE(backends.register_backend(id, std::make_shared<FunctionBackend>(1, add_number(amounts[i]))).ok());
      const auto next = tensor({kSize}, i == 1 ? 64 : 0);  // planned one after the other in few bytes
      delegate(id, {last, next});
      last = next;
    }
    outputs({last});
  }
};

/// sum += x; y = sum. The sum is a state that starts at 1000.
struct Counter : MethodBuilder {
  Counter() {
    const auto x = tensor({kSize});
    const auto sum = state({kSize}, 0, std::vector<float>(kSize, 1000));
    const auto y = tensor({kSize}, 64);
    const auto count = [](EnqueueArgs& args) -> Status {
      for (std::int64_t i = 0; i < kSize; ++i) {
        float& total = testing::floats_of(*args.arguments[1])[i];
        total += testing::floats_of(*args.arguments[0])[i];
        testing::floats_of(*args.arguments[2])[i] = total;
      }
      return {};
    };
    const std::vector modes{AccessMode::Read, AccessMode::Update, AccessMode::Write};
    EXPECT_TRUE(backends.register_backend("Count", std::make_shared<FunctionBackend>(1, count, modes)).ok());
    inputs({x}).outputs({y}).delegate("Count", {x, sum, y});
  }
};

/// y = function(x), which updates a state or does not.
struct OneStep : MethodBuilder {
  OneStep(FunctionBackend::Function function, bool with_state) {
    const auto x = tensor({kSize});
    const auto y = tensor({kSize});
    std::vector<AccessMode> modes{AccessMode::Read, AccessMode::Write};
    std::vector<std::int32_t> args{x, y};
    if (with_state) {
      modes.insert(modes.begin() + 1, AccessMode::Update);
      args.insert(args.begin() + 1, state({kSize}, 64, std::vector<float>(kSize, 0)));
    }
    const auto backend = std::make_shared<FunctionBackend>(1, std::move(function), modes);
    EXPECT_TRUE(backends.register_backend("Step", backend).ok());
    inputs({x}).outputs({y}).delegate("Step", args);
  }
};

class ExecutionTest : public ::testing::TestWithParam<device::Device*> {
 protected:
  device::Device& device() { return *GetParam(); }
  Stream make_stream() { return Stream{*device().make_stream()}; }
  ExecuteOptions on(StreamRef stream) {
    ExecuteOptions options;
    options.stream = stream;
    return options;
  }
  bool is_seeded() { return device().thread_stream().interleaves(); }

  static Value all(float number) { return floats({kSize}, std::vector<float>(kSize, number)); }
  static std::vector<float> all_of(float number) { return std::vector<float>(kSize, number); }

  static std::vector<float> result(const Result<std::vector<Value>>& outputs) {
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? to_floats(outputs->front()) : std::vector<float>{};
  }
  static std::vector<float> result(const Result<Execution>& execution) {
    EXPECT_TRUE(execution.ok()) << execution.error().to_string();
    return execution.ok() ? result(execution->get()) : std::vector<float>{};
  }
};

// ---- streams ----

TEST_P(ExecutionTest, RunsOnTheStreamOfTheOptions) {
  Chain b;
  const TestMethod method{b, device()};
  ClosedStream closed{device()};
  const auto execution = method.execute_async({all(1)}, on(closed.ref()));
  ASSERT_TRUE(execution.ok()) << execution.error().to_string();
  EXPECT_FALSE(*execution->done().is_done());
  closed.open();
  EXPECT_EQ(result(execution), all_of(112));
}

TEST_P(ExecutionTest, RunsOnTheCallersStreamAndGuardsNest) {
  Chain b;
  const TestMethod method{b, device()};
  EXPECT_FALSE(CallerStreamGuard::current());
  ClosedStream outer{device()};
  const Stream inner = make_stream();
  {
    const CallerStreamGuard of_outer{outer.ref()};
    {
      const CallerStreamGuard of_inner{inner};
      EXPECT_EQ(&CallerStreamGuard::current()->get(), &inner.ref().get());
      EXPECT_EQ(result(method.execute_async({all(1)})), all_of(112));
      EXPECT_EQ(result(method.execute({all(2)})), all_of(113));
      std::thread{[] { EXPECT_FALSE(CallerStreamGuard::current()); }}.join();
    }
    EXPECT_EQ(&CallerStreamGuard::current()->get(), &outer.ref().get());
    const auto execution = method.execute_async({all(3)});
    ASSERT_TRUE(execution.ok());
    EXPECT_FALSE(*execution->done().is_done());
    outer.open();
    EXPECT_EQ(result(execution), all_of(114));
    // The options go before the guard.
    EXPECT_EQ(result(method.execute_async({all(4)}, on(inner))), all_of(115));
  }
  EXPECT_FALSE(CallerStreamGuard::current());
}

TEST_P(ExecutionTest, StreamsOfTheMethodRunBesideTheThreads) {
  Chain b;
  MethodOptions options;
  options.streams = StreamPolicy::PerMethod;
  const TestMethod method{b, device(), options};
  ClosedStream closed{device()};
  ExecuteOptions later;
  const Event gate = *closed.get().record();
  later.inputs_ready = {&gate, 1};
  const auto execution = method.execute_async({all(1)}, later);
  ASSERT_TRUE(execution.ok());
  EXPECT_FALSE(*execution->done().is_done());  // asynchronous, though nobody named a stream
  closed.open();
  EXPECT_EQ(result(execution), all_of(112));
  EXPECT_EQ(result(method.execute({all(2)})), all_of(113));
}

TEST_P(ExecutionTest, StreamsAndEventsOfAnotherDeviceAreRefused) {
  class ForeignStream final : public device::Stream {
   public:
    device::StreamId id() const noexcept override { return {{DeviceType::Hip, 3}, 1}; }
    Status submit(Work, void*, std::uint32_t) override { return {}; }
    Status fill(void*, std::byte, std::size_t) override { return {}; }
    Status copy(void*, const void*, std::size_t) override { return {}; }
    Status record(device::Event&) override { return {}; }
    Status wait(const device::Event&) override { return {}; }
    Status synchronize() override { return {}; }
    Result<Event> make_event() override { return Event{}; }
  };
  class ForeignEvent final : public device::Event {
   public:
    ForeignEvent() : Event{DeviceId{DeviceType::Hip, 3}} {}
    Result<bool> is_done() const override { return true; }
    Status synchronize() const override { return {}; }
    void hold() override {}
    void signal() noexcept override {}
  };
  Chain b;
  const TestMethod method{b, device()};
  ForeignStream foreign;
  const auto by_option = method.execute({all(1)}, on(StreamRef{foreign}));
  ASSERT_FALSE(by_option.ok());
  EXPECT_EQ(by_option.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(by_option.error().found(), "hip:3");
  {
    const CallerStreamGuard guard{StreamRef{foreign}};
    EXPECT_EQ(method.execute_async({all(1)}).error().code(), ErrorCode::InvalidArgument);
  }
  const Event event{new ForeignEvent};
  ExecuteOptions options;
  options.inputs_ready = {&event, 1};
  const auto by_event = method.execute({all(1)}, options);
  ASSERT_FALSE(by_event.ok());
  EXPECT_EQ(by_event.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(result(method.execute({all(1)})), all_of(112));
}

// ---- asynchronous execution ----

TEST_P(ExecutionTest, OutputsAreThereAtOnceAndFilledWhenDone) {
  Chain b;
  const TestMethod method{b, device()};
  EXPECT_TRUE(method.is_fully_async());
  ClosedStream closed{device()};
  const auto execution = method.execute_async({all(1)}, on(closed.ref()));
  ASSERT_TRUE(execution.ok());
  ASSERT_EQ(execution->outputs().size(), 1U);
  ASSERT_TRUE(execution->outputs()[0].is_tensor());
  const Tensor early = execution->outputs()[0].tensor();
  EXPECT_EQ(early.sizes()[0], kSize);
  closed.open();
  ASSERT_TRUE(execution->done().synchronize().ok());
  EXPECT_EQ(to_floats(Value{early}), all_of(112));
  EXPECT_EQ(execution->get()->front().tensor().data(), early.data());
}

TEST_P(ExecutionTest, TheExecutionKeepsItsInputs) {
  Chain b;
  const TestMethod method{b, device()};
  ClosedStream closed{device()};
  std::vector<Execution> executions;
  for (int i = 0; i < 2; ++i) {
    auto execution = method.execute_async({all(static_cast<float>(i))}, on(closed.ref()));  // the input is dropped here
    ASSERT_TRUE(execution.ok());
    executions.push_back(*std::move(execution));
  }
  closed.open();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(result(executions[i].get()), all_of(111 + static_cast<float>(i)));
}

TEST_P(ExecutionTest, WaitsForInputsThatAreNotReady) {
  Chain b;
  const TestMethod method{b, device()};
  ClosedStream producer{device()};
  const Value input = all(-1);
  ASSERT_TRUE(producer.get().submit([&input] { std::fill_n(input.tensor().data_as<float>(), kSize, 5.F); }).ok());
  const Event ready = *producer.get().record();
  const Stream consumer = make_stream();
  ExecuteOptions options = on(consumer);
  options.inputs_ready = {&ready, 1};
  const auto execution = method.execute_async({input}, options);
  ASSERT_TRUE(execution.ok());
  EXPECT_FALSE(*execution->done().is_done());
  producer.open();
  EXPECT_EQ(result(execution), all_of(116));
  const Event again = *producer.get().record();
  ExecuteOptions inline_options;
  inline_options.inputs_ready = {&again, 1};
  EXPECT_EQ(result(method.execute({input}, inline_options)), all_of(116));
}

TEST_P(ExecutionTest, DroppedHandlesChangeNothing) {
  Counter b;
  const TestMethod method{b, device()};
  const Stream stream = make_stream();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(method.execute_async({all(1)}, on(stream)).ok());
  EXPECT_EQ(result(method.execute({all(0)})), all_of(1020));
}

TEST_P(ExecutionTest, MethodsMayGoBeforeTheirExecutions) {
  const Stream stream = make_stream();
  Chain b;
  std::vector<Execution> executions;
  {
    MethodOptions options;
    options.streams = StreamPolicy::PerMethod;
    const TestMethod method{b, device(), options};
    executions.push_back(*method.execute_async({all(1)}));
    executions.push_back(*method.execute_async({all(2)}, on(stream)));
  }
  EXPECT_EQ(result(executions[0].get()), all_of(112));
  EXPECT_EQ(result(executions[1].get()), all_of(113));
}

TEST_P(ExecutionTest, MethodsMayGoInTheWorkOfAStream) {
  const Stream stream = make_stream();
  Chain b;
  MethodOptions options;
  options.streams = StreamPolicy::PerMethod;
  auto method = std::make_unique<TestMethod>(b, device(), options);
  const auto execution = method->execute_async({all(1)});
  ASSERT_TRUE(execution.ok());
  ASSERT_TRUE(stream.submit([&method] { method.reset(); }).ok());  // may not wait there
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(method, nullptr);
  EXPECT_EQ(result(execution), all_of(112));
}

TEST_P(ExecutionTest, NoMoreExecutionsAreEnqueuedThanAllowed) {
  Counter b;
  MethodOptions options;
  options.max_in_flight = 3;
  const TestMethod method{b, device(), options};
  ClosedStream closed{device()};
  std::vector<Execution> executions;
  for (int i = 0; i < 3; ++i) executions.push_back(*method.execute_async({all(1)}, on(closed.ref())));
  ExecuteOptions impatient = on(closed.ref());
  impatient.wait_if_busy = false;
  const auto refused = method.execute_async({all(1)}, impatient);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Busy);
  EXPECT_EQ(refused.error().expected(), "at most 3");
  closed.open();
  executions.push_back(*method.execute_async({all(1)}, on(closed.ref())));  // waits for the first one
  EXPECT_EQ(result(executions.back().get()), all_of(1004));
}

TEST_P(ExecutionTest, WorkOnAStreamMayEnqueueButNotWait) {
  Chain b;
  const TestMethod method{b, device()};
  const Stream stream = make_stream();
  const Stream other = make_stream();
  Status waited;
  std::vector<Execution> executions;
  ASSERT_TRUE(stream
                  .submit([&] {
                    waited = method.execute({all(1)}, on(other)).error();
                    executions.push_back(*method.execute_async({all(2)}, on(other)));
                  })
                  .ok());
  ASSERT_TRUE(stream.synchronize().ok());
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(result(executions.front().get()), all_of(113));
}

// ---- order ----

TEST_P(ExecutionTest, ExecutionsOnOneInstanceAreOrderedAcrossStreams) {
  Chain b;
  const TestMethod method{b, device()};
  ClosedStream closed{device()};
  const Stream open = make_stream();
  const auto first = method.execute_async({all(1)}, on(closed.ref()));
  const auto second = method.execute_async({all(2)}, on(open));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(*second->done().is_done());  // waits on the device; the host went on
  closed.open();
  EXPECT_EQ(result(first), all_of(112));
  EXPECT_EQ(result(second), all_of(113));
}

TEST_P(ExecutionTest, InstancesOverlap) {
  Chain b;
  MethodOptions options;
  options.instances = 2;
  const TestMethod method{b, device(), options};
  ClosedStream closed{device()};
  const Stream open = make_stream();
  const auto first = method.execute_async({all(1)}, on(closed.ref()));
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(result(method.execute_async({all(2)}, on(open))), all_of(113));
  EXPECT_EQ(result(method.execute({all(3)})), all_of(114));
  EXPECT_FALSE(*first->done().is_done());
  closed.open();
  EXPECT_EQ(result(first), all_of(112));
}

TEST_P(ExecutionTest, ThreadsOfAPoolShareAMethod) {
  Chain b;
  const TestMethod method{b, device()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Stream own = make_stream();
      for (int i = 0; i < 50; ++i) {
        const auto number = static_cast<float>(t * 1000 + i);
        const bool async = i % 2 == 0;
        const auto got =
            async ? result(method.execute_async({all(number)}, on(own))) : result(method.execute({all(number)}));
        EXPECT_EQ(got, all_of(number + 111));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ExecutionTest, AnOutputIsReadWhereItWasNotWritten) {
  Chain b1;
  Chain b2;
  const TestMethod first{b1, device()};
  const TestMethod second{b2, device()};
  for (int i = 0; i < 10; ++i) {
    ClosedStream producer{device()};
    const Stream consumer = make_stream();
    const auto produced = first.execute_async({all(static_cast<float>(i))}, on(producer.ref()));
    ASSERT_TRUE(produced.ok());
    const auto consumed = second.execute_async({produced->outputs()[0]}, on(consumer));
    ASSERT_TRUE(consumed.ok());
    EXPECT_FALSE(*consumed->done().is_done());
    producer.open();
    EXPECT_EQ(result(consumed), all_of(222 + static_cast<float>(i)));
  }
}

TEST_P(ExecutionTest, AnInputIsNotOverwrittenWhileItIsRead) {
  Chain b1;
  Chain b2;
  const TestMethod reader{b1, device()};
  const TestMethod writer{b2, device()};
  const Value shared = all(1);
  ClosedStream slow{device()};
  const Stream fast = make_stream();
  const auto read = reader.execute_async({shared}, on(slow.ref()));
  ASSERT_TRUE(read.ok());
  const Tensor bound = shared.tensor();
  ExecuteOptions options = on(fast);
  options.outputs = {&bound, 1};
  const auto written = writer.execute_async({all(50)}, options);
  ASSERT_TRUE(written.ok());
  EXPECT_FALSE(*written->done().is_done());
  slow.open();
  EXPECT_EQ(result(read), all_of(112));
  EXPECT_EQ(result(written), all_of(161));
  EXPECT_EQ(to_floats(shared), all_of(161));
}

TEST_P(ExecutionTest, BoundOutputsAreWrittenInTheOrderOfTheCalls) {
  Chain b1;
  Chain b2;
  const TestMethod first{b1, device()};
  const TestMethod second{b2, device()};
  const Tensor bound = all(0).tensor();
  ClosedStream slow{device()};
  const Stream fast = make_stream();
  ExecuteOptions of_first = on(slow.ref());
  of_first.outputs = {&bound, 1};
  ExecuteOptions of_second = on(fast);
  of_second.outputs = {&bound, 1};
  ASSERT_TRUE(first.execute_async({all(1)}, of_first).ok());
  const auto last = second.execute_async({all(2)}, of_second);
  slow.open();
  EXPECT_EQ(result(last), all_of(113));
  EXPECT_EQ(to_floats(Value{bound}), all_of(113));
}

// ---- outputs ----

TEST_P(ExecutionTest, DroppedOutputsAreUsedAgain) {
  Chain b;
  const TestMethod method{b, device()};
  const Stream stream = make_stream();
  auto first = method.execute({all(1)}, on(stream));
  ASSERT_TRUE(first.ok());
  const void* const memory = first->front().tensor().data();
  const auto second = method.execute({all(2)}, on(stream));
  ASSERT_TRUE(second.ok());
  EXPECT_NE(second->front().tensor().data(), memory);
  EXPECT_EQ(to_floats(first->front()), all_of(112));
  first->clear();
  const auto third = method.execute({all(3)}, on(stream));
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->front().tensor().data(), memory);
  EXPECT_EQ(to_floats(third->front()), all_of(114));
}

TEST_P(ExecutionTest, AnnouncedReadersAreWaitedFor) {
  for (const bool by_event : {false, true}) {
    Chain b;
    const TestMethod method{b, device()};
    const Stream stream = make_stream();
    ClosedStream reader{device()};
    std::vector<float> seen(kSize);
    const void* memory = nullptr;
    {
      const auto outputs = method.execute({all(1)}, on(stream));
      ASSERT_TRUE(outputs.ok());
      const Tensor& tensor = outputs->front().tensor();
      memory = tensor.data();
      const float* const bytes = tensor.data_as<float>();
      ASSERT_TRUE(reader.get().submit([bytes, &seen] { std::copy_n(bytes, kSize, seen.begin()); }).ok());
      if (by_event) {
        tensor.release_after(*reader.get().record());
      } else {
        ASSERT_TRUE(tensor.record_use(reader.ref()).ok());
      }
    }  // dropped while its reader has not even started
    const auto next = method.execute_async({all(2)}, on(stream));
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->outputs()[0].tensor().data(), memory);
    EXPECT_FALSE(*next->done().is_done());
    reader.open();
    EXPECT_EQ(result(next), all_of(113));
    EXPECT_EQ(seen, all_of(112));
  }
}

TEST_P(ExecutionTest, MemoryIsGivenBackAfterAnnouncedReaders) {
  std::atomic<bool> released{false};
  std::vector<float> memory(kSize, 7);
  ClosedStream reader{device()};
  {
    const auto tensor = Tensor::from_blob(memory.data(), ScalarType::Float, std::array<std::int64_t, 1>{kSize}, {},
                                          [&released] { released = true; });
    ASSERT_TRUE(tensor.ok());
    ASSERT_TRUE(tensor->record_use(reader.ref()).ok());
  }
  EXPECT_FALSE(released);
  reader.open();
  ASSERT_TRUE(reader.get().synchronize().ok());
  (void)all(1);  // what waits is looked at again when another tensor goes
  EXPECT_TRUE(released);
}

// ---- states ----

TEST_P(ExecutionTest, OneStateIsOrderedAcrossStreamsAndInstances) {
  Counter b;
  MethodOptions options;
  options.instances = 2;
  const TestMethod method{b, device(), options};
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(make_stream());
  std::vector<Execution> executions;
  for (std::size_t i = 0; i < 30; ++i) {
    auto execution = method.execute_async({all(1)}, on(streams[i % 3]));
    ASSERT_TRUE(execution.ok());
    executions.push_back(*std::move(execution));
  }
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(result(executions[i].get()), all_of(1001 + static_cast<float>(i)));
}

TEST_P(ExecutionTest, TwoThreadsOnOneStateTakeTurns) {
  Counter b;
  MethodOptions options;
  options.instances = 2;
  const TestMethod method{b, device(), options};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&method] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(method.execute({all(1)}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(result(method.execute({all(0)})), all_of(1200));
}

TEST_P(ExecutionTest, AMethodMustNotBeCalledFromWithinItsOwnExecution) {
  for (const bool with_state : {false, true}) {
    std::function<Status()> inside;
    const auto ask = [&inside](EnqueueArgs& args) -> Status {
      std::copy_n(testing::floats_of(*args.arguments[0]), kSize, testing::floats_of(*args.arguments.back()));
      return inside ? inside() : Status{};
    };
    OneStep b{ask, with_state};
    const TestMethod method{b, device()};
    if (is_seeded()) return;  // its streams are queues: the turn is over before the run begins
    Status nested;
    inside = [&] {
      nested = method.execute({all(1)}).error();
      return Status{};
    };
    EXPECT_EQ(result(method.execute({all(3)})), all_of(3));
    ASSERT_FALSE(nested.ok());
    EXPECT_EQ(nested.error().code(), ErrorCode::InvalidState);
    inside = {};
    EXPECT_EQ(result(method.execute({all(4)})), all_of(4));
  }
}

TEST_P(ExecutionTest, WhoMayNotWaitIsToldThatSomebodyRuns) {
  if (is_seeded()) return;  // turns are over before runs begin: nobody ever waits
  for (const bool with_state : {false, true}) {
    std::atomic<bool> asked{false};
    std::atomic<bool> go_on{false};
    const auto hold = [&](EnqueueArgs& /*args*/) -> Status {
      asked = true;
      asked.notify_all();
      go_on.wait(false);
      return {};
    };
    OneStep b{hold, with_state};
    MethodOptions method_options;
    method_options.instances = with_state ? 2 : 1;
    const TestMethod method{b, device(), method_options};
    std::thread runs{[&] { EXPECT_TRUE(method.execute({all(3)}).ok()); }};
    asked.wait(false);
    ExecuteOptions impatient;
    impatient.wait_if_busy = false;
    const auto refused = method.execute({all(1)}, impatient);
    go_on = true;
    go_on.notify_all();
    runs.join();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::Busy);
    EXPECT_TRUE(method.execute({all(4)}, impatient).ok());
  }
}

TEST_P(ExecutionTest, StatesOfOnesOwnOverlap) {
  Counter b;
  MethodOptions options;
  options.instances = 2;
  const TestMethod method{b, device(), options};
  ClosedStream closed{device()};
  const Stream open = make_stream();
  const auto slow = method.execute_async({all(1)}, on(closed.ref()));
  ASSERT_TRUE(slow.ok());
  ExecuteOptions own = on(open);
  own.state = method.new_state();
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(result(method.execute_async({all(5)}, own)), all_of(1000 + 5 * static_cast<float>(i)));
  }
  EXPECT_FALSE(*slow->done().is_done());
  closed.open();
  EXPECT_EQ(result(slow), all_of(1001));
}

TEST_P(ExecutionTest, ResetBringsTheInitialBytesBack) {
  Counter b;
  const TestMethod method{b, device()};
  const Stream stream = make_stream();
  EXPECT_EQ(result(method.execute({all(1)})), all_of(1001));
  const auto under_way = method.execute_async({all(1)}, on(stream));
  ASSERT_TRUE(under_way.ok());
  ASSERT_TRUE(method.state()->reset().ok());  // after what is under way
  EXPECT_EQ(result(under_way), all_of(1002));
  EXPECT_EQ(result(method.execute({all(1)})), all_of(1001));
}

TEST_P(ExecutionTest, StatesOfAnotherMethodAreRefused) {
  Counter b1;
  Counter b2;
  const TestMethod mine{b1, device()};
  const TestMethod other{b2, device()};
  ExecuteOptions options;
  options.state = other.state();
  const auto refused = mine.execute({all(1)}, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(result(mine.execute({all(1)})), all_of(1001));
  EXPECT_EQ(result(other.execute({all(1)})), all_of(1001));
}

// ---- failures ----

/// Delegates in a row that count up; the one whose turn it is to fail does.
struct Faulty {
  static constexpr int kSteps = 4;
  std::atomic<int> failing{-1};
  std::atomic<bool> throws{false};
  MethodBuilder b{};

  explicit Faulty(bool stateful) {
    auto last = b.tensor({4});
    b.inputs({last});
    for (int i = 0; i < kSteps; ++i) {
      const std::string id = "Step" + std::to_string(i);
      const bool counts = stateful && i == 1;
      auto step = [this, i, counts](EnqueueArgs& args) -> Status {
        if (failing == i && throws) throw std::runtime_error{"boom"};
        if (failing == i) return Error{ErrorCode::BackendFailed, "as told"};
        for (int k = 0; k < 4; ++k) {
          float& out = testing::floats_of(*args.arguments.back())[k];
          out = testing::floats_of(*args.arguments[0])[k] + 1;
          if (counts) out += testing::floats_of(*args.arguments[1])[k]++;
        }
        return {};
      };
      const auto next = b.tensor({4});
      std::vector<AccessMode> modes{AccessMode::Read, AccessMode::Write};
      std::vector<std::int32_t> args{last, next};
      if (counts) {
        modes = {AccessMode::Read, AccessMode::Update, AccessMode::Write};
        args = {last, b.state({4}, 256, {0, 0, 0, 0}), next};
      }
      EXPECT_TRUE(b.backends.register_backend(id, std::make_shared<FunctionBackend>(1, std::move(step), modes)).ok());
      b.delegate(id, args);
      last = next;
    }
    b.outputs({last});
  }
};

TEST_P(ExecutionTest, AFailureAtAnyStepIsReportedAndLeavesTheMethodUsable) {
  for (const bool throws : {false, true}) {
    Faulty faulty{false};
    faulty.throws = throws;
    const TestMethod method{faulty.b, device()};
    Chain innocent_builder;
    const TestMethod innocent{innocent_builder, device()};
    const Stream stream = make_stream();
    for (int failing = 0; failing < Faulty::kSteps; ++failing) {
      faulty.failing = failing;
      const auto check = [&](const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
        EXPECT_EQ(error.site().delegate, failing);
        EXPECT_EQ(error.site().backend, "Step" + std::to_string(failing));
        EXPECT_NE(error.message().find(throws ? "boom" : "as told"), std::string::npos);
      };
      const auto now = method.execute({all(1)});
      ASSERT_FALSE(now.ok());
      check(now.error());
      const auto waited = method.execute({all(1)}, on(stream));
      ASSERT_FALSE(waited.ok());
      check(waited.error());
      const auto later = method.execute_async({all(1)}, on(stream));
      ASSERT_TRUE(later.ok());
      EXPECT_EQ(result(innocent.execute_async({all(1)}, on(stream))), all_of(112));
      const Status done = later->done().synchronize();
      ASSERT_FALSE(done.ok());
      check(done.error());
      check(later->get().error());
      EXPECT_TRUE(*later->done().is_done());
      EXPECT_TRUE(stream.synchronize().ok());
      faulty.failing = -1;
      EXPECT_EQ(result(method.execute_async({all(1)}, on(stream))), all_of(5));
      EXPECT_EQ(result(method.execute({all(2)})), all_of(6));
    }
  }
}

TEST_P(ExecutionTest, AFailureAfterTheStateMayHaveChangedMakesItIndeterminate) {
  Faulty faulty{true};
  const TestMethod method{faulty.b, device()};
  const Stream stream = make_stream();
  EXPECT_EQ(result(method.execute({all(1)})), all_of(5));
  EXPECT_EQ(result(method.execute({all(1)})), all_of(6));
  faulty.failing = 0;  // before the state is touched
  ASSERT_FALSE(method.execute({all(1)}).ok());
  EXPECT_FALSE(method.state()->is_indeterminate());
  faulty.failing = -1;
  EXPECT_EQ(result(method.execute({all(1)})), all_of(7));
  for (int failing = 1; failing < Faulty::kSteps; ++failing) {
    faulty.failing = failing;
    const auto failed = method.execute_async({all(1)}, on(stream));
    ASSERT_TRUE(failed.ok());
    ASSERT_FALSE(failed->done().synchronize().ok());
    faulty.failing = -1;
    EXPECT_TRUE(method.state()->is_indeterminate());
    for (const auto& refused : {method.execute({all(1)}), method.execute({all(1)}, on(stream))}) {
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code(), ErrorCode::InvalidState);
    }
    ExecuteOptions own = on(stream);
    own.state = method.new_state();
    EXPECT_EQ(result(method.execute({all(1)}, own)), all_of(5));  // another state is none the worse
    ASSERT_TRUE(method.state()->reset().ok());
    EXPECT_FALSE(method.state()->is_indeterminate());
    EXPECT_EQ(result(method.execute({all(1)})), all_of(5));
  }
}

TEST_P(ExecutionTest, WhatIsEnqueuedBehindAFailureOnItsStateFailsToo) {
  Faulty faulty{true};
  MethodOptions options;
  options.max_in_flight = 4;
  const TestMethod method{faulty.b, device(), options};
  ClosedStream closed{device()};
  faulty.failing = 2;
  const auto first = method.execute_async({all(1)}, on(closed.ref()));
  const auto second = method.execute_async({all(1)}, on(closed.ref()));
  ASSERT_TRUE(first.ok() && second.ok());
  closed.open();
  EXPECT_EQ(first->get().error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(second->get().error().code(), ErrorCode::InvalidState);
}

TEST_P(ExecutionTest, WrongInputsChangeNothing) {
  Counter b;
  const TestMethod method{b, device()};
  const Stream stream = make_stream();
  EXPECT_EQ(method.execute_async({floats({1}, {1})}, on(stream)).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(method.execute_async({}, on(stream)).error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(method.state()->is_indeterminate());
  EXPECT_EQ(result(method.execute({all(1)})), all_of(1001));
}

TEST_P(ExecutionTest, MoreInstancesThanADelegateCanRunAreRefused) {
  class OneAtATime final : public Delegate {
   public:
    DelegateCapabilities capabilities() const override {
      DelegateCapabilities capabilities;
      capabilities.max_contexts = 1;
      return capabilities;
    }
    std::size_t output_count() const override { return 1; }
    Result<std::unique_ptr<DelegateContext>> new_context() const override {
      return Error{ErrorCode::Internal, "not reached with two instances"};
    }
  };
  class OneAtATimeBackend final : public Backend {
    Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                              const LoadContext& /*context*/) const override {
      return std::unique_ptr<Delegate>{new OneAtATime};
    }
  };
  MethodBuilder b;
  ASSERT_TRUE(b.backends.register_backend("One", std::make_shared<OneAtATimeBackend>()).ok());
  const auto x = b.tensor({kSize});
  const auto y = b.tensor({kSize});
  b.inputs({x}).outputs({y}).delegate("One", {x, y});
  MethodOptions options;
  options.instances = 2;
  const TestMethod method{b, device(), options};
  ASSERT_FALSE(method.loaded().ok());
  EXPECT_EQ(method.loaded().error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(method.loaded().error().site().backend, "One");
  EXPECT_EQ(method.loaded().error().expected(), "at most 1");
}

TEST_P(ExecutionTest, OptionsThatCannotBeAreRefused) {
  Chain b;
  MethodOptions none;
  none.instances = 0;
  const TestMethod without{b, device(), none};
  EXPECT_EQ(without.loaded().error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(without.loaded().error().site().key, "instances");
  MethodOptions never;
  never.max_in_flight = 0;
  EXPECT_EQ((TestMethod{b, device(), never}).loaded().error().site().key, "max_in_flight");
}

// ---- executors ----

TEST_P(ExecutionTest, AMethodThatNeedsTheHostNeedsAnExecutor) {
  Chain b;
  MethodOptions options;
  options.streams = StreamPolicy::PerDelegate;
  options.allow_races = true;
  const TestMethod method{b, device(), options};
  ASSERT_TRUE(method.loaded().ok());
  EXPECT_FALSE(method.is_fully_async());
  const auto refused = method.execute_async({all(1)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::WouldBlock);
}

TEST_P(ExecutionTest, ExecutorsRunWhatAStreamCannot) {
  Counter b;
  const TestMethod method{b, device()};
  std::vector<std::function<void()>> jobs;
  ExecuteOptions options;
  options.executor = [&jobs](std::function<void()> job) { jobs.push_back(std::move(job)); };
  if (is_seeded()) return;  // its thread streams are queues: nothing is left for an executor
  const auto execution = method.execute_async({all(1)}, options);
  ASSERT_TRUE(execution.ok());
  EXPECT_FALSE(*execution->done().is_done());
  EXPECT_TRUE(execution->outputs()[0].is_none());
  ASSERT_EQ(jobs.size(), 1U);
  std::thread{jobs.front()}.join();
  jobs.front()();  // a second time does nothing
  EXPECT_EQ(result(execution), all_of(1001));
  EXPECT_EQ(result(method.execute({all(1)})), all_of(1002));
}

TEST_P(ExecutionTest, ExecutorsThatFailAreNamed) {
  Chain b;
  MethodOptions method_options;
  method_options.streams = StreamPolicy::PerDelegate;
  method_options.allow_races = true;
  auto method = std::make_unique<TestMethod>(b, device(), method_options);
  ExecuteOptions options;
  options.executor = [](std::function<void()> /*job*/) {};
  const auto dropped = method->execute_async({all(1)}, options);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(dropped->done().synchronize().error().code(), ErrorCode::InvalidState);
  options.executor = [](std::function<void()> /*job*/) { throw std::runtime_error{"full"}; };
  const auto thrown = method->execute_async({all(1)}, options);
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().code(), ErrorCode::InvalidState);
  EXPECT_NE(thrown.error().message().find("full"), std::string::npos);
  std::function<void()> kept;
  options.executor = [&kept](std::function<void()> job) { kept = std::move(job); };
  const auto late = method->execute_async({all(1)}, options);
  ASSERT_TRUE(late.ok());
  method.reset();
  kept();
  EXPECT_EQ(late->get().error().code(), ErrorCode::InvalidState);
}

TEST_P(ExecutionTest, ExceptionsOfTheCallersWorkComeWithSynchronize) {
  const Stream stream = make_stream();
  ASSERT_TRUE(stream.submit([] { throw std::runtime_error{"mine"}; }).ok());
  const Status failed = stream.synchronize();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find("mine"), std::string::npos);
  EXPECT_TRUE(stream.synchronize().ok());
  Chain b;
  const TestMethod method{b, device()};
  EXPECT_EQ(result(method.execute({all(1)}, on(stream))), all_of(112));
}

device::SeededHost& seeded() {
  static device::SeededHost host{1};
  return host;
}

INSTANTIATE_TEST_SUITE_P(Devices, ExecutionTest, ::testing::Values(&device::HostDevice::instance(), &seeded()),
                         [](const auto& parameter) { return parameter.index == 0 ? "host" : "seeded_host"; });

}  // namespace
}  // namespace tandem
