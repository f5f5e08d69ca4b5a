// A program of CudaBackend and TensorRTBackend in turn on the host: AOTInductor libraries compiled from source under
// the name CudaBackend, reference engines under the name TensorRTBackend. Every result must have the bits of serial
// execution, under many schedules, from one thread and from a pool; without order some must not.
//
//   TANDEM_SPLIT_RUNS   runs of a test from one thread, and from a pool: 100 by default, 7600 at night
#include "backends/aoti/aoti_backend.h"
#include "backends/aoti/write_payload.h"
#include "backends/tensorrt/tensorrt_backend.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "cli/inspect_files.h"
#include "cli/inspect_report.h"
#include "cli/random_values.h"
#include "recorded_chain.h"
#include "split_program.h"
#include "support/reference_engine/reference_provider.h"
#include "support/sanitized.h"

#include <tandem/method.h>
#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tandem::split {
namespace {

constexpr std::int64_t kSize = 2048;
constexpr std::uint64_t kSeeds = 60;

std::size_t runs() {
  const char* const value = std::getenv("TANDEM_SPLIT_RUNS");
  return value != nullptr && *value != 0 ? std::stoul(value) : 100;
}

/// What the `pair`-th delegate of CudaBackend computes. The scales' product is 1 or -1, as in engine_link().
Link cuda_link(std::size_t pair) {
  static constexpr float kScales[] = {1.0F, -2.0F, 0.5F};
  return {kScales[pair % 3], 1.0F - 0.125F * static_cast<float>(pair), false};
}
bool is_long(std::size_t pair) { return pair % 2 == 0; }

/// A delegate over libs/<name>.cpp, with its own weights in the data file.
Result<DelegateHandle> write_aoti(Writer& writer, const std::string& name, std::size_t pair) {
  TANDEM_TRY(const auto library, base::MappedFile::open(std::filesystem::path{TANDEM_AOTI_LIBRARIES} / (name + ".so")));
  TANDEM_TRY(const std::string digest, base::sha256_hex(library.bytes()));
  const std::string library_key = digest + "_so_blob";
  const std::string weight_key = "weight_" + std::to_string(pair);
  const Link link = cuda_link(pair);
  const std::array<float, 2> weight{link.scale, link.amount};
  writer.program().external_data(weight_key, std::as_bytes(std::span{weight}), 64);
  aoti::ConstantEntry entry;
  entry.fqn = "weight";
  entry.storage_key = weight_key;
  entry.storage_bytes = sizeof weight;
  entry.sizes = {2};
  entry.strides = {1};
  TANDEM_TRY(const auto payload, aoti::write_payload({{library_key}, std::vector{entry}}));
  if (pair < 2) writer.program().named_data(library_key, library.bytes());
  return writer.delegate({.id = kCuda, .payload = payload});
}

Result<Files> write_program(std::size_t pairs, bool cuda, bool engines, const std::string& folder) {
  Writer writer{{kSize}, {}};
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (cuda) {
      TANDEM_TRY(const auto delegate, write_aoti(writer, is_long(pair) ? "long_affine" : "short_affine", pair));
      writer.call_cuda(delegate);
    }
    if (engines) call_engine_link(writer, pair);
  }
  return writer.save(folder_for(folder));
}

class SplitProgramOnHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(backends_.register_backend("AotiHostBackend", aoti::make_aoti_host_backend()).ok());
    ASSERT_TRUE(backends_.register_alias(kCuda, "AotiHostBackend").ok());
    const std::shared_ptr<const testing::ReferenceProvider> provider{std::shared_ptr<void>{}, &provider_};
    ASSERT_TRUE(backends_.register_backend(kTensorRt, tensorrt::make_tensorrt_backend(provider)).ok());
    use(write_program(kPairs, true, true, "host"), input);
  }

  /// Reads a program, runs every input by itself.
  void use(const Result<Files>& files, std::function<Value(std::size_t)> make_input) {
    ASSERT_TRUE(files.ok()) << files.error().to_string();
    files_ = *files;
    make_input_ = std::move(make_input);
    const auto program = Program::load(files_.pte, files_.ptd);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    program_ = *program;
    const auto method = load();
    ASSERT_NE(method, nullptr);
    serial_.clear();
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::array inputs{make_input_(i)};
      const auto outputs = method->execute(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      serial_.push_back(bytes_of(outputs->front()));
    }
  }
  std::shared_ptr<Method> load(MethodOptions options = {}) {
    options.backends = &backends_;
    auto method = Method::load(program_, "forward", options);
    EXPECT_TRUE(method.ok()) << method.error().to_string();
    return method.ok() ? *method : nullptr;
  }

  static double element(std::size_t index, std::int64_t at) {
    return static_cast<double>(index) - 5 + 0.001953125 * static_cast<double>(at);  // 1/512: floats hold it
  }
  static Value input(std::size_t index) {
    Tensor tensor = *Tensor::empty(ScalarType::Float, std::array<std::int64_t, 1>{kSize});
    for (std::int64_t i = 0; i < kSize; ++i) tensor.data_as<float>()[i] = static_cast<float>(element(index, i));
    return tensor;
  }
  static std::string bytes_of(const Value& value) { return {value.tensor().data_as<char>(), value.tensor().nbytes()}; }

  /// `count` runs with inputs in changing order. How many are wrong.
  std::size_t count_wrong(Method& method, std::size_t count, std::size_t first = 0, const ExecuteOptions& how = {}) {
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (k * 7 + first) % kInputs;
      const std::array inputs{make_input_(i)};
      const auto outputs = method.execute(inputs, how);
      if (!outputs.ok()) {
        ADD_FAILURE() << outputs.error().to_string();
        return count;
      }
      if (bytes_of(outputs->front()) != serial_[i]) ++wrong;
    }
    return wrong;
  }
  std::size_t count_wrong_of_pool(Method& method, std::size_t count) {
    constexpr std::size_t kThreads = 8;
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { wrong += count_wrong(method, (count + kThreads - 1) / kThreads, t * 3); });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong;
  }

  testing::HostRunner runner_;
  testing::ReferenceProvider provider_{runner_, 16};
  BackendRegistry backends_;
  Files files_;
  std::function<Value(std::size_t)> make_input_;
  std::shared_ptr<const Program> program_;
  std::vector<std::string> serial_;
};

TEST_F(SplitProgramOnHostTest, TheFileHasBothBackendsInTurn) {
  EXPECT_EQ(files_.pte.filename(), "split_program.pte");
  EXPECT_EQ(count_calls(*program_), (Calls{kPairs, kPairs}));
  // The same as the command sees it, from the file.
  const std::vector<std::string> data_files{files_.ptd.begin(), files_.ptd.end()};
  const auto read = cli::read_program(files_.pte, data_files);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const cli::Json report = cli::program_json(*read, backends_);
  const cli::Json& method = report["methods"][0];
  const cli::Json& instructions = method["chains"][0]["instructions"];
  ASSERT_EQ(instructions.size(), 2 * kPairs) << instructions.dump(1);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    EXPECT_EQ(instructions[i]["kind"], "delegate") << "instruction " << i;
    const std::size_t delegate = instructions[i]["delegate"];
    EXPECT_EQ(delegate, i) << "each call is of a delegate of its own";
    EXPECT_EQ(method["delegates"][delegate]["id"], i % 2 == 0 ? kCuda : kTensorRt) << "instruction " << i;
  }
}

TEST_F(SplitProgramOnHostTest, SerialExecutionIsTheMathematics) {
  std::vector<Link> links;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    links.push_back(cuda_link(pair));
    links.push_back(engine_link(pair));
  }
  for (std::size_t i = 0; i < kInputs; ++i) {
    std::vector<float> found(kSize);
    ASSERT_EQ(serial_[i].size(), kSize * sizeof(float));
    std::memcpy(found.data(), serial_[i].data(), serial_[i].size());
    for (std::int64_t k = 0; k < kSize; ++k) {
      const double expected = value_after(links, element(i, k));
      const auto value = static_cast<double>(found[static_cast<std::size_t>(k)]);
      ASSERT_TRUE(is_close(value, expected))
          << "input " << i << ", number " << k << ": " << value << " instead of " << expected;
    }
  }
  // What the other tests could not see if inputs made no difference.
  EXPECT_EQ((std::set<std::string>{serial_.begin(), serial_.end()}.size()), kInputs);
}

TEST_F(SplitProgramOnHostTest, OneThread) {
  EXPECT_EQ(count_wrong(*load(), runs()), 0U);
  EXPECT_EQ(provider_.counts().overtaken, 0);
}

TEST_F(SplitProgramOnHostTest, AStreamOfTheCallersWithAThreadOfItsOwn) {
  const auto stream = Stream::create();
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  ExecuteOptions how;
  how.stream = stream->ref();
  EXPECT_EQ(count_wrong(*load(), runs(), 0, how), 0U);
}

TEST_F(SplitProgramOnHostTest, APoolOfEightSharesAMethod) {
  EXPECT_EQ(count_wrong_of_pool(*load(), runs()), 0U);
  MethodOptions two;
  two.instances = 2;
  two.streams = StreamPolicy::PerMethod;
  EXPECT_EQ(count_wrong_of_pool(*load(two), runs()), 0U) << "two instances on the method's stream";
  EXPECT_EQ(provider_.counts().overtaken, 0);
}

TEST_F(SplitProgramOnHostTest, EveryScheduleGivesEveryCallItsOwnResult) {
  MethodOptions options;
  options.scheduler = std::make_shared<SeededScheduler>(1);
  options.instances = 2;
  options.max_in_flight = 4;
  const auto method = load(options);
  ASSERT_NE(method, nullptr);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    options.scheduler->reseed(seed);
    const std::array streams{options.scheduler->make_stream(), options.scheduler->make_stream(),
                             options.scheduler->make_stream()};
    std::vector<Execution> executions;
    for (std::size_t k = 0; k < 6; ++k) {
      ExecuteOptions how;
      how.stream = streams[k % 3].ref();
      const std::array inputs{make_input_((seed + k * 5) % kInputs)};
      auto execution = method->execute_async(inputs, how);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (std::size_t k = 0; k < executions.size(); ++k) {
      const auto outputs = executions[k].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      ASSERT_EQ(bytes_of(outputs->front()), serial_[(seed + k * 5) % kInputs]) << "seed " << seed << ", call " << k;
    }
  }
  EXPECT_EQ(provider_.counts().overtaken, 0);
}

TEST_F(SplitProgramOnHostTest, AStreamPerDelegateIsRefused) {
  MethodOptions unordered;
  unordered.backends = &backends_;
  unordered.streams = StreamPolicy::PerDelegate;
  const auto refused = Method::load(program_, "forward", unordered);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::OrderViolation);
  EXPECT_EQ(refused.error().site().instruction, 1);
}

TEST_F(SplitProgramOnHostTest, AStreamPerDelegateIsNotAlwaysRight) {
  MethodOptions unordered;
  unordered.streams = StreamPolicy::PerDelegate;
  unordered.allow_races = true;
  if (!testing::kSanitized) {  // a race of real threads
    const std::size_t wrong = count_wrong(*load(unordered), 40);
    std::cout << "  threads of streams: " << wrong << " of 40 runs are wrong\n";
    EXPECT_GT(wrong, 0U);
  }
  unordered.scheduler = std::make_shared<SeededScheduler>(1);
  const auto method = load(unordered);
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    unordered.scheduler->reseed(seed);
    wrong += count_wrong(*method, 1, seed);
  }
  std::cout << "  seeds: " << wrong << " of 40 runs are wrong\n";
  EXPECT_GT(wrong, 0U);
}

TEST_F(SplitProgramOnHostTest, OneDelegateOfEitherBackendGivesTheSameInFiveHundredRuns) {
  use(write_program(1, true, false, "host_cuda_alone"), input);
  EXPECT_EQ(count_calls(*program_), (Calls{1, 0}));
  EXPECT_EQ(count_wrong(*load(), 500), 0U);
  use(write_program(1, false, true, "host_tensorrt_alone"), input);
  EXPECT_EQ(count_calls(*program_), (Calls{0, 1}));
  EXPECT_EQ(count_wrong(*load(), 500), 0U);
}

TEST_F(SplitProgramOnHostTest, DelegatesOfRecordedProgramsGiveWhatWasRecorded) {
  for (const std::string name : {"split25", "mlp"}) {
    const auto chain = RecordedChain::read(std::filesystem::path{TANDEM_FIXTURES} / name);
    ASSERT_TRUE(chain.ok()) << chain.error().to_string();
    const auto recorded = chain->recorded(/*outputs=*/false);
    const auto expected = chain->recorded(/*outputs=*/true);
    ASSERT_TRUE(recorded.ok() && expected.ok());
    Writer writer{chain->sizes(), {}};
    const std::size_t passes = chain->passes_for(kPairs);
    ASSERT_TRUE(chain->write(writer, passes, write_reference_engine).ok());
    use(writer.save(folder_for("host_" + name)), [&](std::size_t i) {
      return i < recorded->size() ? (*recorded)[i].front()
                                  : Value{*cli::random_tensor(ScalarType::Float, chain->sizes(), 100 + i, 0)};
    });
    const std::size_t calls = passes * chain->delegate_count();
    EXPECT_EQ(count_calls(*program_), (Calls{calls, calls})) << name;
    cli::Tolerance tolerance = chain->tolerance();
    tolerance.atol = std::max(tolerance.atol, 2e-3);  // passes after the first get an input that is a little off
    for (std::size_t i = 0; i < std::min(recorded->size(), kInputs); ++i) {
      const Tensor found =
          *Tensor::from_blob(serial_[i].data(), ScalarType::Float, (*expected)[i].front().tensor().sizes());
      const cli::Comparison compared = cli::compare(found, (*expected)[i].front(), tolerance);
      EXPECT_TRUE(compared.matched) << name << ", input " << i << ": " << compared.reason;
    }
    EXPECT_EQ((std::set<std::string>{serial_.begin(), serial_.end()}.size()), kInputs) << name;
    EXPECT_EQ(count_wrong(*load(), 20), 0U) << name;
    EXPECT_EQ(count_wrong_of_pool(*load(), 20), 0U) << name;
  }
}

TEST(SplitProgramTwinTest, TensorRtItselfIsSaidToBeMissingWhereItIs) {
  const Status available = tensorrt::make_tensorrt_backend()->available();
  if (!available.ok()) GTEST_SKIP() << "the twin over TensorRT: " << available.error().to_string();
  GTEST_SKIP() << "the twin over TensorRT is a part of integration_split_program_cuda";
}

}  // namespace
}  // namespace tandem::split
