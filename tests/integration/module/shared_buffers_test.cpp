#include "fixture.h"

#include <tandem/backend.h>
#include <tandem/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

/// Buffers that methods share, on real programs (docs/state.md).
namespace tandem {
namespace {

using ::testing::AllOf;
using testing::Fixture;
using ::testing::HasSubstr;

/// `write` puts rows into a memory that `read` attends to; each is a delegate that holds the memory under one name.
class TwoMethods : public ::testing::Test {
 protected:
  std::unique_ptr<Module> load(const Fixture& fixture, const SharedBuffers& rule = {}) {
    MethodOptions options;
    options.shared_buffers = rule;
    return std::make_unique<Module>(fixture.program(), fixture.data_files(), options);
  }
  static Result<std::vector<Value>> run(Module& module, const Fixture& fixture, const std::string& method,
                                        std::size_t index) {
    return module.execute(method, fixture.inputs(method, index));
  }
  static void expect_all(Module& module, const Fixture& fixture) {
    for (const auto& [method, index] : {std::pair{"read", 0}, {"write", 0}, {"read", 1}, {"write", 1}, {"read", 2}}) {
      const auto outputs = run(module, fixture, method, static_cast<std::size_t>(index));
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      fixture.expect_outputs(method, static_cast<std::size_t>(index), *outputs);
    }
  }

  Fixture fixture_{"two_methods_host"};
};

TEST_F(TwoMethods, AllOrTheNameGiveTheModelsResults) {
  expect_all(*load(fixture_, SharedBuffers::all()), fixture_);
  expect_all(*load(fixture_, SharedBuffers::named({"m.memory"})), fixture_);
}

TEST_F(TwoMethods, ExecuTorchsOptionGivesThemToo) {
  BackendOptions share;
  share.set_option("weight_sharing_across_methods", true);
  LoadBackendOptionsMap options;
  options.set_options("AotiHostBackend", share);
  options.set_options("AotiHostBackendB", share);
  const auto of_the_load = load(fixture_);
  ASSERT_TRUE(of_the_load->load(options).ok());
  expect_all(*of_the_load, fixture_);

  const auto backend = BackendRegistry::global().find("AotiHostBackend");
  ASSERT_TRUE(backend->set_options(share).ok());
  const auto of_the_process = load(fixture_);
  expect_all(*of_the_process, fixture_);
  share.set_option("weight_sharing_across_methods", false);
  ASSERT_TRUE(backend->set_options(share).ok());

  share.set_option("weight_sharing_across_methods", "yes");
  EXPECT_EQ(backend->set_options(share).error().code(), ErrorCode::InvalidType);
}

TEST_F(TwoMethods, AProgramThatListsItsBuffersNeedsNoOption) {
  const Fixture listed{"two_methods_listed"};
  expect_all(*load(listed), listed);
}

TEST_F(TwoMethods, UndecidedTheSecondMethodIsRefusedWithWhatToSet) {
  const auto module = load(fixture_);
  ASSERT_TRUE(run(*module, fixture_, "read", 0).ok());
  ASSERT_TRUE(run(*module, fixture_, "write", 0).ok());
  const auto refused = run(*module, fixture_, "read", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(refused.error().site().key, "m.memory");
  EXPECT_THAT(refused.error().to_string(),
              AllOf(HasSubstr("read:m.memory"), HasSubstr("write:m.memory"), HasSubstr("shared_buffers")));
  ASSERT_TRUE(module->reset_state("write").ok());
  EXPECT_TRUE(run(*module, fixture_, "read", 0).ok());
}

TEST_F(TwoMethods, MethodsThatAreLoadedOneByOneAreHeldToTheSame) {
  const auto program = Program::load(fixture_.program(), fixture_.data_files());
  ASSERT_TRUE(program.ok());
  MethodOptions options;
  options.shared_buffers = SharedBuffers::all();
  const auto write = Method::load(*program, "write", options);
  const auto read = Method::load(*program, "read", options);
  ASSERT_TRUE(write.ok() && read.ok());
  ASSERT_TRUE((*write)->execute(fixture_.inputs("write", 0)).ok());
  const auto refused = (*read)->execute(fixture_.inputs("read", 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Load both by one Module"));
}

TEST_F(TwoMethods, AStateOfOneMethodCannotHaveWhatMethodsShare) {
  const auto module = load(fixture_, SharedBuffers::all());
  const auto method = module->method("read");
  ASSERT_TRUE(method.ok());
  const auto state = (*method)->new_state();
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().code(), ErrorCode::NotSupported);
  EXPECT_THAT(state.error().to_string(), AllOf(HasSubstr("read:m.memory"), HasSubstr("further Module")));
  const auto apart = load(fixture_, SharedBuffers::none());
  EXPECT_TRUE((*apart->method("read"))->new_state().ok());
}

TEST_F(TwoMethods, TwoModulesOfOneProgramAreTwoConversations) {
  const auto program = Program::load(fixture_.program(), fixture_.data_files());
  ASSERT_TRUE(program.ok());
  MethodOptions options;
  options.shared_buffers = SharedBuffers::all();
  Module first{*program, options};
  Module second{*program, options};
  ASSERT_TRUE(run(first, fixture_, "write", 0).ok());
  expect_all(second, fixture_);
  const auto outputs = run(first, fixture_, "read", 1);
  ASSERT_TRUE(outputs.ok());
  fixture_.expect_outputs("read", 1, *outputs);
}

TEST(ReadOnlyBuffers, InTwoMethodsRunUndecided) {
  const Fixture fixture{"shared_table"};
  Module module{fixture.program(), fixture.data_files()};
  for (int round = 0; round < 3; ++round) {
    for (const std::string method : {"features", "score"}) {
      const auto outputs = module.execute(method, fixture.inputs(method, 0));
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      fixture.expect_outputs(method, 0, *outputs);
    }
  }
}

}  // namespace
}  // namespace tandem
