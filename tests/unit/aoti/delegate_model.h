#pragma once

#include "library_files.h"
#include "support/context_memory.h"
#include "support/delegate_runner.h"

#include <tandem/backend.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::aoti {

/// A delegate over one of the libraries in libs/, with arguments of its own. What derives from it says how
/// it is loaded, and with what weights.
class DelegateModel {
 public:
  DelegateModel() = default;
  DelegateModel(DelegateModel&&) = default;
  virtual ~DelegateModel() = default;

  [[nodiscard]] Blobs& blobs() { return blobs_; }
  [[nodiscard]] testing::ArgumentMemory& argument(std::size_t index) { return arguments_.at(index); }
  [[nodiscard]] const Delegate& delegate() const { return *delegate_; }

  /// Loads it, once more each time.
  Result<std::unique_ptr<Delegate>> prepare() {
    specs_.clear();
    for (testing::ArgumentMemory& memory : arguments_) {
      specs_.push_back({memory.argument.kind, memory.argument.tensor.dtype, memory.sizes, memory.dim_order,
                        memory.dynamic, nullptr, 0, nullptr});
    }
    LoadContext context;
    context.method = "forward";
    context.delegate = 3;
    context.arguments = specs_;
    context.named_data = &blobs_;
    return load(std::as_bytes(std::span{payload_}), context);
  }
  /// Another context of the same delegate each time.
  testing::DelegateRunner& runner() {
    if (delegate_ == nullptr) {
      auto made = prepare();
      if (!made.ok()) {
        ADD_FAILURE() << made.error().to_string();
        std::abort();
      }
      delegate_ = std::move(*made);
    }
    std::vector<testing::ArgumentMemory*> arguments;
    for (testing::ArgumentMemory& memory : arguments_) arguments.push_back(&memory);
    auto context = testing::ContextWithMemory::create(*delegate_);
    EXPECT_TRUE(context.ok());
    return *runners_.emplace_back(
        std::make_unique<testing::DelegateRunner>(std::move(*context), arguments, delegate_->output_count()));
  }
  /// Why it is not loaded.
  Error refusal() {
    auto made = prepare();
    EXPECT_FALSE(made.ok());
    return made.ok() ? Error{ErrorCode::Internal, "accepted"} : made.error();
  }

 protected:
  /// `context` has all but what the kind of backend adds.
  virtual Result<std::unique_ptr<Delegate>> load(std::span<const std::byte> payload, LoadContext& context) = 0;

  Blobs blobs_;
  std::string payload_;
  std::deque<testing::ArgumentMemory> arguments_;

 private:
  std::vector<ArgumentSpec> specs_;
  std::unique_ptr<Delegate> delegate_;
  std::vector<std::unique_ptr<testing::DelegateRunner>> runners_;
};

}  // namespace tandem::aoti
