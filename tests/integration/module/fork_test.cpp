#include "fixture.h"

#include <tandem/stream.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>

namespace tandem {
namespace {

using testing::Fixture;

/// Whether `body` says so in a forked child, within ten seconds.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);  // a call that hangs kills the child
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class T>
bool is_refused(const Result<T>& result) {
  return !result.ok() && result.error().code() == ErrorCode::InvalidState;
}

TEST(ForkTest, CallsInAForkedChildAreRefused) {
  const Fixture fixture{"mlp"};
  const std::vector<Value> inputs = fixture.inputs("forward", 0);
  auto module = std::make_unique<Module>(fixture.program(), fixture.data_files());
  ASSERT_TRUE(module->forward(inputs).ok());
  const auto method = module->method("forward");
  ASSERT_TRUE(method.ok());
  auto stream = Stream::create();
  ASSERT_TRUE(stream.ok());
  ExecuteOptions on_stream;
  on_stream.stream = stream->ref();
  const auto execution = (*method)->execute_async(inputs, on_stream);
  ASSERT_TRUE(execution.ok() && execution->get().ok());

  EXPECT_TRUE(in_child([&] { return is_refused(module->forward(inputs)); }));
  EXPECT_TRUE(in_child([&] { return is_refused((*method)->execute(inputs)); }));
  EXPECT_TRUE(in_child([&] { return is_refused((*method)->execute_async(inputs, on_stream)); }));
  EXPECT_TRUE(in_child([&] { return is_refused(execution->get()); }));
  EXPECT_TRUE(in_child([&] { return is_refused(Program::load(fixture.program())); }));
  EXPECT_TRUE(in_child([&] { return is_refused(Method::load(module->program(), "forward")); }));
  EXPECT_TRUE(in_child([&] { return is_refused(Stream::create()); }));
  EXPECT_TRUE(in_child([&] {  // what the parent made can be destroyed
    module.reset();
    const Stream gone = std::move(*stream);
    return true;
  }));
  EXPECT_TRUE(module->forward(inputs).ok());  // the parent is none the worse
}

}  // namespace
}  // namespace tandem
