#pragma once

#include "device/stream.h"

namespace tandem::device {

/// An event of a stream that runs everything at once: done as soon as it is recorded.
class InlineEvent final : public Event {
 public:
  [[nodiscard]] Result<bool> is_done() const override { return true; }
  [[nodiscard]] Status synchronize() const override { return {}; }
};

/// Runs every piece of work on the calling thread before the call returns.
class InlineStream final : public Stream {
 public:
  InlineStream() noexcept;
  [[nodiscard]] StreamId id() const noexcept override { return {{}, number_}; }
  [[nodiscard]] Status submit(Work work, void* data, std::uint32_t index) override { return work(data, index); }
  [[nodiscard]] Status copy(void* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] Status record(Event& event) override;
  [[nodiscard]] Status wait(const Event& event) override;
  [[nodiscard]] Status synchronize() override { return {}; }

 private:
  std::uint64_t number_;
};

}  // namespace tandem::device
