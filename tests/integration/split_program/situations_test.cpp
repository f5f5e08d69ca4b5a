// A program of CudaBackend and TensorRTBackend in turn, in the situations in which order gets lost. Every result must
// have the bits of the same call made alone, step by step, with a wait behind it. `machine.h` says where that happens.
//
//   TANDEM_SPLIT_RUNS   runs of a test from one thread, and from a pool: 100 by default, 7600 at night
#include "machine.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tandem::split {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLong = 20ms;

std::size_t runs() {
  const char* const value = std::getenv("TANDEM_SPLIT_RUNS");
  return value != nullptr && *value != 0 ? std::stoul(value) : 100;
}

class SplitProgramTest : public ::testing::TestWithParam<std::tuple<MachineKind, GraphPolicy>> {
 protected:
  void SetUp() override {
    const auto& [kind, graphs] = GetParam();
    graphs_ = graphs;
    std::string why_not;
    machine_ = kind.make(why_not);
    if (machine_ == nullptr) {
      if (kind.is_required) FAIL() << why_not;
      GTEST_SKIP() << why_not;
    }
    sizes_ = machine_->sizes();
    for (std::size_t i = 0; i < kInputs; ++i) inputs_.push_back(machine_->input(i));
    serial_ = serial_outputs(Machine::Content::Split);
  }
  void TearDown() override {
    // Engines count by the call, and a graph makes none.
    if (machine_ == nullptr || machine_->provider() == nullptr || is_control_ || is_captured_) return;
    if (graphs_ != GraphPolicy::Off) return;
    EXPECT_EQ(machine_->provider()->counts().overtaken, 0) << "an engine ran before its last run was over";
  }

  // ---- programs and methods ----

  DeviceId gpu() const { return machine_->device().id(); }

  /// Written, and read back.
  std::shared_ptr<const Program> program(Machine::Content content, DeviceId io) {
    Writer writer{sizes_, io};
    if (const Status written = machine_->write(writer, content); !written.ok()) {
      ADD_FAILURE() << written.error().to_string();
      return nullptr;
    }
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string{test->test_suite_name()} + "." + test->name();
    std::ranges::replace(name, '/', '_');
    const auto files = writer.save(folder_for(name));
    if (!files.ok()) {
      ADD_FAILURE() << files.error().to_string();
      return nullptr;
    }
    auto loaded = Program::load(files->pte, files->ptd);
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.error().to_string();
      return nullptr;
    }
    EXPECT_EQ(count_calls(**loaded), writer.calls());
    if (content == Machine::Content::Split) {
      EXPECT_GE(writer.calls().cuda, kPairs);
      EXPECT_GE(writer.calls().engines, kPairs);
    }
    calls_ = writer.calls();
    return *std::move(loaded);
  }
  std::unique_ptr<LoadedMethod> load(const std::shared_ptr<const Program>& program, MethodOptions options) {
    if (program == nullptr) return nullptr;
    auto method = machine_->load(program, std::move(options));
    if (!method.ok()) {
      ADD_FAILURE() << method.error().to_string();
      return nullptr;
    }
    return *std::move(method);
  }
  /// The split program with the graphs of the parameter.
  std::unique_ptr<LoadedMethod> load_split(DeviceId io = {}, MethodOptions options = {}) {
    options.graphs = graphs_;
    return load(program(Machine::Content::Split, io), options);
  }

  // ---- values ----

  Value host_input(std::size_t index) const {
    Tensor tensor = *Tensor::empty(ScalarType::Float, sizes_);
    std::memcpy(tensor.data(), inputs_[index].data(), tensor.nbytes());
    return tensor;
  }
  std::size_t input_bytes() const { return inputs_.front().size() * sizeof(float); }
  /// Memory of the device for one input, with the contents of `index`.
  Tensor device_input(std::size_t index) {
    auto memory = std::make_shared<device::Buffer>(*machine_->device().allocate(input_bytes()));
    const auto stream = machine_->device().make_stream();
    EXPECT_TRUE((*stream)->upload(memory->data(), inputs_[index].data(), input_bytes()).ok());
    EXPECT_TRUE((*stream)->synchronize().ok());
    return *Tensor::from_blob(
        memory->data(), ScalarType::Float, sizes_, {}, [memory] {}, gpu());
  }
  /// The bytes, once what was enqueued on `stream` is done.
  std::string bytes_of(const Tensor& tensor, StreamRef stream) {
    std::string bytes(tensor.nbytes(), '\0');
    EXPECT_TRUE(stream.get().download(bytes.data(), tensor.data(), bytes.size()).ok());
    EXPECT_TRUE(stream.synchronize().ok());
    return bytes;
  }
  static std::string bytes_of(const Value& value) { return {value.tensor().data_as<char>(), value.tensor().nbytes()}; }
  Stream make_stream() { return Stream{*machine_->device().make_stream()}; }

  /// Every input by itself: step by step, and a wait.
  std::vector<std::string> serial_outputs(Machine::Content content) {
    MethodOptions options;
    options.graphs = GraphPolicy::Off;
    const auto method = load(program(content, {}), options);
    std::vector<std::string> all;
    if (method == nullptr) return all;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::array inputs{host_input(i)};
      const auto outputs = method->execute(inputs, {});
      if (!outputs.ok()) {
        ADD_FAILURE() << "serial run " << i << ": " << outputs.error().to_string();
        return {};
      }
      EXPECT_TRUE(machine_->device().thread_stream().synchronize().ok());
      all.push_back(bytes_of(outputs->front()));
    }
    return all;
  }

  // ---- verdicts ----

  /// Where a result differs from serial execution; empty: nowhere.
  std::string difference(const std::string& found, std::size_t input) const {
    const std::string& expected = serial_[input];
    if (found == expected) return {};
    if (found.size() != expected.size()) return "another number of bytes";
    const auto at = [](const std::string& bytes, std::size_t i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    std::size_t first = found.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < found.size() / sizeof(float); ++i) {
      if (std::memcmp(&found[i * sizeof(float)], &expected[i * sizeof(float)], sizeof(float)) == 0) continue;
      first = std::min(first, i);
      ++count;
    }
    std::string text = std::to_string(count) + " of " + std::to_string(found.size() / sizeof(float)) +
                       " numbers differ, the first at " + std::to_string(first) + ": " +
                       std::to_string(at(found, first)) + " instead of " + std::to_string(at(expected, first));
    for (std::size_t other = 0; other < serial_.size(); ++other) {
      if (found == serial_[other]) text += "; it is the result of input " + std::to_string(other);
    }
    return text;
  }
  void expect_serial(const std::string& found, std::size_t input, const std::string& where) const {
    const std::string text = difference(found, input);
    EXPECT_TRUE(text.empty()) << where << ", input " << input << ": " << text;
  }

  /// `count` runs with inputs in changing order on host memory. How many are wrong; the first of them with details.
  std::size_t count_wrong(LoadedMethod& method, std::size_t count, const ExecuteOptions& options = {},
                          std::size_t first = 0, bool is_reported = true) const {
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (k * 7 + first) % kInputs;
      const std::array inputs{host_input(i)};
      const auto outputs = method.execute(inputs, options);
      if (!outputs.ok()) {
        ADD_FAILURE() << "run " << k << ": " << outputs.error().to_string();
        return count;
      }
      const std::string text = difference(bytes_of(outputs->front()), i);
      if (text.empty()) continue;
      if (wrong++ == 0 && is_reported) ADD_FAILURE() << "run " << k << ", input " << i << ": " << text;
    }
    return wrong;
  }
  std::size_t count_wrong_of_pool(LoadedMethod& method, std::size_t count) const {
    constexpr std::size_t kThreads = 8;
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { wrong += count_wrong(method, (count + kThreads - 1) / kThreads, {}, t * 3); });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong;
  }

  std::unique_ptr<Machine> machine_;  // before all that lives on it
  GraphPolicy graphs_ = GraphPolicy::Off;
  bool is_control_ = false;   ///< Nothing is ordered, and should not be.
  bool is_captured_ = false;  ///< A graph of the caller's runs the engines.
  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<float>> inputs_;
  std::vector<std::string> serial_;
  Calls calls_;  ///< Of the last program.
};

// ---- the program itself ----

TEST_P(SplitProgramTest, SerialExecutionIsTheMathematicsAndTheSameAgain) {
  const std::vector<Expected> all = machine_->mathematics();
  for (const Expected& expected : all) {
    std::vector<float> found(expected.values.size());
    ASSERT_EQ(serial_[expected.input].size(), found.size() * sizeof(float));
    std::memcpy(found.data(), serial_[expected.input].data(), serial_[expected.input].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double value = static_cast<double>(found[i]);
      ASSERT_LE(std::fabs(value - expected.values[i]), expected.tolerance * (1 + std::fabs(expected.values[i])))
          << "input " << expected.input << ", number " << i << ": " << value << " instead of " << expected.values[i];
    }
  }
  EXPECT_EQ(serial_outputs(Machine::Content::Split), serial_);
  // What the other tests could not see if inputs made no difference.
  EXPECT_EQ((std::set<std::string>{serial_.begin(), serial_.end()}.size()), kInputs);
}

TEST_P(SplitProgramTest, OneThreadWithoutACallersStream) {
  const auto method = load_split();
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(count_wrong(*method, runs()), 0U);
}

TEST_P(SplitProgramTest, APoolOfEightSharesAMethod) {
  const auto method = load_split();
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(count_wrong_of_pool(*method, runs()), 0U);
}

TEST_P(SplitProgramTest, APoolOfEightSharesTwoInstances) {
  MethodOptions two;
  two.instances = 2;
  const auto method = load_split({}, two);
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(count_wrong_of_pool(*method, runs()), 0U);
}

TEST_P(SplitProgramTest, ACallersNonBlockingStream) {
  const auto method = load_split();
  ASSERT_NE(method, nullptr);
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream stream = make_stream();
    ExecuteOptions options;
    options.stream = stream.ref();
    EXPECT_EQ(count_wrong(*method, runs() / machine_->rounds() + 1, options, seed), 0U) << "seed " << seed;
    const CallerStreamGuard guard{stream};
    EXPECT_EQ(count_wrong(*method, runs() / machine_->rounds() + 1, {}, seed + 1), 0U) << "with a guard, seed " << seed;
  }
}

TEST_P(SplitProgramTest, AsynchronousOnThreeStreamsAndTwoInstances) {
  MethodOptions two;
  two.instances = 2;
  const auto method = load_split({}, two);
  ASSERT_NE(method, nullptr);
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const std::array streams{make_stream(), make_stream(), make_stream()};
    std::vector<Execution> executions;
    for (std::size_t k = 0; k < 12; ++k) {
      ExecuteOptions options;
      options.stream = streams[k % 3].ref();
      const std::array inputs{host_input((k * 5) % kInputs)};
      auto execution = method->execute_async(inputs, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (std::size_t k = 0; k < executions.size(); ++k) {
      const auto outputs = executions[k].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      expect_serial(bytes_of(outputs->front()), (k * 5) % kInputs,
                    "seed " + std::to_string(seed) + ", call " + std::to_string(k));
    }
  }
}

TEST_P(SplitProgramTest, AllDelegatesAreOneGraph) {
  if (graphs_ != GraphPolicy::On) GTEST_SKIP() << "graphs are not asked for";
  for (const DeviceId io : {DeviceId{}, gpu()}) {
    const std::string where = "input and output on " + to_string(io);
    const auto method = load_split(io);
    ASSERT_NE(method, nullptr);
    const std::array inputs{io == DeviceId{} ? host_input(0) : Value{device_input(0)}};
    for (int k = 0; k < 6; ++k) {
      const auto outputs = method->execute(inputs, {});
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    }
    const std::vector<GraphInfo> graphs = method->graphs();
    for (const GraphInfo& graph : graphs) {
      std::cout << "  " << where << ": instructions " << graph.first_instruction << " to " << graph.last_instruction
                << ", " << graph.nodes << " nodes " << graph.refusal << '\n';
    }
    ASSERT_EQ(graphs.size(), 1U) << where;
    const std::size_t calls = calls_.cuda + calls_.engines;
    EXPECT_TRUE(graphs.front().in_use) << where << ": " << graphs.front().refusal;
    EXPECT_EQ(graphs.front().first_instruction, 0U) << where;
    EXPECT_EQ(graphs.front().last_instruction, calls - 1) << where;
    EXPECT_GE(graphs.front().nodes, calls_.cuda + 2 * calls_.engines) << where;
  }
}

// ---- others on the device ----

TEST_P(SplitProgramTest, ALateProducerOnTheCallersStream) {
  const auto method = load_split(gpu());
  ASSERT_NE(method, nullptr);
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < kInputs; ++i) sources.push_back(device_input(i));
  const Tensor x = device_input(0);
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream own = make_stream();
    for (const StreamRef stream : {own.ref(), StreamRef{machine_->device().thread_stream()}}) {
      const bool is_own = &stream.get() == &own.ref().get();
      ExecuteOptions options;
      if (is_own) options.stream = stream;
      const std::size_t i = (seed * 5 + (is_own ? 0 : 1)) % kInputs;
      ASSERT_TRUE(machine_->spin(stream, kLong).ok());
      ASSERT_TRUE(stream.get().copy(x.data(), sources[i].data(), input_bytes()).ok());
      const std::array inputs{Value{x}};
      const auto outputs = method->execute(inputs, options);
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      expect_serial(bytes_of(outputs->front().tensor(), stream), i,
                    std::string{is_own ? "caller's stream" : "no caller's stream"} + ", seed " + std::to_string(seed));
    }
  }
}

TEST_P(SplitProgramTest, ALateProducerOnAnotherStream) {
  const auto method = load_split(gpu());
  ASSERT_NE(method, nullptr);
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < kInputs; ++i) sources.push_back(device_input(i));
  const Tensor x = device_input(0);
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream producer = make_stream();
    const Stream stream = make_stream();
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t i = (seed * 5 + k) % kInputs;
      ASSERT_TRUE(machine_->spin(producer, kLong).ok());
      ASSERT_TRUE(producer.ref().get().copy(x.data(), sources[i].data(), input_bytes()).ok());
      const std::array ready{*producer.record()};
      ExecuteOptions options;
      options.stream = stream.ref();
      options.inputs_ready = ready;
      const std::array inputs{Value{x}};
      const auto execution = method->execute_async(inputs, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      ASSERT_TRUE(producer.wait(execution->done()).ok());  // before it writes the input again
      ASSERT_TRUE(stream.wait(execution->done()).ok());
      expect_serial(bytes_of(execution->outputs().front().tensor(), stream), i, "seed " + std::to_string(seed));
    }
  }
}

TEST_P(SplitProgramTest, ASlowReaderOrderedOnlyByDoneWhileTheNextCallsRun) {
  const auto method = load_split(gpu());
  ASSERT_NE(method, nullptr);
  constexpr std::size_t kCalls = 6;
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < kInputs; ++i) sources.push_back(device_input(i));
  std::vector<device::Buffer> copies;
  for (std::size_t k = 0; k < kCalls; ++k) copies.push_back(*machine_->device().allocate(serial_.front().size()));
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream stream = make_stream();
    const Stream reader = make_stream();
    std::vector<Execution> executions;
    for (std::size_t k = 0; k < kCalls; ++k) {
      ExecuteOptions options;
      options.stream = stream.ref();
      const std::array inputs{Value{sources[k * 3 % kInputs]}};
      auto execution = method->execute_async(inputs, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      ASSERT_TRUE(reader.wait(execution->done()).ok());
      ASSERT_TRUE(machine_->spin(reader, kLong).ok());
      const Tensor& y = execution->outputs().front().tensor();
      ASSERT_TRUE(reader.ref().get().copy(copies[k].data(), y.data(), copies[k].size()).ok());
      executions.push_back(*std::move(execution));  // keeps the output
    }
    ASSERT_TRUE(reader.synchronize().ok());
    for (std::size_t k = 0; k < kCalls; ++k) {
      std::string found(copies[k].size(), '\0');
      ASSERT_TRUE(reader.ref().get().download(found.data(), copies[k].data(), found.size()).ok());
      ASSERT_TRUE(reader.synchronize().ok());
      expect_serial(found, k * 3 % kInputs, "seed " + std::to_string(seed) + ", call " + std::to_string(k));
    }
  }
}

TEST_P(SplitProgramTest, AReaderWhoseOutputIsDroppedRightAfterItWasEnqueued) {
  const auto method = load_split(gpu());
  ASSERT_NE(method, nullptr);
  constexpr std::size_t kCalls = 6;
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < kInputs; ++i) sources.push_back(device_input(i));
  std::vector<device::Buffer> copies;
  for (std::size_t k = 0; k < kCalls; ++k) copies.push_back(*machine_->device().allocate(serial_.front().size()));
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream stream = make_stream();
    const Stream reader = make_stream();
    for (std::size_t k = 0; k < kCalls; ++k) {
      ExecuteOptions options;
      options.stream = stream.ref();
      const std::array inputs{Value{sources[k * 3 % kInputs]}};
      const auto execution = method->execute_async(inputs, options);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      ASSERT_TRUE(reader.wait(execution->done()).ok());
      ASSERT_TRUE(machine_->spin(reader, kLong).ok());
      const Tensor& y = execution->outputs().front().tensor();
      ASSERT_TRUE(reader.ref().get().copy(copies[k].data(), y.data(), copies[k].size()).ok());
      if (k % 2 == 0) {
        ASSERT_TRUE(y.record_use(reader.ref()).ok());
      } else {
        y.release_after(*reader.record());
      }
    }
    ASSERT_TRUE(reader.synchronize().ok());
    for (std::size_t k = 0; k < kCalls; ++k) {
      std::string found(copies[k].size(), '\0');
      ASSERT_TRUE(reader.ref().get().download(found.data(), copies[k].data(), found.size()).ok());
      ASSERT_TRUE(reader.synchronize().ok());
      expect_serial(found, k * 3 % kInputs, "seed " + std::to_string(seed) + ", call " + std::to_string(k));
    }
  }
}

TEST_P(SplitProgramTest, InsideACaptureOfTheCallers) {
  is_captured_ = true;
  for (int mode = 0; mode < 3; ++mode) {
    SCOPED_TRACE("mode " + std::to_string(mode));
    auto method = load_split(gpu());
    ASSERT_NE(method, nullptr);
    const Tensor x = device_input(0);
    const Stream stream = make_stream();
    ExecuteOptions options;
    options.stream = stream.ref();
    Tensor y;
    auto graph = machine_->capture(stream, mode, [&] {
      const std::array inputs{Value{x}};
      const auto outputs = method->execute(inputs, options);
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      y = outputs->front().tensor();
    });
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    ASSERT_TRUE(y.defined());
    const std::array others{Value{device_input(1)}};
    for (std::size_t k = 0; k < 2 * kInputs; ++k) {
      const std::size_t i = (k * 7 + 3) % kInputs;
      machine_->reseed(k + 1);
      ASSERT_TRUE(stream.ref().get().upload(const_cast<void*>(x.data()), inputs_[i].data(), input_bytes()).ok());
      ASSERT_TRUE((*graph)->launch(stream).ok());
      if (method != nullptr) {
        ASSERT_TRUE(method->execute(others, {}).ok()) << "beside it";
      }
      expect_serial(bytes_of(y, stream), i, "run " + std::to_string(k));
      if (k == kInputs && mode != 1) method.reset();  // the graph keeps what it needs
    }
    graph->reset();
    if (method == nullptr) continue;
    EXPECT_TRUE(method->execute(others, {}).ok());
  }
}

/// While delegates are loaded, recorded and captured. A wait of the neighbour's for the whole device may break a
/// capture, which leaves step by step, and then it fails itself: CUDA's rule.
TEST_P(SplitProgramTest, ANeighbourSynchronisesFreesAndUnloadsMeanwhile) {
  const auto loaded = program(Machine::Content::Split, {});
  ASSERT_NE(loaded, nullptr);
  MethodOptions options;
  options.graphs = graphs_;
  std::atomic<bool> ends{false};
  std::atomic<int> disturbed{0};
  std::thread neighbour{[&] {
    for (int i = 0; !ends; ++i) {
      if (!machine_->disturb()) ++disturbed;
      if (i % 4 == 0) static_cast<void>(load(loaded, options));
    }
  }};
  for (std::size_t round = 0; round < 8; ++round) {
    const auto method = load(loaded, options);
    if (method == nullptr) break;
    EXPECT_EQ(count_wrong(*method, 6, {}, round), 0U) << "round " << round;
  }
  ends = true;
  neighbour.join();
  std::cout << "  calls of the neighbour that failed: " << disturbed << '\n';
}

TEST_P(SplitProgramTest, AbandonedCapturesInBetween) {
  const auto method = load_split();
  ASSERT_NE(method, nullptr);
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Status abandoned = machine_->abandon_captures();
    ASSERT_TRUE(abandoned.ok()) << abandoned.error().to_string();
    EXPECT_EQ(count_wrong(*method, 3, {}, seed), 0U) << "seed " << seed;
  }
  if (graphs_ != GraphPolicy::On) return;
  for (const GraphInfo& graph : method->graphs()) EXPECT_TRUE(graph.in_use) << graph.refusal;
}

TEST_P(SplitProgramTest, EnginesWhoseAuxiliaryStreamIsBusy) {
  machine_->runner().forget();
  const auto method = load_split();
  ASSERT_NE(method, nullptr);
  const std::vector<device::Stream*> auxiliary = machine_->runner().auxiliary();
  if (auxiliary.empty()) GTEST_SKIP() << "nobody knows the engines' auxiliary streams";
  for (std::uint64_t seed = 1; seed <= machine_->rounds(); ++seed) {
    machine_->reseed(seed);
    const Stream stream = make_stream();
    for (device::Stream* busy : auxiliary) ASSERT_TRUE(machine_->spin(StreamRef{*busy}, kLong).ok());
    ExecuteOptions options;
    if (seed % 2 == 0) options.stream = stream.ref();
    EXPECT_EQ(count_wrong(*method, 2, options, seed), 0U) << "seed " << seed;
  }
}

// ---- controls ----

TEST_P(SplitProgramTest, OneDelegateOfEitherBackendGivesTheSameInFiveHundredRuns) {
  for (const auto content : {Machine::Content::OneCuda, Machine::Content::OneEngine}) {
    serial_ = serial_outputs(content);
    MethodOptions options;
    options.graphs = graphs_;
    const auto method = load(program(content, {}), options);
    ASSERT_NE(method, nullptr);
    EXPECT_EQ(count_wrong(*method, 500), 0U) << (content == Machine::Content::OneCuda ? kCuda : kTensorRt);
  }
}

TEST_P(SplitProgramTest, AStreamPerDelegateIsNotAlwaysRight) {
  if (graphs_ != GraphPolicy::Off) GTEST_SKIP() << "there are no graphs over several streams";
  is_control_ = true;
  MethodOptions unordered;
  unordered.streams = StreamPolicy::PerDelegate;
  const auto split = program(Machine::Content::Split, {});
  const auto refused = machine_->load(split, unordered);
  ASSERT_FALSE(refused.ok()) << "a stream per delegate was not refused";
  EXPECT_EQ(refused.error().code(), ErrorCode::OrderViolation) << refused.error().to_string();
  unordered.allow_races = true;
  const auto method = load(split, unordered);
  ASSERT_NE(method, nullptr);
  const std::size_t wrong = count_wrong(*method, 40, {}, 0, /*is_reported=*/false);
  std::cout << "  a stream per delegate: " << wrong << " of 40 runs are wrong\n";
  EXPECT_GT(wrong, 0U);
}

INSTANTIATE_TEST_SUITE_P(Machines, SplitProgramTest,
                         ::testing::Combine(::testing::ValuesIn(machine_kinds()),
                                            ::testing::Values(GraphPolicy::Off, GraphPolicy::On, GraphPolicy::Auto,
                                                              GraphPolicy::Branches)),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + "_graphs_" +
                                  std::string{name_of(std::get<1>(parameter.param))};
                         });

}  // namespace
}  // namespace tandem::split
