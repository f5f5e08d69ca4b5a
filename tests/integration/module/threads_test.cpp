#include "fixture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace tandem {
namespace {

using testing::Fixture;

/// Runs `body(thread)` on `count` threads and waits.
template <class Body>
void on_threads(int count, Body&& body) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
}

bool equal(const Value& a, const Value& b) {
  return std::memcmp(a.tensor().data(), b.tensor().data(), a.tensor().nbytes()) == 0;
}

TEST(ThreadsTest, ManyThreadsShareOneMethod) {
  const Fixture fixture{"split25"};
  Module module{fixture.program(), fixture.data_files()};
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok()) << method.error().to_string();
  std::vector<std::vector<Value>> inputs;
  std::vector<Value> serial;
  for (std::size_t i = 0; i < fixture.case_count("forward"); ++i) {
    inputs.push_back(fixture.inputs("forward", i));
    serial.push_back((*method)->execute(inputs.back())->front());
  }
  std::atomic<int> wrong{0};
  on_threads(4, [&](int t) {
    for (std::size_t k = 0; k < 50; ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(t)) % inputs.size();
      const auto outputs = (*method)->execute(inputs[i]);
      if (!outputs.ok() || !equal(outputs->front(), serial[i])) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsTest, ManyThreadsLoadAndUnloadOneModule) {
  const Fixture fixture{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  const std::vector<Value> inputs = fixture.inputs("forward", 0);
  std::atomic<int> failed{0};
  on_threads(4, [&](int t) {
    for (int k = 0; k < 10; ++k) {
      if (!module.forward(inputs).ok()) ++failed;
      if (t == 0) module.unload_forward();
    }
  });
  EXPECT_EQ(failed, 0);
}

TEST(ThreadsTest, ProgramsRunSideBySide) {
  const Fixture first{"mlp"};
  const Fixture second{"add"};
  std::atomic<int> failed{0};
  on_threads(2, [&](int t) {
    const Fixture& fixture = t == 0 ? first : second;
    Module module{fixture.program(), fixture.data_files()};
    for (int k = 0; k < 50; ++k) {
      const auto outputs = module.forward(fixture.inputs("forward", 0));
      if (!outputs.ok()) ++failed;
    }
  });
  EXPECT_EQ(failed, 0);
}

TEST(ThreadsTest, OutputsMayBeDroppedAnywhere) {
  const Fixture fixture{"mlp"};
  Module module{fixture.program(), fixture.data_files()};
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok());
  const std::vector<Value> inputs = fixture.inputs("forward", 0);
  const Value expected = (*method)->execute(inputs)->front();
  for (int k = 0; k < 20; ++k) {
    auto outputs = (*method)->execute(inputs);
    ASSERT_TRUE(outputs.ok());
    std::thread{[kept = *std::move(outputs), &expected] { EXPECT_TRUE(equal(kept.front(), expected)); }}.join();
  }
}

}  // namespace
}  // namespace tandem
