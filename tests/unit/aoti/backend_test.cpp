#include "backends/aoti/aoti_backend.h"

#include "allocation_count.h"
#include "backends/aoti/aoti_context.h"
#include "delegate_model.h"
#include "device/host/host_device.h"
#include "library_files.h"
#include "support/delegate_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::aoti {
namespace {

using testing::ArgumentMemory;
using testing::DelegateRunner;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FixtureFolder;
using testing::FixtureMethod;
using ::testing::HasSubstr;
using Kind = OutputResult::Kind;

constexpr const char* kWeightsKey = "weights_blob";

class Model final : public DelegateModel {
 public:
  explicit Model(const std::string& library) { use_library(library_bytes(library)); }

  Model& use_library(std::vector<std::byte> bytes) {
    const std::string key = library_key(bytes);
    blobs_.add(key, std::move(bytes));
    payload_ = key + "\n" + kWeightsKey;
    return *this;
  }
  Model& tensor(std::vector<std::int64_t> sizes, ScalarType dtype = ScalarType::Float,
                std::vector<std::uint8_t> order = {}) {
    arguments_.emplace_back().make_tensor(dtype, std::move(sizes), std::move(order));
    return *this;
  }
  Model& value(Argument::Kind kind) {
    arguments_.emplace_back().argument.kind = kind;
    return *this;
  }
  Model& weights(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span{values});
    blobs_.add(kWeightsKey, {bytes.begin(), bytes.end()});
    return *this;
  }
  Model& payload(std::string text) {
    payload_ = std::move(text);
    return *this;
  }
  [[nodiscard]] const std::string& payload_text() const { return payload_; }

 private:
  Result<std::unique_ptr<Delegate>> load(std::span<const std::byte> payload, LoadContext& context) override {
    context.backend_id = "AotiHostBackend";
    return make_aoti_host_backend()->prepare(payload, context);
  }
};

void fill(ArgumentMemory& memory, std::vector<float> values) {
  ASSERT_EQ(values.size(), memory.floats().size());
  std::ranges::copy(values, memory.floats().begin());
}

bool repeats(DelegateRunner& runner) { return dynamic_cast<AotiContext&>(runner.context()).repeats(); }

Model results_model() {
  Model model{"results"};
  for (int i = 0; i < 6; ++i) model.tensor({2, 3});
  model.value(Argument::Kind::Int);
  return model;
}

// ------------------------------------------------------------------------------------------------------- results

TEST(AotiContext, EveryKindOfResultArrivesInEveryRun) {
  Model model = results_model();
  fill(model.argument(0), {7, 2, 3, 4, 5, 6});
  DelegateRunner& runner = model.runner();
  for (int run = 0; run < 4; ++run) {
    for (std::size_t i = 1; i < 6; ++i) std::ranges::fill(model.argument(i).floats(), -5.0F);
    model.argument(0).floats()[0] = static_cast<float>(7 + run);
    const Status status = runner.run();
    ASSERT_TRUE(status.ok()) << status.error().to_string();
    for (std::int64_t i = 0; i < 6; ++i) {
      const double x = testing::element(model.argument(0), i);
      EXPECT_EQ(testing::element(model.argument(1), i), 2 * x) << run;
      EXPECT_EQ(testing::element(model.argument(2), i), 2 * x) << run;
      EXPECT_EQ(testing::element(model.argument(3), i), 3 * x) << run;
      EXPECT_EQ(testing::element(model.argument(4), i), x) << run;
      EXPECT_EQ(testing::element(model.argument(5), i), 4 * x) << run;
    }
    EXPECT_EQ(model.argument(6).argument.integer, 7 + run);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(runner.results()[i].kind, Kind::View) << i;
    EXPECT_EQ(runner.results()[5].kind, Kind::Number);
  }
  EXPECT_TRUE(repeats(runner));
}

TEST(AotiContext, OneHandleInTwoOutputsIsOneViewTwice) {
  Model model = results_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[0].data, runner.results()[1].data);
}

TEST(AotiContext, ViewOfAnInputPointsIntoTheInput) {
  Model model = results_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[3].data, model.argument(0).argument.tensor.data);
}

TEST(AotiContext, StridesOtherThanThePlansAreReported) {
  Model model = results_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  EXPECT_THAT((std::span{runner.results()[2].strides, 2}), ElementsAre(1, 2));
}

/// The same tensor is in place where the plan has the columns first.
TEST(AotiContext, PlannedOrderOfDimensionsDecidesWhatIsInPlace) {
  Model model{"results"};
  for (int i = 0; i < 3; ++i) model.tensor({2, 3});
  model.tensor({2, 3}, ScalarType::Float, {1, 0}).tensor({2, 3}).tensor({2, 3}).value(Argument::Kind::Int);
  fill(model.argument(0), {1, 2, 3, 4, 5, 6});
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[2].kind, Kind::InPlace);
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(testing::element(model.argument(3), i), 3.0 * static_cast<double>(i + 1));
}

Model scaled_model() {
  Model model{"scaled"};
  model.tensor({4}).value(Argument::Kind::Double).tensor({4});
  fill(model.argument(0), {1, 2, 3, 4});
  model.argument(1).argument.number = 2;
  return model;
}

TEST(AotiContext, AfterTheRecordingRunTheOutputIsWrittenInPlace) {
  Model model = scaled_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[0].kind, Kind::View);
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[0].kind, Kind::InPlace);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(2, 4, 6, 8));
}

TEST(AotiContext, OutputThatOverlapsAnInputIsNotWrittenInPlace) {
  Model model = scaled_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  TensorArg& output = model.argument(2).argument.tensor;
  output.data = model.argument(0).argument.tensor.data;
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[0].kind, Kind::View);
  EXPECT_THAT(model.argument(0).floats(), ElementsAre(2, 4, 6, 8));  // copied by the runtime, afterwards
}

TEST(AotiContext, MisalignedOutputAndInputAreServedAllTheSame) {
  Model model = scaled_model();
  DelegateRunner& runner = model.runner();
  ASSERT_TRUE(runner.run().ok());
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
    TensorArg& tensor = model.argument(index).argument.tensor;
    tensor.data = static_cast<std::byte*>(tensor.data) + 4;
  }
  fill(model.argument(0), {5, 6, 7, 8});
  ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(runner.results()[0].kind, Kind::View);
  EXPECT_THAT(model.argument(2).floats(), ElementsAre(10, 12, 14, 16));
}

TEST(AotiContext, MisalignedInputOfARealLibraryGivesTheSameResult) {
  const FixtureFolder folder{"mlp"};
  const auto backend = make_aoti_host_backend();
  FixtureMethod method{folder, "forward", *backend};
  const auto& entry = folder.meta().at("methods").at("forward").at("cases").at(0);
  method.set_input(0, folder.read(entry.at("inputs").at(0)));
  ASSERT_TRUE(method.run().ok());
  const std::vector<float> aligned{method.output(0).floats().begin(), method.output(0).floats().end()};
  ArgumentMemory& input = method.input(0);
  std::memmove(static_cast<std::byte*>(input.argument.tensor.data) + 4, input.argument.tensor.data,
               input.argument.tensor.nbytes());
  input.argument.tensor.data = static_cast<std::byte*>(input.argument.tensor.data) + 4;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(method.run().ok());
    EXPECT_THAT(method.output(0).floats(), ::testing::ElementsAreArray(aligned));
  }
}

// ------------------------------------------------------------------------------------------------------- arguments

TEST(AotiContext, NumbersOfEveryKindBecomeTensors) {
  for (const Argument::Kind kind : {Argument::Kind::Int, Argument::Kind::Double, Argument::Kind::Bool}) {
    Model model{"scaled"};
    model.tensor({1}).value(kind).tensor({1});
    fill(model.argument(0), {3});
    model.argument(1).argument.integer = 2;
    model.argument(1).argument.number = 2.5;
    model.argument(1).argument.flag = true;
    DelegateRunner& runner = model.runner();
    ASSERT_TRUE(runner.run().ok());
    const float scale = kind == Argument::Kind::Int ? 2.0F : kind == Argument::Kind::Double ? 2.5F : 1.0F;
    EXPECT_THAT(model.argument(2).floats(), ElementsAre(3 * scale));
  }
}

TEST(AotiContext, ANumberThatChangesSelectsItsOwnRecord) {
  Model model{"filled"};
  model.value(Argument::Kind::Int).tensor({4});
  DelegateRunner& runner = model.runner();
  for (const std::int64_t number : {1, 2, 1, 2, 4, 2}) {
    model.argument(0).argument.integer = number;
    ASSERT_TRUE(runner.run().ok());
    EXPECT_EQ(model.argument(1).floats().size(), static_cast<std::size_t>(number));
    EXPECT_THAT(model.argument(1).floats(), Each(static_cast<float>(number)));
  }
  EXPECT_TRUE(repeats(runner));
}

TEST(AotiBackend, InputThatIsNoValueIsNamed) {
  Model model{"scaled"};
  model.tensor({4}).value(Argument::Kind::None).tensor({4});
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidType);
  EXPECT_EQ(error.site().argument, 1);
  EXPECT_EQ(error.site().field, "arg1_1");
  EXPECT_EQ(error.site().delegate, 3);
  EXPECT_EQ(error.site().method, "forward");
  EXPECT_EQ(error.site().backend, "AotiHostBackend");
}

TEST(AotiContext, InputThatStopsBeingAValueIsNamed) {
  Model model = scaled_model();
  DelegateRunner& runner = model.runner();
  model.argument(1).argument.kind = Argument::Kind::None;
  const Status status = runner.run();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidType);
  EXPECT_EQ(status.error().site().argument, 1);
  EXPECT_EQ(status.error().site().field, "arg1_1");
}

/// In the library, a wrong count is an exception that leaves its C function.
TEST(AotiBackend, WrongNumberOfArgumentsIsRefusedAtLoad) {
  Model model{"scaled"};
  model.tensor({4}).tensor({4});
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.expected(), "2 inputs and 1 outputs");
  EXPECT_EQ(error.found(), "2 arguments");
}

TEST(AotiContext, WrongNumberOfArgumentsIsRefusedInACall) {
  Model model = scaled_model();
  DelegateRunner& runner = model.runner();
  EnqueueArgs args{StreamRef{device::HostDevice::instance().thread_stream()}};
  std::vector<Argument*> arguments{&model.argument(0).argument};
  std::vector<OutputResult> outputs(1);
  args.arguments = arguments;
  args.outputs = outputs;
  const Status status = runner.context().enqueue(args);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument);
}

TEST(Container, ExceptionThatLeavesTheLibraryIsAnError) {
  auto opened = Library::open(library_bytes("scaled"), "scaled", shim_table_host());
  ASSERT_TRUE(opened.ok());
  const auto container = Container::create(std::shared_ptr<const Library>{std::move(*opened)}, *host_device());
  ASSERT_TRUE(container.ok());
  const CallScope scope{(*container)->state()};
  const Status status = (*container)->run({}, {}, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(status.error().native().text, "wrong number of inputs or outputs");
}

// ------------------------------------------------------------------------------------------------------- failures

TEST(AotiContext, FailedCheckIsAnErrorWithItsTextAndLeavesTheStateAsItWas) {
  const FixtureFolder folder{"state"};
  const auto backend = make_aoti_host_backend();
  FixtureMethod method{folder, "forward", *backend};
  const auto& spec = folder.meta().at("methods").at("forward");
  const auto set_inputs = [&](const nlohmann::json& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) method.set_input(i, folder.read(inputs.at(i)));
  };
  set_inputs(spec.at("failures").at(0).at("inputs"));
  const Status status = method.run();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(status.error().native().origin, Origin::Aoti);
  EXPECT_EQ(status.error().native().code, 1);
  EXPECT_THAT(status.error().native().text, HasSubstr("index out of bounds"));
  const auto& first = spec.at("cases").at(0);
  set_inputs(first.at("inputs"));
  ASSERT_TRUE(method.run().ok());
  const auto expected = folder.read(first.at("outputs").at(0));
  std::vector<float> values(expected.bytes.size() / sizeof(float));
  std::memcpy(values.data(), expected.bytes.data(), expected.bytes.size());
  EXPECT_THAT(method.output(0).floats(), ::testing::Pointwise(::testing::FloatNear(1e-5F), values));
}

Model steps_model() {
  Model model{"steps"};
  model.tensor({1}).tensor({64}).tensor({64});
  for (std::size_t i = 0; i < 64; ++i) model.argument(1).floats()[i] = static_cast<float>(i);
  return model;
}

Status run_step(Model& model, DelegateRunner& runner, int mode) {
  model.argument(0).floats()[0] = static_cast<float>(mode);
  std::ranges::fill(model.argument(2).floats(), -1.0F);
  TANDEM_CHECK_OK(runner.run());
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(model.argument(2).floats()[i], static_cast<float>(i + 1)) << mode;
  return {};
}

TEST(AotiContext, AFailedRunKeepsTheLibrarysTextAndTheNextOneWorks) {
  Model model = steps_model();
  DelegateRunner& runner = model.runner();
  for (int i = 0; i < 2; ++i) {
    const Status failed = run_step(model, runner, 4);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().native().text, "mode 4 fails");
    ASSERT_TRUE(run_step(model, runner, 0).ok());
  }
}

TEST(AotiContext, AShimsReasonIsPartOfTheError) {
  Model model{"scaled"};
  model.tensor({4}).tensor({2}).tensor({4});  // item() of two elements
  const Status status = model.runner().run();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().native().text, HasSubstr("item_float64 API call failed"));
  EXPECT_THAT(status.error().native().text, HasSubstr("not exactly one element"));
}

// ------------------------------------------------------------------------------------------------------- memory

TEST(AotiContext, BranchesThatAllocateDifferentlyGiveRightResultsInAnyOrder) {
  Model model = steps_model();
  DelegateRunner& runner = model.runner();
  for (const int mode : {0, 0, 1, 0, 2, 1, 3, 0, 3, 2, 0}) ASSERT_TRUE(run_step(model, runner, mode).ok()) << mode;
  EXPECT_FALSE(repeats(runner));
}

TEST(AotiContext, AnyBranchMayBeTheRecordedOne) {
  for (int first = 0; first < 4; ++first) {
    Model model = steps_model();
    DelegateRunner& runner = model.runner();
    for (const int mode : {first, 0, 1, 2, 3, first}) ASSERT_TRUE(run_step(model, runner, mode).ok()) << first << mode;
  }
}

TEST(AotiContext, UnevenBranchesOfARealLibraryAreMarkedAsNotRepeating) {
  const FixtureFolder folder{"cond_uneven"};
  const auto backend = make_aoti_host_backend();
  FixtureMethod method{folder, "forward", *backend};
  const auto& cases = folder.meta().at("methods").at("forward").at("cases");
  for (const auto& entry : cases) {
    for (std::size_t i = 0; i < entry.at("inputs").size(); ++i)
      method.set_input(i, folder.read(entry.at("inputs").at(i)));
    ASSERT_TRUE(method.run().ok());
  }
  EXPECT_FALSE(repeats(method.runner(0)));
}

TEST(AotiContext, MemoryThatTheLibraryKeepsFromItsFirstRunStaysIntact) {
  Model model = steps_model();
  DelegateRunner& runner = model.runner();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run_step(model, runner, 5).ok());
  EXPECT_TRUE(repeats(runner));
}

TEST(AotiContext, AfterTheFirstRunsNothingIsAllocated) {
  Model model = steps_model();
  DelegateRunner& runner = model.runner();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(run_step(model, runner, 0).ok());
  const std::uint64_t before = allocation_count();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(runner.run().ok());
  EXPECT_EQ(allocation_count(), before);
}

TEST(AotiContext, KnownShapesAreBoundWithoutAllocation) {
  Model model{"scaled"};
  model.tensor({8}).value(Argument::Kind::Double).tensor({8});
  model.argument(1).argument.number = 3;
  DelegateRunner& runner = model.runner();
  const std::int64_t small = 2;
  const std::int64_t large = 8;
  std::vector<const Argument*> arguments;
  for (std::size_t i = 0; i < 3; ++i) arguments.push_back(&model.argument(i).argument);
  for (int round = 0; round < 4; ++round) {
    for (const std::int64_t size : {small, large}) {
      model.argument(0).resize({&size, 1});
      std::ranges::fill(model.argument(0).floats(), 1.0F);
      const std::uint64_t before = allocation_count();
      ASSERT_TRUE(runner.context().bind(arguments).ok());
      if (round > 0) {
        EXPECT_EQ(allocation_count(), before);
      }
      ASSERT_TRUE(runner.run().ok());
      EXPECT_THAT(model.argument(2).floats(), Each(3.0F));
      EXPECT_EQ(model.argument(2).floats().size(), static_cast<std::size_t>(size));
    }
  }
}

TEST(AotiContext, OutputsOfAnEarlierContextOutliveTheDelegate) {
  auto model = std::make_unique<Model>(scaled_model());
  auto made = model->prepare();
  ASSERT_TRUE(made.ok());
  auto context = testing::ContextWithMemory::create(**made);
  ASSERT_TRUE(context.ok());
  made->reset();
  std::vector<ArgumentMemory*> arguments{&model->argument(0), &model->argument(1), &model->argument(2)};
  DelegateRunner runner{std::move(*context), arguments, 1};
  ASSERT_TRUE(runner.run().ok());
  EXPECT_THAT(model->argument(2).floats(), ElementsAre(2, 4, 6, 8));
}

// ------------------------------------------------------------------------------------------------------- weights

/// weight 1 2 3 4, count 100, each padded to 64 bytes.
std::vector<float> counter_weights() {
  std::vector<float> blob(32);
  for (std::size_t i = 0; i < 4; ++i) blob[i] = static_cast<float>(i + 1);
  blob[16] = 100;
  return blob;
}

Model counter_model(const char* library = "counter") {
  Model model{library};
  model.tensor({4}).tensor({4}).value(Argument::Kind::Int).weights(counter_weights());
  fill(model.argument(0), {1, 1, 1, 1});
  return model;
}

TEST(AotiWeights, EveryContextHasItsOwnStateAndTheSameParameters) {
  Model model = counter_model();
  DelegateRunner& first = model.runner();
  DelegateRunner& second = model.runner();
  EXPECT_TRUE(model.delegate().capabilities().stateful);
  EXPECT_EQ(model.delegate().capabilities().max_contexts, 0U);
  for (const float count : {100.0F, 110.0F, 120.0F}) {
    ASSERT_TRUE(first.run().ok());
    EXPECT_THAT(model.argument(1).floats(), ElementsAre(count + 1, count + 2, count + 3, count + 4));
  }
  const std::int64_t address = model.argument(2).argument.integer;
  ASSERT_TRUE(second.run().ok());
  EXPECT_EQ(model.argument(1).floats()[0], 101.0F);
  EXPECT_EQ(model.argument(2).argument.integer, address);
}

TEST(AotiWeights, OldLibrariesGetACopyPerContext) {
  Model model = counter_model("counter_old");
  DelegateRunner& first = model.runner();
  DelegateRunner& second = model.runner();
  for (const float count : {101.0F, 111.0F}) {
    ASSERT_TRUE(first.run().ok());
    EXPECT_EQ(model.argument(1).floats()[0], count);
  }
  const std::int64_t address = model.argument(2).argument.integer;
  ASSERT_TRUE(second.run().ok());
  EXPECT_EQ(model.argument(1).floats()[0], 101.0F);
  EXPECT_NE(model.argument(2).argument.integer, address);
}

TEST(AotiWeights, ModelsWithoutConstantsNeedNoBlob) {
  Model model = scaled_model();  // there is none under its key
  ASSERT_TRUE(model.runner().run().ok());
  EXPECT_FALSE(model.delegate().capabilities().stateful);
}

TEST(AotiWeights, MissingBlobIsNamed) {
  Model model{"counter"};
  model.tensor({4}).tensor({4}).value(Argument::Kind::Int);
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.site().key, kWeightsKey);
}

TEST(AotiWeights, BlobOfAnotherLengthIsRefused) {
  for (const std::size_t count : {31, 33, 0}) {
    Model model = counter_model();
    std::vector<float> blob = counter_weights();
    blob.resize(count);
    const Error error = model.weights(blob).refusal();
    EXPECT_EQ(error.code(), ErrorCode::InvalidExternalData);
    EXPECT_EQ(error.expected(), "128 bytes");
    EXPECT_EQ(error.found(), std::to_string(4 * count) + " bytes");
    EXPECT_EQ(error.site().key, kWeightsKey);
  }
}

TEST(AotiBackend, MissingLibraryIsNamed) {
  Model model = scaled_model();
  const Error error = model.payload("no_such_key\nweights").refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.site().key, "no_such_key");
  EXPECT_EQ(error.site().delegate, 3);
}

TEST(AotiBackend, LibraryWhoseBytesDoNotHaveItsDigestIsRefused) {
  Model model = scaled_model();
  const std::string key = model.payload_text().substr(0, model.payload_text().find('\n'));
  auto bytes = library_bytes("scaled");
  bytes[bytes.size() / 2] ^= std::byte{1};
  model.blobs().add(key, std::move(bytes));
  const Error error = model.refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.site().key, key);
}

TEST(AotiBackend, EmptyPayloadGoesByTheMethodsName) {
  Model model{"counter"};
  model.tensor({4}).tensor({4}).value(Argument::Kind::Int).payload("");
  const auto weights = counter_weights();
  const auto bytes = std::as_bytes(std::span{weights});
  model.blobs().add("forward_so_blob", library_bytes("counter"));
  model.blobs().add("forward_weights_blob", {bytes.begin(), bytes.end()});
  fill(model.argument(0), {1, 1, 1, 1});
  ASSERT_TRUE(model.runner().run().ok());
  EXPECT_THAT(model.argument(1).floats(), ElementsAre(101, 102, 103, 104));
}

// ------------------------------------------------------------------------------------------- one entry per constant

template <class T>
void append(std::string& to, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  to.append(raw, sizeof raw);
}
void append_text(std::string& to, std::string_view text) {
  append(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

struct Entry {
  std::string fqn, key;
  std::uint64_t bytes;
  std::int64_t count;
  std::int32_t dtype = 6;
  std::int32_t device = 0;
};

std::string table(const std::string& library, const std::vector<Entry>& entries) {
  std::string payload = "ETCUDAFQN3";
  append_text(payload, library);
  append(payload, static_cast<std::uint32_t>(entries.size()));
  for (const Entry& entry : entries) {
    append_text(payload, entry.fqn);
    append_text(payload, entry.key);
    append(payload, entry.bytes);
    append(payload, entry.dtype);
    append(payload, entry.device);
    append(payload, std::int64_t{0});
    append(payload, std::uint32_t{1});
    append(payload, entry.count);
    append(payload, std::int64_t{1});
  }
  return payload;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span{values});
  return {bytes.begin(), bytes.end()};
}

class ConstantTable : public ::testing::Test {
 protected:
  ConstantTable() {
    model_.blobs().add("w", bytes_of({1, 2, 3, 4}));
    model_.blobs().add("c", bytes_of({100}));
  }
  Model& with(const std::vector<Entry>& entries) {
    return model_.payload(table(model_.payload_text().substr(0, model_.payload_text().find('\n')), entries));
  }
  const Entry weight_{"layer.weight", "w", 16, 4};
  const Entry count_{"count", "c", 4, 1};
  Model model_ = [] {
    Model model{"counter"};
    model.tensor({4}).tensor({4}).value(Argument::Kind::Int);
    fill(model.argument(0), {1, 1, 1, 1});
    return model;
  }();
};

TEST_F(ConstantTable, ParametersAreUsedWhereTheyLieAndBuffersAreCopied) {
  with({count_, weight_});
  DelegateRunner& first = model_.runner();
  DelegateRunner& second = model_.runner();
  for (const float count : {101.0F, 111.0F}) {
    ASSERT_TRUE(first.run().ok());
    EXPECT_EQ(model_.argument(1).floats()[0], count);
  }
  ASSERT_TRUE(second.run().ok());
  EXPECT_EQ(model_.argument(1).floats()[0], 101.0F);
  EXPECT_EQ(model_.argument(2).argument.integer, reinterpret_cast<std::int64_t>(model_.blobs().find("w")->data()));
  EXPECT_EQ(std::memcmp(model_.blobs().find("c")->data(), bytes_of({100}).data(), 4), 0);
}

TEST_F(ConstantTable, MissingEntryIsNamed) {
  const Error error = with({weight_}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.site().key, "count");
}

TEST_F(ConstantTable, MissingStorageIsNamed) {
  Entry entry = count_;
  entry.key = "nowhere";
  const Error error = with({weight_, entry}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_EQ(error.site().key, "nowhere");
}

TEST_F(ConstantTable, StorageOfAnotherLengthIsRefused) {
  Entry entry = count_;
  entry.bytes = 8;
  const Error told = with({weight_, entry}).refusal();
  EXPECT_EQ(told.code(), ErrorCode::InvalidExternalData);
  EXPECT_EQ(told.expected(), "8 bytes");
  EXPECT_EQ(told.found(), "4 bytes");
  EXPECT_EQ(told.site().key, "c");
}

TEST_F(ConstantTable, StorageThatTheLibraryDoesNotWantIsRefused) {
  model_.blobs().add("c", std::vector<std::byte>(128));
  Entry entry = count_;
  entry.bytes = 128;
  const Error error = with({weight_, entry}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidExternalData);
  EXPECT_EQ(error.expected(), "64 bytes");
}

TEST_F(ConstantTable, AnotherDtypeIsRefused) {
  Entry entry = count_;
  entry.dtype = 3;
  const Error error = with({weight_, entry}).refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.expected(), "float32");
  EXPECT_EQ(error.found(), "int32");
}

TEST_F(ConstantTable, ConstantOfAnotherDeviceIsRefused) {
  Entry entry = count_;
  entry.device = 1;
  EXPECT_EQ(with({weight_, entry}).refusal().code(), ErrorCode::IncompatibleDelegate);
}

}  // namespace
}  // namespace tandem::aoti
