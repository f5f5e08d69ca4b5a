// Programs that are split over kernels from shared libraries.
#include "support/custom_library/library_file.h"
#include "support/custom_library/orders.h"
#include "support/temporary_folder.h"

#include <tandem/custom.h>
#include <tandem/custom_payload.h>
#include <tandem/module.h>
#include <tandem/program_builder.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::custom_library_bytes;
using testing::custom_library_path;
using testing::Kernel;
using testing::Orders;

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 3;

std::span<const std::byte> bytes_of(const Orders& orders) { return std::as_bytes(std::span{&orders, 1}); }

Value input(float number, std::int64_t rows = kRows) {
  const std::array<std::int64_t, 2> sizes{rows, kColumns};
  Tensor tensor = *Tensor::empty(ScalarType::Float, sizes);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.data_as<float>()[i] = number + static_cast<float>(i);
  return tensor;
}

std::vector<float> floats(const Value& value) {
  const Tensor& tensor = value.tensor();
  return {tensor.data_as<float>(), tensor.data_as<float>() + tensor.numel()};
}

/// What sum_program() computes: (x + 10) times itself, less 3, by way of scratch.
std::vector<float> expected(float number, std::int64_t rows = kRows) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < rows * kColumns; ++i) {
    const float x = number + static_cast<float>(i) + 10;
    all.push_back(x * x - 3);
  }
  return all;
}

/// A delegate, an operator, a delegate; `library` says where theirs is. Sizes are open along the rows.
ProgramBuilder program_of(CustomPayload library) {
  ProgramBuilder program;
  MethodBuilder& forward = program.method("forward");
  const auto open = [&forward] { return forward.tensor(TensorSpec{.sizes = {kRows, kColumns}, .dynamic = true}); };
  const auto x = open();
  const auto a = open();
  const auto b = open();
  const auto y = open();
  const auto delegate = [&](Kernel kernel, float amount) {
    Orders orders;
    orders.kernel = kernel;
    orders.amount = amount;
    library.blob = bytes_of(orders);
    const auto payload = encode_custom_payload(library);
    EXPECT_TRUE(payload.ok()) << payload.error().to_string();
    return forward.delegate({.id = "CustomBackend", .payload = *payload});
  };
  forward.call(delegate(Kernel::Add, 10), {x, a})
      .kernel("aten::mul.out", {a, a, b, b})
      .call(delegate(Kernel::Scratch, -3), {b, y})
      .inputs({x})
      .outputs({y});
  return program;
}

/// The program with the library among its named data, loaded.
class CustomProgramTest : public ::testing::Test {
 protected:
  CustomProgramTest() {
    ProgramBuilder builder = program_of({.key = "kernels.so"});
    builder.named_data("kernels.so", library);
    load(builder);
  }
  void load(const ProgramBuilder& builder) {
    auto built = builder.build();
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    files = *std::move(built);
    auto loaded = Program::from_bytes(files.pte);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    program = *std::move(loaded);
  }
  std::shared_ptr<Method> method(const MethodOptions& options = {}) {
    auto loaded = Method::load(program, "forward", options);
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
  static std::vector<float> run(Method& method, const Value& x, const ExecuteOptions& options = {}) {
    const std::array inputs{x};
    const auto outputs = method.execute(inputs, options);
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? floats(outputs->front()) : std::vector<float>{};
  }

  std::vector<std::byte> library = custom_library_bytes("kernels");
  BuiltProgram files;
  std::shared_ptr<const Program> program;
};

TEST_F(CustomProgramTest, RunsWithChangingInputsAndSizes) {
  const auto loaded = method();
  ASSERT_NE(loaded, nullptr);
  for (int i = 0; i < 8; ++i) {
    const std::int64_t rows = 1 + i % kRows;
    EXPECT_EQ(run(*loaded, input(static_cast<float>(i), rows)), expected(static_cast<float>(i), rows)) << i;
  }
}

TEST_F(CustomProgramTest, NamesItsBackend) {
  const auto meta = program->method_meta("forward");
  ASSERT_TRUE(meta.ok());
  EXPECT_TRUE(meta->uses_backend("CustomBackend"));
  EXPECT_EQ(meta->delegate_count, 2U);
}

TEST_F(CustomProgramTest, RunsAsynchronouslyOnAStream) {
  const auto loaded = method();
  ASSERT_NE(loaded, nullptr);
  const auto stream = Stream::create();
  ASSERT_TRUE(stream.ok());
  ExecuteOptions options;
  options.stream = stream->ref();
  std::vector<Execution> executions;
  for (int i = 0; i < 6; ++i) {
    const std::array inputs{input(static_cast<float>(i))};
    auto execution = loaded->execute_async(inputs, options);
    ASSERT_TRUE(execution.ok()) << execution.error().to_string();
    executions.push_back(*std::move(execution));
  }
  for (int i = 0; i < 6; ++i) {
    const auto outputs = executions[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_EQ(floats(outputs->front()), expected(static_cast<float>(i))) << i;
  }
}

TEST_F(CustomProgramTest, IsRightUnderEverySeedOfTheScheduler) {
  const auto scheduler = std::make_shared<SeededScheduler>(0);
  MethodOptions options;
  options.scheduler = scheduler;
  options.instances = 2;
  const auto loaded = method(options);
  ASSERT_NE(loaded, nullptr);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    scheduler->reseed(seed);
    const std::array streams{scheduler->make_stream(), scheduler->make_stream()};
    std::vector<Execution> executions;
    for (std::size_t i = 0; i < 4; ++i) {
      ExecuteOptions on;
      on.stream = streams[i % 2].ref();
      const std::array inputs{input(static_cast<float>(i))};
      auto execution = loaded->execute_async(inputs, on);
      ASSERT_TRUE(execution.ok()) << execution.error().to_string();
      executions.push_back(*std::move(execution));
    }
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const auto outputs = executions[i].get();
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      EXPECT_EQ(floats(outputs->front()), expected(static_cast<float>(i))) << "seed " << seed;
    }
  }
}

TEST_F(CustomProgramTest, AStreamPerDelegateIsRefused) {
  MethodOptions options;
  options.streams = StreamPolicy::PerDelegate;
  // An operator comes between, and the host waits there: two delegates in a row are what nothing orders.
  ProgramBuilder builder;
  MethodBuilder& forward = builder.method("forward");
  const auto x = forward.tensor({2});
  const auto a = forward.tensor({2});
  const auto y = forward.tensor({2});
  const Orders orders;
  const auto payload = *encode_custom_payload({.key = "kernels.so", .blob = bytes_of(orders)});
  const auto one = forward.delegate({.id = "CustomBackend", .payload = payload});
  const auto two = forward.delegate({.id = "CustomBackend", .payload = payload});
  forward.call(one, {x, a}).call(two, {a, y}).inputs({x}).outputs({y});
  builder.named_data("kernels.so", library);
  load(builder);
  const auto loaded = Method::load(program, "forward", options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::OrderViolation);
}

TEST_F(CustomProgramTest, InstancesRunFromSeveralThreads) {
  MethodOptions options;
  options.instances = 2;
  const auto loaded = method(options);
  ASSERT_NE(loaded, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&loaded, t] {
      for (int i = 0; i < 20; ++i) {
        const auto number = static_cast<float>(10 * t + i);
        EXPECT_EQ(run(*loaded, input(number)), expected(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CustomProgramTest, NativeCodeCanBeRefused) {
  const auto loaded = Method::load(program, "forward", {.allow_native_code = false});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::NotSupported);
}

TEST_F(CustomProgramTest, FailuresNameTheDelegate) {
  ProgramBuilder builder = program_of({.key = "elsewhere.so"});
  load(builder);
  const auto loaded = Method::load(program, "forward");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(loaded.error().site().backend, "CustomBackend");
  EXPECT_EQ(loaded.error().site().delegate, 0);
  EXPECT_EQ(loaded.error().site().method, "forward");
}

TEST_F(CustomProgramTest, LibrariesLieBesideAProgramThatIsAFile) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "kernels");
  std::filesystem::copy_file(custom_library_path("kernels"), folder.path() / "kernels" / "library.so");
  const ProgramBuilder builder = program_of({.path = "kernels/library.so"});
  ASSERT_TRUE(builder.save(folder.path() / "program.pte").ok());
  Module module{folder.path() / "program.pte"};
  const auto outputs = module.forward({input(5)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ(floats(outputs->front()), expected(5));
}

/// x[1] -> how often its state was called.
TEST_F(CustomProgramTest, AStatefulLibraryHasOneStatePerStateOfTheMethod) {
  ProgramBuilder builder;
  MethodBuilder& forward = builder.method("forward");
  const auto x = forward.tensor({1});
  const auto y = forward.tensor({1});
  Orders orders;
  orders.kernel = Kernel::Count;
  const auto both = custom_library_bytes("both");
  const auto payload = *encode_custom_payload({.library = both, .blob = bytes_of(orders)});
  forward.call(forward.delegate({.id = "CustomBackend", .payload = payload}), {x, y}).inputs({x}).outputs({y});
  load(builder);
  const auto loaded = method();
  ASSERT_NE(loaded, nullptr);
  const std::array<std::int64_t, 1> sizes{1};
  const Value one = *Tensor::empty(ScalarType::Float, sizes);
  EXPECT_EQ(run(*loaded, one), std::vector<float>{1});
  EXPECT_EQ(run(*loaded, one), std::vector<float>{2});
  const auto other = loaded->new_state();
  ASSERT_TRUE(other.ok());
  ExecuteOptions options;
  options.state = *other;
  EXPECT_EQ(run(*loaded, one, options), std::vector<float>{1});
  ASSERT_TRUE(loaded->state()->reset().ok());
  EXPECT_EQ(run(*loaded, one), std::vector<float>{1});
}

/// total += x, in a buffer of the program's.
TEST_F(CustomProgramTest, ADelegateUpdatesAMutableBufferInPlace) {
  ProgramBuilder builder;
  MethodBuilder& forward = builder.method("forward");
  const auto x = forward.tensor({1});
  const auto total = forward.state({1}, {100});
  const auto y = forward.tensor({1});
  Orders orders;
  orders.kernel = Kernel::Update;
  orders.accesses[1] = TANDEM_CUSTOM_UPDATE;
  const auto payload = *encode_custom_payload({.library = library, .blob = bytes_of(orders)});
  forward.call(forward.delegate({.id = "CustomBackend", .payload = payload}), {x, total, y}).inputs({x}).outputs({y});
  load(builder);
  const auto loaded = method();
  ASSERT_NE(loaded, nullptr);
  const std::array<std::int64_t, 1> sizes{1};
  const Tensor one = *Tensor::empty(ScalarType::Float, sizes);
  one.data_as<float>()[0] = 5;
  EXPECT_EQ(run(*loaded, one), std::vector<float>{105});
  EXPECT_EQ(run(*loaded, one), std::vector<float>{110});
}

}  // namespace
}  // namespace tandem
