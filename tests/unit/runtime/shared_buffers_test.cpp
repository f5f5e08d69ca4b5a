#include "support/buffer_backend.h"
#include "support/simulated_gpu.h"
#include "support/test_method.h"

#include "device/host/host_device.h"

#include <tandem/shared_buffers.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::BufferBackend;
using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::MethodBuilder;
using testing::TestMethod;
using testing::to_floats;

TEST(SharedBuffersTest, ParsesWhatTheCommandTakes) {
  EXPECT_TRUE(SharedBuffers::parse("all")->has("x"));
  EXPECT_FALSE(SharedBuffers::parse("none")->has("x"));
  EXPECT_TRUE(SharedBuffers::parse("none")->is_decided());
  const auto named = SharedBuffers::parse("k_cache,v.cache");
  EXPECT_TRUE(named->has("k_cache"));
  EXPECT_TRUE(named->has("v.cache"));
  EXPECT_FALSE(named->has("cache"));
  for (const char* wrong : {"", ",", "a,", ",a", "a,,b"}) {
    const auto parsed = SharedBuffers::parse(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().code(), ErrorCode::InvalidArgument);
  }
  EXPECT_FALSE(SharedBuffers{}.is_decided());
  EXPECT_FALSE(SharedBuffers::all().has(""));
}

/// Methods over a device, whose delegates keep buffers. A delegate's work is done when it is enqueued: on the device
/// that takes a synchronised stream, which execute() makes.
class SharedBuffersOn : public ::testing::TestWithParam<bool> {
 protected:
  using Storage = BufferBackend::Storage;

  device::Device& device() {
    if (GetParam()) return gpu_;
    return device::HostDevice::instance();
  }

  /// A method `name` of one delegate call for each of `delegates`: out = sum of all floats of its buffers; then adds
  /// `step` and the input to the first float of each.
  struct Program {
    MethodBuilder b{};
    std::unique_ptr<TestMethod> method{};
    std::string name{};
  };
  Program& make(const std::string& name, std::vector<Storage> storages, float step, int delegates = 1,
                const std::function<void(BufferBackend&)>& edit = {}) {
    Program& program = *programs_.emplace_back(std::make_unique<Program>());
    program.name = name;
    MethodBuilder& b = program.b;
    b.method().name = program.name;
    for (Storage& storage : storages) storage.on_host = !GetParam();
    const bool on_gpu = GetParam();
    const auto call = [step, on_gpu, count = storages.size(), lengths = lengths_of(storages)](
                          EnqueueArgs& args, std::span<std::byte* const> memory) -> Status {
      std::vector<float*> buffers;
      for (std::byte* one : memory) buffers.push_back(reinterpret_cast<float*>(one));
      const auto* in = static_cast<const float*>(args.arguments[0]->tensor.data);
      auto* out = static_cast<float*>(args.arguments[1]->tensor.data);
      args.outputs[0] = {};
      const std::function<void()> work = [=] {
        float sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t k = 0; k < lengths[i]; ++k) sum += buffers[i][k];
          if (step != 0) buffers[i][0] += step * *in;
        }
        *out = sum;
      };
      if (!on_gpu) {
        work();
        return {};
      }
      return args.recorder != nullptr ? args.recorder->kernel({.function = const_cast<std::function<void()>*>(&work)})
                                      : testing::SimulatedGpu::launch(args.stream, work);
    };
    const auto x = b.tensor({1});
    std::vector<std::int32_t> outputs;
    for (int d = 0; d < delegates; ++d) {
      const std::string id = "Buffers" + std::to_string(d);
      auto backend = std::make_shared<BufferBackend>(1, storages, call, !GetParam());
      if (edit) edit(*backend);
      EXPECT_TRUE(b.backends.register_backend(id, backend).ok());
      outputs.push_back(b.tensor({1}));
      b.delegate(id, {x, outputs.back()});
    }
    b.inputs({x}).outputs(outputs);
    return program;
  }
  static std::vector<std::size_t> lengths_of(const std::vector<Storage>& storages) {
    std::vector<std::size_t> lengths;
    for (const Storage& storage : storages) lengths.push_back(storage.initial.size());
    return lengths;
  }

  Status load(Program& program, const SharedBuffers& rule = {}) {
    MethodOptions options;
    options.device = device().id();
    options.states = states_;
    options.shared_buffers = rule;
    program.method = std::make_unique<TestMethod>(program.b, device(), options);
    return program.method->loaded();
  }
  static Result<std::vector<Value>> run(Program& program, float x) {
    return program.method->execute({floats({1}, {x})});
  }
  static float value(Program& program, float x, std::size_t output = 0) {
    auto outputs = run(program, x);
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs.ok() ? to_floats((*outputs)[output])[0] : -1;
  }

  testing::SimulatedGpu gpu_{1};
  std::shared_ptr<runtime::StateStore> states_ = std::make_shared<runtime::StateStore>();
  std::vector<std::unique_ptr<Program>> programs_{};
};

TEST_P(SharedBuffersOn, BuffersOfEqualInitialContentsAreTwo) {
  Program& put = make("put", {{{"k"}, {0, 0}}, {{"v"}, {0, 0}}}, 1);
  ASSERT_TRUE(load(put).ok());
  EXPECT_EQ(value(put, 5), 0);
  EXPECT_EQ(value(put, 1), 10) << "5 in each of the two";
  EXPECT_EQ(value(put, 0), 12);
}

TEST_P(SharedBuffersOn, AllMakesEqualNamesOneBuffer) {
  Program& put = make("put", {{{"cache"}, {1, 2}}}, 1);
  Program& get = make("get", {{{"cache"}, {1, 2}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  ASSERT_TRUE(load(get, SharedBuffers::all()).ok());
  EXPECT_EQ(value(put, 10), 3);
  EXPECT_EQ(value(get, 0), 13);
  EXPECT_EQ(value(put, 1), 13);
  EXPECT_EQ(value(get, 0), 14);
  ASSERT_TRUE(get.method->state()->reset().ok());
  EXPECT_EQ(value(put, 0), 3) << "one buffer, one reset";
}

TEST_P(SharedBuffersOn, NamesAreSharedAndOthersAreNot) {
  Program& put = make("put", {{{"a"}, {0}}, {{"b"}, {0}}}, 1);
  Program& get = make("get", {{{"a"}, {0}}, {{"b"}, {0}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::named({"b"})).ok());
  ASSERT_TRUE(load(get, SharedBuffers::named({"b"})).ok());
  EXPECT_EQ(value(put, 4), 0);
  EXPECT_EQ(value(get, 0), 4);
}

TEST_P(SharedBuffersOn, NoneGivesEachItsOwn) {
  Program& put = make("put", {{{"cache"}, {1}}}, 1);
  Program& get = make("get", {{{"cache"}, {1}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::none()).ok());
  ASSERT_TRUE(load(get, SharedBuffers::none()).ok());
  EXPECT_EQ(value(put, 10), 1);
  EXPECT_EQ(value(get, 0), 1);
}

TEST_P(SharedBuffersOn, TheBackendsOptionIsAll) {
  const auto told = [](BufferBackend& backend) { backend.share_buffers(); };
  Program& put = make("put", {{{"cache"}, {1}}}, 1, 1, told);
  Program& get = make("get", {{{"cache"}, {1}}}, 0, 1, told);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  EXPECT_EQ(value(put, 10), 1);
  EXPECT_EQ(value(get, 0), 11);
}

TEST_P(SharedBuffersOn, UndecidedReadOnlyBuffersRun) {
  Program& encode = make("encode", {{{"table"}, {1, 2}}}, 0);
  Program& decode = make("decode", {{{"table"}, {1, 2}}}, 0);
  ASSERT_TRUE(load(encode).ok());
  ASSERT_TRUE(load(decode).ok());
  EXPECT_THAT(states_->undecided(), ElementsAre("table"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(value(encode, 1), 3);
    EXPECT_EQ(value(decode, 1), 3);
  }
}

TEST_P(SharedBuffersOn, AChangeThatAnotherMethodWouldMissIsRefused) {
  Program& put = make("put", {{{"cache"}, {1}}}, 1);
  Program& get = make("get", {{{"cache"}, {1}}}, 0);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  EXPECT_EQ(value(get, 0), 1) << "nothing has changed yet";
  EXPECT_EQ(value(put, 10), 1);
  EXPECT_EQ(value(put, 10), 11) << "the method's own changes are its own";
  const auto refused = run(get, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(refused.error().site().key, "cache");
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr("get:cache"), HasSubstr("put:cache"),
                                                 HasSubstr("shared_buffers"), HasSubstr("all, none")));
  EXPECT_EQ(value(put, 0), 21) << "the other one goes on";
  ASSERT_TRUE(put.method->state()->reset().ok());
  EXPECT_EQ(value(get, 0), 1);
}

TEST_P(SharedBuffersOn, AMethodThatIsLoadedAfterTheChangeIsRefused) {
  Program& put = make("put", {{{"cache"}, {1}}}, 1);
  ASSERT_TRUE(load(put).ok());
  EXPECT_EQ(value(put, 10), 1);
  Program& get = make("get", {{{"cache"}, {1}}}, 0);
  ASSERT_TRUE(load(get).ok());
  EXPECT_FALSE(run(get, 0).ok());
}

TEST_P(SharedBuffersOn, AnAsynchronousExecutionIsRefusedAsWell) {
  Program& put = make("put", {{{"cache"}, {1}}}, 1);
  Program& get = make("get", {{{"cache"}, {1}}}, 0);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  EXPECT_EQ(value(put, 10), 1);
  const auto started = get.method->execute_async({floats({1}, {0})});
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code(), ErrorCode::InvalidState);
}

TEST_P(SharedBuffersOn, UnnamedBuffersArePrivate) {
  Program& put = make("put", {{{""}, {1}}}, 1);
  Program& get = make("get", {{{""}, {1}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  ASSERT_TRUE(load(get, SharedBuffers::all()).ok());
  EXPECT_EQ(value(put, 10), 1);
  EXPECT_EQ(value(get, 0), 1);
}

TEST_P(SharedBuffersOn, TiedNamesStayOneStorage) {
  Program& put = make("put", {{{"a", "b"}, {1}}}, 1);
  Program& get = make("get", {{{"b", "a"}, {1}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  ASSERT_TRUE(load(get, SharedBuffers::all()).ok());
  EXPECT_EQ(value(put, 10), 1);
  EXPECT_EQ(value(get, 0), 11);
}

TEST_P(SharedBuffersOn, NamesThatAreTiedInOneMethodOnlyAreRefused) {
  Program& put = make("put", {{{"a"}, {1}}, {{"b"}, {1}}}, 1);
  Program& get = make("get", {{{"a", "b"}, {1}}}, 0);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  const Status loaded = load(get, SharedBuffers::all());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::InvalidProgram);
  EXPECT_THAT(loaded.error().to_string(), AllOf(HasSubstr("put:b"), HasSubstr("get:a,b")));
}

struct Difference {
  const char* text;
  std::function<void(MutableBuffer&)> make;
};

TEST_P(SharedBuffersOn, SharedBuffersAgree) {
  static const std::vector<float> other{9, 2};
  static const std::vector<float> longer{1, 2, 0};
  const Difference differences[] = {
      {"dtypes", [](MutableBuffer& b) { b.tensors[0].dtype = ScalarType::Int; }},
      {"dtypes, sizes or strides",
       [](MutableBuffer& b) {
         b.tensors[0].sizes = {1, 2};
         b.tensors[0].strides = {2, 1};
       }},
      {"strides", [](MutableBuffer& b) { b.tensors[0].strides = {2}; }},
      {"strides", [](MutableBuffer& b) { b.tensors[0].offset = 1; }},
      {"two sizes", [](MutableBuffer& b) { b.initial = std::as_bytes(std::span{longer}); }},
      {"initial contents", [](MutableBuffer& b) { b.initial = std::as_bytes(std::span{other}); }},
  };
  Program& put = make("put", {{{"cache"}, {1, 2}}}, 1);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  for (const Difference& difference : differences) {
    Program& get =
        make("get", {{{"cache"}, {1, 2}}}, 0, 1, [&](BufferBackend& backend) { difference.make(backend.buffer(0)); });
    const Status loaded = load(get, SharedBuffers::all());
    ASSERT_FALSE(loaded.ok()) << difference.text;
    EXPECT_EQ(loaded.error().code(), ErrorCode::InvalidProgram);
    EXPECT_EQ(loaded.error().site().key, "cache");
    EXPECT_THAT(loaded.error().to_string(),
                AllOf(HasSubstr(difference.text), HasSubstr("put:cache"), HasSubstr("get:cache")));
    EXPECT_TRUE(load(get).ok()) << "apart, they may differ";
  }
}

TEST_P(SharedBuffersOn, TwoDelegatesOfOneMethodShareByTheSameRule) {
  Program& both = make("forward", {{{"cache"}, {1}}}, 1, 2);
  ASSERT_TRUE(load(both, SharedBuffers::all()).ok());
  EXPECT_EQ(value(both, 10, 0), 1);
  EXPECT_EQ(value(both, 0, 1), 21) << "10 of each delegate";
}

TEST_P(SharedBuffersOn, UndecidedTwoDelegatesOfOneMethodHaveTheirOwn) {
  Program& both = make("forward", {{{"cache"}, {1}}}, 1, 2);
  ASSERT_TRUE(load(both).ok());
  EXPECT_TRUE(states_->undecided().empty());
  EXPECT_EQ(value(both, 10, 0), 1);
  EXPECT_EQ(value(both, 0, 1), 11) << "10 of its own";
}

TEST_P(SharedBuffersOn, AMethodThatWritesAndIsDroppedLeavesItsSharedBuffer) {
  Program& put = make("put", {{{"cache"}, {1}}}, 1);
  ASSERT_TRUE(load(put, SharedBuffers::all()).ok());
  EXPECT_EQ(value(put, 10), 1);
  put.method.reset();
  Program& get = make("get", {{{"cache"}, {1}}}, 0);
  ASSERT_TRUE(load(get, SharedBuffers::all()).ok());
  EXPECT_EQ(value(get, 0), 11);
}

/// A method over a buffer that the program plans in the arena that methods share.
class SharedArenaOn : public SharedBuffersOn {
 protected:
  /// `write`: cache = x, out = 2x; else out = cache + x.
  Program& plan(const std::string& name, bool write, bool in_delegate, const std::vector<float>& initial = {}) {
    Program& program = *programs_.emplace_back(std::make_unique<Program>());
    program.name = name;
    MethodBuilder& b = program.b;
    b.method().name = program.name;
    const auto x = b.tensor({1});
    const auto y = b.tensor({1});
    const auto cache = initial.empty() ? b.tensor({1}, 0, false, ScalarType::Float, runtime::kSharedArena)
                                       : b.state({1}, 0, initial, runtime::kSharedArena);
    b.inputs({x}).outputs({y});
    const auto no = b.flag(false);
    const auto one = b.number(1);
    if (!write) {
      b.kernel("aten::add.out", {cache, x, one, y, y});
      return program;
    }
    if (!in_delegate) {
      b.kernel("aten::add.out", {x, x, one, y, y}).kernel("aten::copy_", {cache, x, no, cache});
      return program;
    }
    const bool on_gpu = GetParam();
    const auto call = [on_gpu](EnqueueArgs& args, std::span<std::byte* const>) -> Status {
      const auto* in = static_cast<const float*>(args.arguments[0]->tensor.data);
      auto* out = static_cast<float*>(args.arguments[1]->tensor.data);
      auto* kept = static_cast<float*>(args.arguments[2]->tensor.data);
      args.outputs[0] = {};
      args.outputs[1] = {};
      const std::function<void()> work = [=] {
        *out = 2 * *in;
        *kept = *in;
      };
      if (!on_gpu) {
        work();
        return {};
      }
      return args.recorder != nullptr ? args.recorder->kernel({.function = const_cast<std::function<void()>*>(&work)})
                                      : testing::SimulatedGpu::launch(args.stream, work);
    };
    EXPECT_TRUE(b.backends
                    .register_backend("Put", std::make_shared<BufferBackend>(
                                                 2, std::vector<Storage>{{{""}, {0}, false}}, call, !on_gpu))
                    .ok());
    b.delegate("Put", {x, y, cache});
    return program;
  }
};

TEST_P(SharedArenaOn, AMethodThatOnlyWritesASharedBufferKeepsTheWrite) {
  Program& put = plan("put", true, false);
  Program& get = plan("get", false, false);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  EXPECT_EQ(value(put, 7), 14);
  EXPECT_EQ(value(get, 1), 8);
}

TEST_P(SharedArenaOn, WhereTheStepsRunDoesNotMatter) {
  Program& put = plan("put", true, true);
  Program& get = plan("get", false, false);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  for (const float x : {7.0F, 3.0F, 4.0F}) {
    EXPECT_EQ(value(put, x), 2 * x);
    EXPECT_EQ(value(get, 1), x + 1);
  }
}

TEST_P(SharedArenaOn, MethodsThatAreLoadedApartAreRefused) {
  states_ = std::make_shared<runtime::StateStore>(/*shares=*/false);
  Program& put = plan("put", true, false);
  Program& get = plan("get", false, false);
  ASSERT_TRUE(load(put).ok());
  ASSERT_TRUE(load(get).ok());
  EXPECT_EQ(value(get, 1), 1);
  EXPECT_EQ(value(put, 7), 14);
  const auto refused = run(get, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Load both by one Module"));
}

TEST_P(SharedArenaOn, InitialContentsAgree) {
  Program& put = plan("put", true, false, {5});
  Program& get = plan("get", false, false, {6});
  ASSERT_TRUE(load(put).ok());
  const Status loaded = load(get);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::InvalidProgram);
  EXPECT_THAT(loaded.error().to_string(), AllOf(HasSubstr("initial contents"), HasSubstr("put"), HasSubstr("get")));
}

TEST_P(SharedArenaOn, AnArenaThatValuesShareOverTimeIsNotForMethods) {
  MethodBuilder b;
  const auto x = b.tensor({2});
  const auto a = b.tensor({2}, 0, false, ScalarType::Float, runtime::kSharedArena);
  const auto c = b.tensor({1}, 4, false, ScalarType::Float, runtime::kSharedArena);
  const auto y = b.tensor({2});
  const auto one = b.number(1);
  b.inputs({x}).outputs({y}).kernel("aten::add.out", {x, x, one, a, a}).kernel("aten::add.out", {a, x, one, y, y});
  ASSERT_NE(a, c);
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_TRUE((*lowered)->states.empty());
}

TEST_P(SharedArenaOn, AnIntermediateResultInASecondArenaIsNotForMethods) {
  MethodBuilder b;
  const auto x = b.tensor({2});
  const auto a = b.tensor({2}, 0, false, ScalarType::Float, runtime::kSharedArena);
  const auto y = b.tensor({2});
  const auto one = b.number(1);
  b.inputs({x}).outputs({y}).kernel("aten::add.out", {x, x, one, a, a}).kernel("aten::add.out", {a, x, one, y, y});
  const auto lowered = b.lower();
  ASSERT_TRUE(lowered.ok());
  EXPECT_TRUE((*lowered)->states.empty());
}

std::string name_of_device(const ::testing::TestParamInfo<bool>& info) { return info.param ? "gpu" : "host"; }
INSTANTIATE_TEST_SUITE_P(Devices, SharedBuffersOn, ::testing::Bool(), name_of_device);
INSTANTIATE_TEST_SUITE_P(Devices, SharedArenaOn, ::testing::Bool(), name_of_device);

}  // namespace
}  // namespace tandem
