#include "backends/custom/custom_backend.h"

#include "device/host/host_device.h"
#include "support/custom_library/library_file.h"
#include "support/custom_library/orders.h"
#include "support/delegate_runner.h"
#include "unit/aoti/allocation_count.h"

#include <tandem/custom.h>
#include <tandem/custom_payload.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tandem::custom {
namespace {

using testing::ArgumentMemory;
using testing::custom_library_bytes;
using testing::custom_library_path;
using testing::DelegateRunner;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using testing::Kernel;
using testing::Log;
using testing::Orders;
using Kind = Argument::Kind;

class Blobs final : public NamedData {
 public:
  void add(const std::string& key, std::vector<std::byte> bytes) { entries_[key] = std::move(bytes); }
  [[nodiscard]] Result<std::span<const std::byte>> find(std::string_view key) const override {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return Error{ErrorCode::NotFound, "no such key"}.with_key(std::string{key});
    return std::span<const std::byte>{found->second};
  }

 private:
  std::map<std::string, std::vector<std::byte>, std::less<>> entries_;
};

/// A GPU's stream as far as delegates can tell: it has a handle.
class HandleStream final : public device::Stream {
 public:
  static void* handle() noexcept { return reinterpret_cast<void*>(std::uintptr_t{0x5EA}); }
  device::StreamId id() const noexcept override { return {{DeviceType::Cuda, 1}, 1}; }
  Status launch_native(Launch enqueue, void* data) override { return enqueue(data, handle()); }
  Status submit(Work /*work*/, void* /*data*/, std::uint32_t /*index*/) override { return {}; }
  Status copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) override { return {}; }
  Status fill(void* /*to*/, std::byte /*value*/, std::size_t /*bytes*/) override { return {}; }
  Status record(device::Event& /*event*/) override { return {}; }
  Status wait(const device::Event& /*event*/) override { return {}; }
  Status synchronize() override { return {}; }
  Result<Event> make_event() override { return Event{}; }
};

Result<Stream> make_handle_stream(DeviceId /*device*/) { return Stream{std::make_unique<HandleStream>()}; }

/// A delegate of one of the libraries in libs/, with arguments of its own: by default y[2,3] of x[2,3].
class CustomBackendTest : public ::testing::Test {
 protected:
  CustomBackendTest() {
    orders.log = &log;
    blobs.add("library", custom_library_bytes("kernels"));
  }

  ArgumentMemory& tensor(std::vector<std::int64_t> sizes, std::vector<std::uint8_t> order = {}) {
    auto& memory = arguments.emplace_back();
    memory.make_tensor(ScalarType::Float, std::move(sizes), std::move(order));
    std::ranges::fill(memory.floats(), -9.0F);
    return memory;
  }
  ArgumentMemory& open(ArgumentMemory& memory) {
    memory.dynamic = true;
    memory.argument.tensor.resizable = true;
    return memory;
  }
  ArgumentMemory& value(Kind kind) {
    auto& memory = arguments.emplace_back();
    memory.argument.kind = kind;
    return memory;
  }
  void use_library(const std::string& name) { blobs.add("library", custom_library_bytes(name)); }

  Result<std::unique_ptr<Delegate>> prepare() {
    specs.clear();
    for (ArgumentMemory& memory : arguments) {
      const bool number = memory.argument.kind == Kind::Int || memory.argument.kind == Kind::Double;
      specs.push_back({memory.argument.kind, memory.argument.tensor.dtype, memory.sizes, memory.dim_order,
                       memory.dynamic, nullptr, 0, number ? &memory.argument : nullptr});
    }
    LoadContext context;
    context.backend_id = "CustomBackend";
    context.method = "forward";
    context.delegate = 3;
    context.device = device;
    context.arguments = specs;
    context.named_data = &blobs;
    context.folder = folder;
    context.options = &options;
    CustomPayload payload = where;
    payload.blob = std::as_bytes(std::span{&orders, 1});
    // Where a file has it, it need not be aligned.
    bytes = *encode_custom_payload(payload);
    bytes.insert(bytes.begin(), std::byte{0});
    return make_custom_backend(make_handle_stream)->prepare(std::span{bytes}.subspan(1), context);
  }
  const Delegate& delegate() {
    if (prepared == nullptr) {
      auto made = prepare();
      EXPECT_TRUE(made.ok()) << made.error().to_string();
      if (made.ok()) prepared = *std::move(made);
    }
    return *prepared;
  }
  std::unique_ptr<DelegateRunner> runner() {
    auto context = delegate().new_context();
    EXPECT_TRUE(context.ok()) << context.error().to_string();
    std::vector<ArgumentMemory*> pointers;
    for (ArgumentMemory& memory : arguments) pointers.push_back(&memory);
    return std::make_unique<DelegateRunner>(*std::move(context), pointers, prepared->output_count());
  }
  /// Why it is not loaded.
  Error refusal() {
    auto made = prepare();
    EXPECT_FALSE(made.ok());
    return made.ok() ? Error{ErrorCode::Internal, "accepted"} : made.error();
  }
  /// Why it does not run.
  Error failure() {
    const Status ran = runner()->run();
    EXPECT_FALSE(ran.ok());
    return ran.ok() ? Error{ErrorCode::Internal, "ran"} : ran.error();
  }

  Log log;
  Orders orders;
  Blobs blobs;
  CustomPayload where{.key = "library"};
  DeviceId device{};
  std::string folder;
  BackendOptions options;
  std::deque<ArgumentMemory> arguments;
  std::vector<std::byte> bytes;
  std::vector<ArgumentSpec> specs;
  std::unique_ptr<Delegate> prepared;
};

// ------------------------------------------------------------------------------------------------------- results

TEST_F(CustomBackendTest, WritesInPlaceAndSeesEachRunsInputs) {
  ArgumentMemory& x = tensor({2, 3});
  ArgumentMemory& y = tensor({2, 3});
  orders.amount = 10;
  const auto run = runner();
  for (int i = 0; i < 3; ++i) {
    std::ranges::fill(x.floats(), static_cast<float>(i));
    ASSERT_TRUE(run->run().ok());
    EXPECT_THAT(y.floats(), Each(static_cast<float>(10 + i)));
    EXPECT_EQ(run->results()[0].kind, OutputResult::Kind::InPlace);
  }
}

TEST_F(CustomBackendTest, TheLeastLibraryIsEnough) {
  use_library("plain");
  std::ranges::fill(tensor({4}).floats(), 1.0F);
  ArgumentMemory& y = tensor({4});
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_THAT(y.floats(), Each(2.0F));
  EXPECT_EQ(delegate().output_count(), 1U);
  EXPECT_THAT(delegate().accesses(2), ElementsAre(AccessMode::Read, AccessMode::Write));
}

TEST_F(CustomBackendTest, PlannedLayoutsArriveAsStrides) {
  ArgumentMemory& x = tensor({2, 3});
  ArgumentMemory& y = tensor({2, 3}, {1, 0});
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6}, x.floats().begin());
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(CustomBackendTest, NumbersOfEveryKindArrive) {
  orders.kernel = Kernel::AddNumber;
  std::ranges::fill(tensor({2}).floats(), 1.0F);
  ArgumentMemory& number = value(Kind::Int);
  ArgumentMemory& y = tensor({2});
  const auto check = [&](Kind kind, float expected) {
    number.argument.kind = kind;
    prepared = nullptr;
    ASSERT_TRUE(runner()->run().ok());
    EXPECT_THAT(y.floats(), Each(expected));
  };
  number.argument.integer = 41;
  check(Kind::Int, 42);
  number.argument.number = 0.5;
  check(Kind::Double, 1.5);
  number.argument.flag = true;
  check(Kind::Bool, 2);
  check(Kind::None, 0);
}

TEST_F(CustomBackendTest, AnOutputThatNobodyUsesIsNone) {
  orders.kernel = Kernel::Swallow;
  tensor({2});
  value(Kind::None);
  EXPECT_TRUE(runner()->run().ok());
  EXPECT_EQ(log.calls, 1);
}

TEST_F(CustomBackendTest, ScratchIsThereAlignedAndAsLargeAsAskedFor) {
  orders.kernel = Kernel::Scratch;
  orders.amount = 1;
  std::ranges::fill(tensor({2, 3}).floats(), 1.0F);
  ArgumentMemory& y = tensor({2, 3});
  const auto run = runner();
  ASSERT_TRUE(run->run().ok());
  EXPECT_THAT(y.floats(), Each(2.0F));
  EXPECT_GE(run->scratch_bytes(), 6 * sizeof(float));
}

TEST_F(CustomBackendTest, TheBlobIsAlignedWhereverTheFileHasIt) {
  tensor({1});
  tensor({1});
  delegate();
  EXPECT_TRUE(log.blob_is_aligned);
}

TEST_F(CustomBackendTest, RunsAllocateNothing) {
  orders.kernel = Kernel::Rows;
  ArgumentMemory& x = tensor({4, 3});
  ArgumentMemory& rows = value(Kind::Int);
  ArgumentMemory& y = open(tensor({4, 3}));
  rows.argument.integer = 4;
  const auto context = delegate().new_context();
  ASSERT_TRUE(context.ok());
  std::vector<Argument*> pointers{&x.argument, &rows.argument, &y.argument};
  std::vector<OutputResult> results(1);
  EnqueueArgs args{StreamRef{device::HostDevice::instance().thread_stream()}};
  args.arguments = pointers;
  args.outputs = results;
  ASSERT_TRUE((*context)->bind({pointers.data(), pointers.size()}).ok());
  const std::uint64_t before = aoti::allocation_count();
  bool all_ran = true;
  for (std::int64_t run = 0; run < 10; ++run) {
    rows.argument.integer = 1 + run % 4;
    all_ran = (*context)->enqueue(args).ok() && all_ran;
  }
  EXPECT_EQ(aoti::allocation_count(), before);
  EXPECT_TRUE(all_ran);
  EXPECT_EQ(log.calls, 10);
}

// --------------------------------------------------------------------------------------------------------- shapes

TEST_F(CustomBackendTest, OpenSizesFollowTheInputs) {
  ArgumentMemory& x = open(tensor({4, 3}));
  ArgumentMemory& y = open(tensor({4, 3}));
  const auto run = runner();
  for (const std::int64_t rows : {2, 4, 1}) {
    x.resize(std::vector<std::int64_t>{rows, 3});
    ASSERT_TRUE(run->run().ok());
    EXPECT_THAT(y.sizes, ElementsAre(rows, 3));
  }
  EXPECT_EQ(log.shapes, 3);
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(log.shapes, 3);  // nothing has changed
}

TEST_F(CustomBackendTest, OpenSizesFollowNumbersThatChangeBetweenRuns) {
  orders.kernel = Kernel::Rows;
  tensor({4, 3});
  ArgumentMemory& rows = value(Kind::Int);
  ArgumentMemory& y = open(tensor({4, 3}));
  const auto run = runner();
  for (const std::int64_t count : {3, 1, 4}) {
    rows.argument.integer = count;
    ASSERT_TRUE(run->run().ok());
    EXPECT_THAT(y.sizes, ElementsAre(count, 3));
  }
}

TEST_F(CustomBackendTest, AFixedSizeIsTheLibrarysToLeaveAlone) {
  orders.fault = Fault::ShapesUntouched;
  tensor({2});
  tensor({2});
  EXPECT_TRUE(runner()->run().ok());
}

TEST_F(CustomBackendTest, AnOutputWithoutElementsIsFine) {
  ArgumentMemory& x = open(tensor({4, 3}));
  ArgumentMemory& y = open(tensor({4, 3}));
  x.resize(std::vector<std::int64_t>{0, 3});
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_THAT(y.sizes, ElementsAre(0, 3));
}

TEST_F(CustomBackendTest, SizesWithoutRoomAreRefusedBeforeTheCall) {
  orders.fault = Fault::ShapesTooLarge;
  tensor({4, 3});
  open(tensor({4, 3}));
  const Error error = failure();
  EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
  EXPECT_EQ(error.site().argument, 1);
  EXPECT_EQ(error.expected(), "at most 48 bytes");
  EXPECT_EQ(error.found(), "float32[1000, 3]");
  EXPECT_EQ(log.calls, 0);
}

TEST_F(CustomBackendTest, OtherSizesThanTheProgramFixesAreRefusedBeforeTheCall) {
  orders.fault = Fault::ShapesTooLarge;
  tensor({4, 3});
  tensor({4, 3});
  const Error error = failure();
  EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
  EXPECT_EQ(error.site().argument, 1);
  EXPECT_EQ(error.expected(), "[4, 3]");
  EXPECT_EQ(error.found(), "[1000, 3]");
  EXPECT_EQ(log.calls, 0);
}

TEST_F(CustomBackendTest, SizesThatAreLeftOpenOrNegativeAreRefused) {
  tensor({4, 3});
  open(tensor({4, 3}));
  for (const Fault fault : {Fault::ShapesUntouched, Fault::ShapesNegative}) {
    orders.fault = fault;
    prepared = nullptr;
    EXPECT_EQ(failure().code(), ErrorCode::BackendFailed);
  }
  EXPECT_EQ(log.calls, 0);
}

TEST_F(CustomBackendTest, OpenSizesNeedAShapeFunction) {
  use_library("plain");
  open(tensor({4}));
  open(tensor({4}));
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.site().argument, 1);
}

// ------------------------------------------------------------------------------------------------------- accesses

TEST_F(CustomBackendTest, AccessesAreTheLibrarys) {
  orders.kernel = Kernel::Update;
  orders.output_count = 2;
  orders.accesses = {TANDEM_CUSTOM_DEFAULT, TANDEM_CUSTOM_UPDATE, TANDEM_CUSTOM_UNTOUCHED,
                     TANDEM_CUSTOM_WRITE,   TANDEM_CUSTOM_UPDATE, TANDEM_CUSTOM_DEFAULT};
  for (int i = 0; i < 6; ++i) tensor({2});
  EXPECT_EQ(delegate().output_count(), 2U);
  using enum AccessMode;
  EXPECT_THAT(delegate().accesses(6), ElementsAre(Read, Update, None, Write, Update, Write));
}

TEST_F(CustomBackendTest, AnOutputThatIsNotWrittenIsRefused) {
  tensor({2});
  tensor({2});
  for (const std::uint8_t access : {TANDEM_CUSTOM_READ, TANDEM_CUSTOM_UNTOUCHED}) {
    orders.accesses[1] = access;
    const Error error = refusal();
    EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
    EXPECT_EQ(error.site().argument, 1);
    EXPECT_EQ(error.expected(), "write or update");
  }
}

TEST_F(CustomBackendTest, AnUnknownAccessIsRefused) {
  tensor({2});
  tensor({2});
  orders.accesses[0] = 5;
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.site().argument, 0);
  EXPECT_EQ(error.found(), "5");
}

TEST_F(CustomBackendTest, MoreOutputsThanArgumentsAreRefused) {
  tensor({2});
  tensor({2});
  orders.output_count = 3;
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(error.expected(), "at least 3");
  EXPECT_EQ(error.found(), "2");
  EXPECT_EQ(log.destroyed, 1);  // it had been created
}

TEST_F(CustomBackendTest, OutputsThatAreNumbersAreRefused) {
  tensor({2});
  value(Kind::Int);
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::InvalidType);
  EXPECT_EQ(error.site().argument, 1);
}

TEST_F(CustomBackendTest, TextsAndListsAreRefused) {
  tensor({2});
  value(Kind::String);
  tensor({2});
  EXPECT_EQ(refusal().code(), ErrorCode::InvalidType);
  EXPECT_EQ(refusal().site().argument, 1);
  arguments[1].argument.kind = Kind::TensorList;
  EXPECT_EQ(refusal().code(), ErrorCode::InvalidType);
}

TEST_F(CustomBackendTest, AStateThatDeclaresOtherwiseThanTheFirstIsRefused) {
  tensor({2});
  tensor({2});
  orders.fault = Fault::SecondDiffers;
  const auto first = runner();
  const auto second = delegate().new_context();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::BackendFailed);
}

TEST_F(CustomBackendTest, ACallWithOtherArgumentsThanAtLoadIsRefused) {
  tensor({2});
  ArgumentMemory& y = tensor({2});
  const auto run = runner();
  ArgumentMemory other;
  other.make_tensor(ScalarType::Int, {2});
  const std::vector<const Argument*> types{&other.argument, &y.argument};
  const auto by_type = run->context().bind(types);
  ASSERT_FALSE(by_type.ok());
  EXPECT_EQ(by_type.error().code(), ErrorCode::InvalidType);
  EXPECT_EQ(by_type.error().site().argument, 0);
  EXPECT_EQ(by_type.error().expected(), "float32 of rank 1");
  EXPECT_EQ(by_type.error().found(), "int32 of rank 1");
  const std::vector<const Argument*> counts{&y.argument};
  const auto by_count = run->context().bind(counts);
  ASSERT_FALSE(by_count.ok());
  EXPECT_EQ(by_count.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(by_count.error().found(), "1");
  std::vector<Argument*> few{&y.argument};
  std::vector<OutputResult> results(1);
  EnqueueArgs args{StreamRef{device::HostDevice::instance().thread_stream()}};
  args.arguments = few;
  args.outputs = results;
  EXPECT_EQ(run->context().enqueue(args).error().code(), ErrorCode::InvalidArgument);
}

// --------------------------------------------------------------------------------------------------------- states

TEST_F(CustomBackendTest, EveryContextHasAStateOfItsOwn) {
  orders.kernel = Kernel::Count;
  tensor({1});
  ArgumentMemory& y = tensor({1});
  auto first = runner();
  auto second = runner();
  EXPECT_EQ(log.created, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(first->run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(3));
  ASSERT_TRUE(second->run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(1));
  first = nullptr;
  EXPECT_EQ(log.destroyed, 1);
  second = nullptr;
  EXPECT_EQ(log.destroyed, 2);
}

TEST_F(CustomBackendTest, AStateThatNobodyTookIsDestroyedToo) {
  tensor({1});
  tensor({1});
  delegate();
  prepared = nullptr;
  EXPECT_EQ(log.created, 1);
  EXPECT_EQ(log.destroyed, 1);
}

TEST_F(CustomBackendTest, TwoInstancesRunAtTheSameTime) {
  constexpr int kRuns = 200;
  orders.kernel = Kernel::Count;
  tensor({1});
  tensor({1});
  const Delegate& shared = delegate();
  std::vector<float> last(2);
  std::vector<std::thread> threads;
  for (float& count : last) {
    threads.emplace_back([&shared, &count] {
      ArgumentMemory x;
      ArgumentMemory y;
      x.make_tensor(ScalarType::Float, {1});
      y.make_tensor(ScalarType::Float, {1});
      auto context = shared.new_context();
      if (!context.ok()) return;
      DelegateRunner run{*std::move(context), {&x, &y}, 1};
      for (int i = 0; i < kRuns; ++i) {
        if (!run.run().ok()) return;
      }
      count = y.floats()[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(last, Each(static_cast<float>(kRuns)));
}

// -------------------------------------------------------------------------------------------------------- failures

TEST_F(CustomBackendTest, AFailedCreateKeepsItsCodeAndText) {
  tensor({1});
  tensor({1});
  orders.fault = Fault::CreateFails;
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::BackendFailed);
  EXPECT_EQ(error.native().origin, Origin::Custom);
  EXPECT_EQ(error.native().code, -3);
  EXPECT_EQ(error.native().text, "no licence");
  EXPECT_EQ(log.destroyed, 0);
}

TEST_F(CustomBackendTest, AFailedCallKeepsItsCodeAndTextAndTheNextOneIsAskedAgain) {
  tensor({1});
  tensor({1});
  orders.fault = Fault::EnqueueFails;
  const auto run = runner();
  for (int i = 1; i <= 2; ++i) {
    const Status status = run->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::BackendFailed);
    EXPECT_EQ(status.error().native().code, 77);
    EXPECT_EQ(status.error().native().text, "too hot");
    EXPECT_EQ(log.calls, i);
  }
}

TEST_F(CustomBackendTest, AFailedShapeFunctionKeepsItsCodeAndText) {
  tensor({1});
  tensor({1});
  orders.fault = Fault::ShapesFail;
  const Error error = failure();
  EXPECT_EQ(error.native().code, 4);
  EXPECT_EQ(error.native().text, "no shape fits");
  EXPECT_THAT(error.message(), HasSubstr("shapes"));
}

TEST_F(CustomBackendTest, ExceptionsDoNotLeaveTheLibrary) {
  tensor({1});
  tensor({1});
  orders.fault = Fault::CreateThrows;
  EXPECT_EQ(refusal().code(), ErrorCode::BackendFailed);
  EXPECT_THAT(refusal().message(), HasSubstr("create throws"));
  orders.fault = Fault::EnqueueThrows;
  EXPECT_THAT(failure().message(), HasSubstr("enqueue throws"));
  orders.fault = Fault::ScratchThrows;
  prepared = nullptr;
  EXPECT_EQ(failure().code(), ErrorCode::BackendFailed);
}

TEST_F(CustomBackendTest, ATextWithoutAnEndIsCutOff) {
  tensor({1});
  tensor({1});
  orders.fault = Fault::LongText;
  EXPECT_EQ(failure().native().text, std::string(511, 'x'));
}

// ------------------------------------------------------------------------------------------------- where it is from

TEST_F(CustomBackendTest, AMissingKeyIsNamed) {
  tensor({1});
  tensor({1});
  where = {.key = "elsewhere"};
  EXPECT_EQ(refusal().code(), ErrorCode::NotFound);
  EXPECT_EQ(refusal().site().key, "elsewhere");
}

TEST_F(CustomBackendTest, AMalformedPayloadIsRefused) {
  const std::string text = "TCU1 and nothing else";
  const auto made = make_custom_backend()->prepare(std::as_bytes(std::span{text}), {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::InvalidProgram);
}

TEST_F(CustomBackendTest, NamedDataIsNeededForAKey) {
  const auto payload = *encode_custom_payload({.key = "library"});
  const auto made = make_custom_backend()->prepare(payload, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::InvalidArgument);
}

TEST_F(CustomBackendTest, TheLibraryMayBeInThePayload) {
  const auto library = custom_library_bytes("kernels");
  where = {.library = library};
  std::ranges::fill(tensor({1}).floats(), 1.0F);
  ArgumentMemory& y = tensor({1});
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(1));
}

TEST_F(CustomBackendTest, PathsStartAtTheProgramsFolder) {
  tensor({1});
  tensor({1});
  where = {.path = "custom_libraries/../custom_libraries/kernels.so"};
  folder = std::filesystem::path{TANDEM_CUSTOM_LIBRARIES}.parent_path();
  EXPECT_TRUE(runner()->run().ok());
}

TEST_F(CustomBackendTest, PathsStartAtTheOptionsFolderIfThereIsOne) {
  tensor({1});
  tensor({1});
  where = {.path = "kernels.so"};
  folder = "/nowhere";
  options.set_option("library_folder", TANDEM_CUSTOM_LIBRARIES);
  EXPECT_TRUE(runner()->run().ok());
  options.set_option("library_folder", true);
  EXPECT_EQ(refusal().code(), ErrorCode::InvalidType);
}

TEST_F(CustomBackendTest, AbsolutePathsNeedNoFolder) {
  tensor({1});
  tensor({1});
  const std::string path = custom_library_path("kernels");
  where = {.path = path};
  EXPECT_TRUE(runner()->run().ok());
}

TEST_F(CustomBackendTest, ARelativePathOfAProgramInMemoryIsRefused) {
  tensor({1});
  tensor({1});
  where = {.path = "kernels.so"};
  EXPECT_EQ(refusal().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal().site().file, "kernels.so");
}

TEST_F(CustomBackendTest, AMissingFileIsNamedWithItsWholePath) {
  tensor({1});
  tensor({1});
  where = {.path = "kernels.so"};
  folder = "/nowhere";
  EXPECT_EQ(refusal().code(), ErrorCode::NotFound);
  EXPECT_EQ(refusal().site().file, "/nowhere/kernels.so");
}

// --------------------------------------------------------------------------------------------------------- devices

TEST_F(CustomBackendTest, OnTheHostThereIsNoStream) {
  tensor({1});
  tensor({1});
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_EQ(log.stream, nullptr);
  EXPECT_EQ(log.device_type, TANDEM_CUSTOM_HOST);
  EXPECT_TRUE(delegate().capabilities().runs_on_host);
}

TEST_F(CustomBackendTest, OnAGpuTheCallGetsTheHandleOfTheRunsStream) {
  use_library("gpu_only");
  device = {DeviceType::Cuda, 1};
  ArgumentMemory& x = tensor({1});
  ArgumentMemory& y = tensor({1});
  const DelegateCapabilities capabilities = delegate().capabilities();
  EXPECT_FALSE(capabilities.runs_on_host);
  EXPECT_TRUE(capabilities.capturable);
  EXPECT_FALSE(capabilities.stateful);
  EXPECT_EQ(log.stream, HandleStream::handle());  // of create()
  log.stream = nullptr;
  const auto context = delegate().new_context();
  ASSERT_TRUE(context.ok());
  HandleStream stream;
  std::vector<Argument*> pointers{&x.argument, &y.argument};
  std::vector<OutputResult> results(1);
  EnqueueArgs args{StreamRef{stream}};
  args.arguments = pointers;
  args.outputs = results;
  ASSERT_TRUE((*context)->bind(std::vector<const Argument*>{&x.argument, &y.argument}).ok());
  ASSERT_TRUE((*context)->enqueue(args).ok());
  EXPECT_EQ(log.stream, HandleStream::handle());
  EXPECT_EQ(log.device_type, TANDEM_CUSTOM_CUDA);
}

TEST_F(CustomBackendTest, ALibraryForAGpuIsRefusedOnTheHost) {
  use_library("gpu_only");
  tensor({1});
  tensor({1});
  const Error error = refusal();
  EXPECT_EQ(error.code(), ErrorCode::NotSupported);
  EXPECT_EQ(error.expected(), "cuda");
  EXPECT_EQ(error.found(), "host");
}

TEST_F(CustomBackendTest, ALibraryForTheHostRunsThereInAMethodOnAGpu) {
  device = {DeviceType::Cuda, 1};
  std::ranges::fill(tensor({1}).floats(), 1.0F);
  ArgumentMemory& y = tensor({1});
  EXPECT_TRUE(delegate().capabilities().runs_on_host);
  ASSERT_TRUE(runner()->run().ok());
  EXPECT_THAT(y.floats(), ElementsAre(1));
  EXPECT_EQ(log.device_type, TANDEM_CUSTOM_HOST);
}

TEST_F(CustomBackendTest, ALibraryForBothTakesTheMethodsDevice) {
  use_library("both");
  tensor({1});
  tensor({1});
  EXPECT_TRUE(delegate().capabilities().runs_on_host);
  EXPECT_TRUE(delegate().capabilities().stateful);
  prepared = nullptr;
  device = {DeviceType::Cuda, 0};
  EXPECT_FALSE(delegate().capabilities().runs_on_host);
}

}  // namespace
}  // namespace tandem::custom
