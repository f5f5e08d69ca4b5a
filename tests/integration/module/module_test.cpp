#include "fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace tandem {
namespace {

using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(ModuleTest, LoadsWhenItIsFirstNeeded) {
  const Fixture fixture{"multi"};
  Module module{fixture.program(), fixture.data_files()};
  EXPECT_FALSE(module.is_loaded());
  EXPECT_EQ(module.program(), nullptr);
  EXPECT_THAT(*module.method_names(), UnorderedElementsAre("encode", "decode", "code_size", "scale", "note"));
  EXPECT_EQ(*module.num_methods(), 5U);
  EXPECT_TRUE(module.is_loaded());
  EXPECT_FALSE(module.is_method_loaded("encode"));
  const auto outputs = module.execute("encode", fixture.inputs("encode", 0));
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  fixture.expect_outputs("encode", 0, *outputs);
  EXPECT_TRUE(module.is_method_loaded("encode"));
}

TEST(ModuleTest, ConstantMethodsAnswer) {
  const Fixture fixture{"multi"};
  Module module{fixture.program(), fixture.data_files()};
  for (const char* method : {"code_size", "scale", "note"}) {
    const auto value = module.get(method);
    ASSERT_TRUE(value.ok()) << value.error().to_string();
    fixture.expect_outputs(method, 0, {*value});
  }
}

TEST(ModuleTest, MetaNeedsNoDelegates) {
  const Fixture fixture{"digits"};
  Module module{fixture.program()};  // no data files: loading a method would fail
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok()) << meta.error().to_string();
  EXPECT_EQ(meta->delegate_count, 3U);
  EXPECT_TRUE(meta->uses_backend("AotiHostBackendB"));
  ASSERT_EQ(meta->inputs.size(), 1U);
  EXPECT_TRUE(meta->inputs[0].tensor.dynamic);
  EXPECT_EQ(meta->inputs[0].tensor.sizes.front(), 360);
  const auto unknown = module.method_meta("backward");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::MethodNotFound);
  EXPECT_THAT(unknown.error().expected(), HasSubstr("forward"));
}

TEST(ModuleTest, MissingDataNamesTheKeyAndTheFiles) {
  const Fixture fixture{"digits"};
  Module module{fixture.program()};
  const Status loaded = module.load_forward();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::NotFound);
  EXPECT_THAT(loaded.error().site().key, HasSubstr("_weights_blob"));
  EXPECT_EQ(loaded.error().site().file, fixture.program().string());
  EXPECT_GE(loaded.error().site().delegate, 0);
}

TEST(ModuleTest, AnInputThatIsNotSetAgainKeepsItsValue) {
  const Fixture fixture{"add"};
  Module module{fixture.program(), fixture.data_files()};
  const std::vector<Value> first = fixture.inputs("forward", 0);
  const std::vector<Value> second = fixture.inputs("forward", 1);
  ASSERT_TRUE(module.forward(first).ok());
  const auto mixed = module.forward(second[0]);  // x of case 1, y of case 0
  const auto direct = module.forward({second[0], first[1]});
  ASSERT_TRUE(mixed.ok() && direct.ok());
  EXPECT_EQ(
      std::memcmp(mixed->front().tensor().data(), direct->front().tensor().data(), direct->front().tensor().nbytes()),
      0);
}

TEST(ModuleTest, KeepsInputsThatThePlanOverlays) {  // the exporter put a result of digits over its input
  const Fixture fixture{"digits"};
  Module module{fixture.program(), fixture.data_files()};
  ASSERT_TRUE(module.set_input(fixture.inputs("forward", 2)[0], 0).ok());
  for (int i = 0; i < 3; ++i) {
    const auto outputs = module.forward();
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    fixture.expect_outputs("forward", 2, *outputs);
  }
}

TEST(ModuleTest, KeptInputsAreCopies) {
  const Fixture fixture{"add"};
  Module module{fixture.program(), fixture.data_files()};
  {
    std::vector<Value> inputs = fixture.inputs("forward", 0);
    auto mine = Tensor::empty(ScalarType::Float, inputs[0].tensor().sizes());
    std::memcpy(mine->data(), inputs[0].tensor().data(), mine->nbytes());
    ASSERT_TRUE(module.set_inputs({*mine, inputs[1]}).ok());
    std::memset(mine->data(), 0x55, mine->nbytes());
  }
  const auto outputs = module.forward();
  ASSERT_TRUE(outputs.ok());
  fixture.expect_outputs("forward", 0, *outputs);
}

TEST(ModuleTest, AnInputThatWasNeverSetIsNamed) {
  const Fixture fixture{"add"};
  Module module{fixture.program(), fixture.data_files()};
  const auto outputs = module.forward(fixture.inputs("forward", 0)[0]);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(outputs.error().site().argument, 1);
}

TEST(ModuleTest, WrongInputsChangeNothing) {
  const Fixture fixture{"add"};
  Module module{fixture.program(), fixture.data_files()};
  const std::vector<Value> good = fixture.inputs("forward", 0);
  ASSERT_TRUE(module.set_inputs(good).ok());
  EXPECT_EQ(module.set_inputs({good[0]}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(module.forward({fixture.inputs("forward", 1)[0], Value{3}}).error().code(), ErrorCode::InvalidType);
  EXPECT_EQ(module.forward({good[0], good[1], good[1]}).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(module.set_input(good[0], 2).error().code(), ErrorCode::InvalidArgument);
  const auto outputs = module.forward();
  ASSERT_TRUE(outputs.ok());
  fixture.expect_outputs("forward", 0, *outputs);
}

TEST(ModuleTest, OutputsAreRemembered) {
  const Fixture fixture{"dynamic"};
  Module module{fixture.program(), fixture.data_files()};
  EXPECT_EQ(module.get_outputs().error().code(), ErrorCode::InvalidState);
  ASSERT_TRUE(module.forward(fixture.inputs("forward", 0)).ok());
  const auto outputs = module.get_outputs();
  ASSERT_TRUE(outputs.ok());
  fixture.expect_outputs("forward", 0, *outputs);
  EXPECT_EQ(module.get_output(1)->tensor().data(), (*outputs)[1].tensor().data());
  EXPECT_EQ(module.get_output(99).error().code(), ErrorCode::InvalidArgument);
}

TEST(ModuleTest, BoundOutputsGoWhereTheCallerSaid) {
  const Fixture fixture{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  const Tensor mine = *Tensor::empty(meta->outputs[0].tensor.dtype, meta->outputs[0].tensor.sizes);
  ASSERT_TRUE(module.set_output(mine).ok());
  const auto outputs = module.forward(fixture.inputs("forward", 0));
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_EQ(outputs->front().tensor().data(), mine.data());
  fixture.expect_outputs("forward", 0, {Value{mine}});
  ASSERT_TRUE(module.set_output(Tensor{}).ok());
  EXPECT_NE(module.forward(fixture.inputs("forward", 0))->front().tensor().data(), mine.data());
  EXPECT_EQ(module.set_output(mine, 5).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(module.set_outputs("forward", {mine, mine}).error().code(), ErrorCode::InvalidArgument);
}

TEST(ModuleTest, ReloadedMethodStartsAfresh) {
  const Fixture fixture{"state"};
  Module module{fixture.program(), fixture.data_files()};
  for (int round = 0; round < 2; ++round) {
    const auto outputs = module.forward(fixture.inputs("forward", 0));
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    fixture.expect_outputs("forward", 0, *outputs);
    const auto next = module.forward(fixture.inputs("forward", 1));
    ASSERT_TRUE(next.ok()) << next.error().to_string();
    fixture.expect_outputs("forward", 1, *next);
    EXPECT_TRUE(module.unload_forward());
    EXPECT_FALSE(module.unload_forward());
  }
}

TEST(ModuleTest, FailedRunLeavesMethodAndNeighboursUsable) {
  const Fixture fixture{"state"};
  const Fixture neighbour{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  Module other{neighbour.program(), neighbour.data_files()};
  ASSERT_TRUE(other.load_forward().ok());
  const auto failed = module.forward(fixture.bad_inputs("forward"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::BackendFailed);
  EXPECT_EQ(failed.error().site().delegate, 0);
  EXPECT_FALSE(failed.error().native().text.empty());
  // It had begun to write to its state.
  const auto refused = module.forward(fixture.inputs("forward", 0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidState);
  ASSERT_TRUE(module.reset_state().ok());
  const auto again = module.forward(fixture.inputs("forward", 0));
  ASSERT_TRUE(again.ok());
  fixture.expect_outputs("forward", 0, *again);
  const auto outputs = other.forward(neighbour.inputs("forward", 0));
  ASSERT_TRUE(outputs.ok());
  neighbour.expect_outputs("forward", 0, *outputs);
}

TEST(ModuleTest, ARunKeepsItsMethodAlive) {
  const Fixture fixture{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok());
  EXPECT_TRUE(module.unload_forward());
  const auto outputs = (*method)->execute(fixture.inputs("forward", 0));
  ASSERT_TRUE(outputs.ok());
  fixture.expect_outputs("forward", 0, *outputs);
}

TEST(ModuleTest, LoadOptionsAndRefusals) {
  const Fixture fixture{"mlp"};
  Module careful{fixture.program(), fixture.data_files(), {.allow_native_code = false}};
  EXPECT_EQ(careful.load_forward().error().code(), ErrorCode::NotSupported);
  Module elsewhere{fixture.program(), fixture.data_files(), {.device = {DeviceType::Cuda, 0}}};
  EXPECT_EQ(elsewhere.load_forward().error().site().device, "cuda:0");
  LoadBackendOptionsMap map;
  BackendOptions options;
  options.set_option("unknown", 1);
  map.set_options("AotiHostBackend", options);
  Module module{fixture.program(), fixture.data_files()};
  EXPECT_TRUE(module.load(map).ok());
  EXPECT_TRUE(module.load_forward(&map).ok());
}

TEST(ModuleTest, OneProgramServesManyModules) {
  const Fixture fixture{"mlp"};
  const auto program = Program::load(fixture.program(), fixture.data_files());
  ASSERT_TRUE(program.ok());
  Module first{*program};
  Module second{*program};
  EXPECT_TRUE(first.is_loaded());
  for (Module* module : {&first, &second}) {
    const auto outputs = module->forward(fixture.inputs("forward", 0));
    ASSERT_TRUE(outputs.ok());
    fixture.expect_outputs("forward", 0, *outputs);
  }
}

}  // namespace
}  // namespace tandem
