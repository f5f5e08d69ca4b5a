#pragma once

#include <tandem/backend.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tandem::testing {

/// A delegate's context with memory of its own for the delegate's buffers, on the host.
class ContextWithMemory final : public DelegateContext {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DelegateContext>> create(const Delegate& delegate) {
    if (delegate.buffers().empty()) return delegate.new_context();
    std::unique_ptr<ContextWithMemory> made{new ContextWithMemory};
    std::vector<std::byte*> buffers;
    for (const MutableBuffer& buffer : delegate.buffers()) {
      auto& memory = made->memory_.emplace_back(new (std::align_val_t{64}) std::byte[buffer.initial.size()]);
      std::ranges::copy(buffer.initial, memory.get());
      buffers.push_back(memory.get());
    }
    TANDEM_TRY(made->context_, delegate.new_context_on(buffers));
    return std::unique_ptr<DelegateContext>{std::move(made)};
  }

  [[nodiscard]] DelegateContext& inner() noexcept { return *context_; }

  [[nodiscard]] Result<BoundLayout> bind(std::span<const Argument* const> arguments) override {
    return context_->bind(arguments);
  }
  [[nodiscard]] Status enqueue(EnqueueArgs& args) override { return context_->enqueue(args); }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete[](data, std::align_val_t{64}); }
  };
  ContextWithMemory() = default;

  std::vector<std::unique_ptr<std::byte[], Free>> memory_{};
  std::unique_ptr<DelegateContext> context_{};
};

}  // namespace tandem::testing
