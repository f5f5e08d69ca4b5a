#pragma once

#include <tandem/backend.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A backend whose delegates keep buffers of floats from run to run, as AOTInductor's do, and call one function.
class BufferBackend final : public Backend {
 public:
  /// One storage: a tensor for each name, all of it.
  struct Storage {
    std::vector<std::string> names{};
    std::vector<float> initial{};
    bool on_host = true;
  };
  using Function = std::function<Status(EnqueueArgs&, std::span<std::byte* const> buffers)>;

  BufferBackend(std::size_t outputs, std::vector<Storage> storages, Function function, bool runs_on_host = true)
      : shared_{std::make_shared<Shared>()} {
    shared_->outputs = outputs;
    shared_->storages = std::move(storages);
    shared_->function = std::move(function);
    shared_->runs_on_host = runs_on_host;
    for (const Storage& storage : shared_->storages) {
      MutableBuffer& buffer = shared_->buffers.emplace_back();
      buffer.initial = std::as_bytes(std::span{storage.initial});
      buffer.on_host = storage.on_host;
      for (const std::string& name : storage.names) {
        buffer.tensors.push_back({.name = name,
                                  .dtype = ScalarType::Float,
                                  .sizes = {static_cast<std::int64_t>(storage.initial.size())},
                                  .strides = {1}});
      }
    }
  }

  [[nodiscard]] Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                                          const LoadContext& /*context*/) const override {
    return std::unique_ptr<Delegate>{new BufferDelegate{shared_}};
  }
  [[nodiscard]] MutableBuffer& buffer(std::size_t index) { return shared_->buffers[index]; }
  /// As ExecuTorch's option `weight_sharing_across_methods`.
  void share_buffers() { shared_->shares = true; }

 private:
  struct Shared {
    std::size_t outputs = 1;
    std::vector<Storage> storages{};
    std::vector<MutableBuffer> buffers{};
    Function function{};
    bool runs_on_host = true;
    bool shares = false;
  };

  class BufferContext final : public DelegateContext {
   public:
    BufferContext(std::shared_ptr<Shared> shared, std::span<std::byte* const> memory)
        : shared_{std::move(shared)}, memory_{memory.begin(), memory.end()} {}
    [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> /*arguments*/) override {
      return BoundLayout{};
    }
    [[nodiscard]] Status enqueue(EnqueueArgs& args) override { return shared_->function(args, memory_); }

   private:
    std::shared_ptr<Shared> shared_;
    std::vector<std::byte*> memory_;
  };

  class BufferDelegate final : public Delegate {
   public:
    explicit BufferDelegate(std::shared_ptr<Shared> shared) : shared_{std::move(shared)} {}
    [[nodiscard]] DelegateCapabilities capabilities() const override {
      DelegateCapabilities capabilities;
      capabilities.stateful = true;
      capabilities.runs_on_host = shared_->runs_on_host;
      capabilities.recordable = !shared_->runs_on_host;
      capabilities.shares_buffers = shared_->shares;
      return capabilities;
    }
    [[nodiscard]] std::size_t output_count() const override { return shared_->outputs; }
    [[nodiscard]] std::span<const MutableBuffer> buffers() const override { return shared_->buffers; }
    [[nodiscard]] Result<std::unique_ptr<DelegateContext>> new_context() const override {
      return Error{ErrorCode::Internal, "a context without memory for its buffers"};
    }
    [[nodiscard]] Result<std::unique_ptr<DelegateContext>> new_context_on(
        std::span<std::byte* const> memory) const override {
      return std::unique_ptr<DelegateContext>{new BufferContext{shared_, memory}};
    }

   private:
    std::shared_ptr<Shared> shared_;
  };

  std::shared_ptr<Shared> shared_;
};

}  // namespace tandem::testing
