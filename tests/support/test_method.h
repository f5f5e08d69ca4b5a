#pragma once

#include "runtime/execute/dispatcher.h"
#include "runtime/lower/lower.h"
#include "runtime/state.h"
#include "support/method_builder.h"

#include <tandem/method.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A method without a file: what Method::load() makes, from a MethodBuilder.
class TestMethod {
 public:
  /// `edit` may spoil the schedule before anything is made of it.
  TestMethod(MethodBuilder& builder, device::Device& device, const MethodOptions& options = {},
             const std::function<void(runtime::Schedule&)>& edit = {})
      : device_{device} {
    runtime::LowerInput input = builder.lower_input();
    input.stream_policy = options.streams;
    input.allow_races = options.allow_races;
    input.plan_branches = runtime::plans_branches(options);
    input.device = options.device;
    loaded_ = load(input, options, edit);
  }
  /// As Method's.
  ~TestMethod() {
    if (dispatcher_ != nullptr) ignore(dispatcher_->wait_until_idle(), "as Method");
  }
  TestMethod(const TestMethod&) = delete;
  TestMethod& operator=(const TestMethod&) = delete;

  [[nodiscard]] const Status& loaded() const { return loaded_; }
  [[nodiscard]] const runtime::Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] Status prepare(const std::vector<Value>& inputs, const ExecuteOptions& options = {}) const {
    return dispatcher_->prepare(inputs, options);
  }
  [[nodiscard]] std::vector<GraphInfo> graphs() const { return dispatcher_->graphs(); }
  [[nodiscard]] bool is_fully_async() const { return dispatcher_->is_fully_async(); }
  [[nodiscard]] const std::shared_ptr<State>& state() const { return state_; }
  [[nodiscard]] std::shared_ptr<State> new_state() const {
    auto made = runtime::State::create(schedule_, device_, nullptr);
    EXPECT_TRUE(made.ok());
    return std::make_shared<State>(*std::move(made));
  }

  [[nodiscard]] Result<std::vector<Value>> execute(const std::vector<Value>& inputs,
                                                   const ExecuteOptions& options = {}) const {
    std::vector<Value> outputs(schedule_->outputs.size());
    TANDEM_CHECK_OK(dispatcher_->execute(inputs, outputs, options));
    return outputs;
  }
  [[nodiscard]] Result<Execution> execute_async(const std::vector<Value>& inputs,
                                                const ExecuteOptions& options = {}) const {
    return dispatcher_->execute_async(inputs, options);
  }

 private:
  Status load(const runtime::LowerInput& input, const MethodOptions& options,
              const std::function<void(runtime::Schedule&)>& edit) {
    TANDEM_TRY(auto lowered, runtime::lower(input));
    if (edit) edit(*lowered);
    schedule_ = std::move(lowered);
    std::shared_ptr<runtime::State> state;
    if (runtime::State::is_needed(*schedule_)) {
      TANDEM_TRY(state, runtime::State::create(schedule_, device_, options.states, options.shared_buffers));
      state_ = std::make_shared<State>(state);
    }
    TANDEM_TRY(dispatcher_, runtime::Dispatcher::create(schedule_, device_, std::move(state), options));
    return {};
  }

  device::Device& device_;
  std::shared_ptr<const runtime::Schedule> schedule_;
  std::shared_ptr<State> state_;
  std::shared_ptr<runtime::Dispatcher> dispatcher_;
  Status loaded_;
};

}  // namespace tandem::testing
