// Real programs on a device, called in every way there is, with inputs that change on every call: each result must have
// the bits of the same call made alone.
//
//   TANDEM_PROGRAMS   folders of recorded programs (docs/case-folder.md), separated by colons
//   TANDEM_DEVICE     where to run them, cuda:0 by default; host works too
//   TANDEM_RUNS       runs per way, 200 by default
#include "cli/case_folder.h"
#include "cli/device_values.h"
#include "cli/random_values.h"

#include <tandem/module.h>
#include <tandem/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tandem {
namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

std::vector<std::string> programs() {
  std::vector<std::string> folders;
  std::string all = setting("TANDEM_PROGRAMS", "");
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(':', begin), all.size());
    if (end > begin) folders.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

/// The bytes of all outputs.
std::string bytes_of(const std::vector<Value>& outputs) {
  const auto host = cli::to_host(outputs);
  EXPECT_TRUE(host.ok());
  std::string bytes;
  for (const Value& value : *host) {
    if (value.is_tensor()) bytes.append(value.tensor().data_as<char>(), value.tensor().nbytes());
  }
  return bytes;
}

/// Random, but for lists of integers: as indices to write to, equal ones would race in the kernel.
Tensor tensor_like(const TensorInfo& info, std::uint64_t seed, std::size_t index) {
  Tensor tensor = *cli::random_tensor(info.dtype, info.sizes, seed, index);
  if (info.dtype == ScalarType::Long && tensor.numel() > 1) {
    std::iota(tensor.data_as<std::int64_t>(), tensor.data_as<std::int64_t>() + tensor.numel(), std::int64_t{0});
  }
  return tensor;
}

class OrderOnDeviceTest : public ::testing::TestWithParam<std::tuple<std::string, GraphPolicy>> {
 protected:
  static constexpr std::size_t kInputs = 16;

  void SetUp() override {
    auto folder = cli::read_case_folder(std::get<0>(GetParam()));
    ASSERT_TRUE(folder.ok()) << folder.error().to_string();
    program_file_ = folder->program;
    data_files_ = folder->data_files;
    method_ = folder->methods.front().name;
    auto program = Program::load(program_file_, data_files_);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    program_ = *std::move(program);
    device_ = *parse_device(setting("TANDEM_DEVICE", "cuda:0"));
    runs_ = std::stoul(setting("TANDEM_RUNS", "200"));
    MethodOptions steps;
    steps.graphs = GraphPolicy::Off;  // what the others are held against
    const auto method = load(steps, /*as_they_are=*/true);
    if (method == nullptr) return;
    has_state_ = method->state() != nullptr;
    const MethodMeta& meta = method->meta();
    for (std::size_t i = 0; i < kInputs; ++i) {
      std::vector<Value> row;
      for (std::size_t k = 0; k < meta.inputs.size(); ++k) {
        const ValueInfo& input = meta.inputs[k];
        row.push_back(input.kind == Value::Kind::Tensor ? Value{tensor_like(input.tensor, 100 + i, k)} : input.traced);
      }
      inputs_.push_back(*cli::to_device(row, meta, device_));
    }
    for (const auto& row : inputs_) {
      const auto alone = method->execute(row);
      ASSERT_TRUE(alone.ok()) << alone.error().to_string();
      serial_.push_back(bytes_of(*alone));
    }
    // Programs without state are functions: a second round gives the same.
    for (std::size_t i = 0; i < kInputs && !has_state_; ++i)
      EXPECT_EQ(bytes_of(*method->execute(inputs_[i])), serial_[i]);
  }

  std::shared_ptr<Method> load(MethodOptions options = {}, bool as_they_are = false) {
    options.device = device_;
    if (!as_they_are) options.graphs = std::get<1>(GetParam());
    auto method = Method::load(program_, method_, options);
    EXPECT_TRUE(method.ok()) << method.error().to_string();
    return method.ok() ? *method : nullptr;
  }

  /// `run(i)` makes the call with input i; how many of `count` are not what they are alone.
  template <class Run>
  std::size_t wrong(std::size_t count, Run&& run, std::size_t first = 0) {
    std::size_t bad = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (k * 7 + first) % kInputs;
      const Result<std::vector<Value>> outputs = run(i);
      if (!outputs.ok()) {
        ADD_FAILURE() << outputs.error().to_string();
        return count;
      }
      if (bytes_of(*outputs) != serial_[i]) ++bad;
    }
    return bad;
  }
  template <class Body>
  std::size_t on_threads(std::size_t count, Body&& body) {
    std::atomic<std::size_t> bad{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < count; ++t) threads.emplace_back([&bad, &body, t] { bad += body(t); });
    for (std::thread& thread : threads) thread.join();
    return bad;
  }

  std::filesystem::path program_file_;
  std::vector<std::filesystem::path> data_files_;
  std::shared_ptr<const Program> program_;
  std::string method_;
  DeviceId device_;
  std::size_t runs_ = 0;
  bool has_state_ = false;
  std::vector<std::vector<Value>> inputs_;
  std::vector<std::string> serial_;
};

#define SKIP_WITH_STATE() \
  if (has_state_) GTEST_SKIP() << "keeps state: its results depend on the calls before"

TEST_P(OrderOnDeviceTest, OneThread) {
  SKIP_WITH_STATE();
  const auto method = load();
  EXPECT_EQ(wrong(runs_, [&](std::size_t i) { return method->execute(inputs_[i]); }), 0U);
}

TEST_P(OrderOnDeviceTest, EightThreadsShareAMethod) {
  SKIP_WITH_STATE();
  const auto method = load();
  EXPECT_EQ(on_threads(8,
                       [&](std::size_t t) {
                         return wrong(
                             runs_ / 4, [&](std::size_t i) { return method->execute(inputs_[i]); }, t);
                       }),
            0U);
}

TEST_P(OrderOnDeviceTest, EightThreadsOnStreamsOfTheirOwnAndTwoInstances) {
  SKIP_WITH_STATE();
  MethodOptions two;
  two.instances = 2;
  const auto method = load(two);
  EXPECT_EQ(on_threads(8,
                       [&](std::size_t t) {
                         const auto stream = Stream::create(device_);
                         EXPECT_TRUE(stream.ok());
                         return wrong(
                             runs_ / 4,
                             [&](std::size_t i) {
                               ExecuteOptions on;
                               on.stream = stream->ref();
                               return method->execute(inputs_[i], on);
                             },
                             t);
                       }),
            0U);
}

TEST_P(OrderOnDeviceTest, CallersStream) {
  SKIP_WITH_STATE();
  const auto method = load();
  const auto stream = Stream::create(device_);
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  const CallerStreamGuard guard{*stream};
  EXPECT_EQ(wrong(runs_, [&](std::size_t i) { return method->execute(inputs_[i]); }), 0U);
}

TEST_P(OrderOnDeviceTest, AsynchronousOnTwoStreamsInTurn) {
  SKIP_WITH_STATE();
  const auto method = load();
  if (!method->meta().is_fully_async()) GTEST_SKIP() << "needs the host between its steps";
  const auto first = Stream::create(device_);
  const auto second = Stream::create(device_);
  ASSERT_TRUE(first.ok() && second.ok());
  std::vector<Execution> executions;
  std::vector<std::size_t> which;
  std::size_t bad = 0;
  for (std::size_t k = 0; k < runs_; ++k) {
    ExecuteOptions on;
    on.stream = k % 2 == 0 ? first->ref() : second->ref();
    const std::size_t i = (k * 5) % kInputs;
    auto execution = method->execute_async(inputs_[i], on);
    ASSERT_TRUE(execution.ok()) << execution.error().to_string();
    executions.push_back(*std::move(execution));
    which.push_back(i);
    if (executions.size() < 8) continue;
    for (std::size_t e = 0; e < executions.size(); ++e) {
      const auto outputs = executions[e].get();
      ASSERT_TRUE(outputs.ok());
      if (bytes_of(*outputs) != serial_[which[e]]) ++bad;
    }
    executions.clear();
    which.clear();
  }
  EXPECT_EQ(bad, 0U);
}

TEST_P(OrderOnDeviceTest, StreamOfTheMethodBesideAnotherProgram) {
  SKIP_WITH_STATE();
  MethodOptions own;
  own.streams = StreamPolicy::PerMethod;
  const auto one = load(own);
  const auto other = load(own);
  EXPECT_EQ(on_threads(2,
                       [&](std::size_t t) {
                         const auto& method = t == 0 ? one : other;
                         return wrong(
                             runs_ / 2, [&](std::size_t i) { return method->execute(inputs_[i]); }, t);
                       }),
            0U);
}

TEST_P(OrderOnDeviceTest, AStreamPerDelegateIsOnlyADemonstration) {
  SKIP_WITH_STATE();
  if (std::get<1>(GetParam()) != GraphPolicy::Off) GTEST_SKIP() << "there are no graphs over several streams";
  MethodOptions unordered;
  unordered.streams = StreamPolicy::PerDelegate;
  unordered.allow_races = true;
  const auto method = load(unordered);
  const std::size_t bad = wrong(runs_, [&](std::size_t i) { return method->execute(inputs_[i]); });
  std::cout << "  stream per delegate: " << bad << " of " << runs_ << " wrong\n";
}

TEST_P(OrderOnDeviceTest, WhatMayBeAGraphBecomesOne) {
  if (std::get<1>(GetParam()) != GraphPolicy::On || device_ == DeviceId{}) GTEST_SKIP() << "no graphs wanted";
  const auto method = load();
  ASSERT_NE(method, nullptr);
  for (int k = 0; k < 4; ++k) ASSERT_TRUE(method->execute(inputs_.front()).ok());
  for (const GraphInfo& info : method->graphs()) {
    EXPECT_TRUE(info.in_use) << "instruction " << info.first_instruction << ": " << info.refusal;
  }
}

TEST_P(OrderOnDeviceTest, StatesAreRightInTheOrderOfTheCalls) {
  if (!has_state_) GTEST_SKIP() << "keeps no state";
  const auto method = load();
  ASSERT_NE(method, nullptr);
  const auto other = *method->new_state();
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (const auto& state : {method->state(), other}) {
        ExecuteOptions on;
        on.state = state;
        const auto outputs = method->execute(inputs_[i], on);
        ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
        EXPECT_EQ(bytes_of(*outputs), serial_[i]) << "round " << round << " call " << i;
      }
    }
    ASSERT_TRUE(method->state()->reset().ok());
    ASSERT_TRUE(other->reset().ok());
  }
}

TEST_P(OrderOnDeviceTest, StatesThatGoTakeTheirGraphsAlong) {
  if (!has_state_) GTEST_SKIP() << "keeps no state";
  const auto method = load();
  ASSERT_NE(method, nullptr);
  for (int round = 0; round < 20; ++round) {
    ExecuteOptions on;
    on.state = *method->new_state();
    for (std::size_t i = 0; i < 5; ++i) {
      const auto outputs = method->execute(inputs_[i], on);
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      EXPECT_EQ(bytes_of(*outputs), serial_[i]) << "round " << round << " call " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, OrderOnDeviceTest,
                         ::testing::Combine(::testing::ValuesIn(programs()),
                                            ::testing::Values(GraphPolicy::Off, GraphPolicy::On, GraphPolicy::Auto,
                                                              GraphPolicy::Branches)),
                         [](const auto& parameter) {
                           const std::filesystem::path folder{std::get<0>(parameter.param)};
                           std::string name = folder.parent_path().filename().string() + "_" +
                                              folder.filename().string() + "_graphs_" +
                                              std::string{name_of(std::get<1>(parameter.param))};
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderOnDeviceTest);

}  // namespace
}  // namespace tandem
