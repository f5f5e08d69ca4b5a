#include "bench/suite/call.h"

#include <barrier>
#include <optional>
#include <thread>
#include <utility>

namespace tandem::suite {
namespace {

/// What groups of calls share.
class Group : public Call {
 public:
  explicit Group(std::vector<std::shared_ptr<Call>> calls) : calls_{std::move(calls)} {}
  Status spoil() override {
    for (const auto& call : calls_) TANDEM_CHECK_OK(call->spoil());
    return {};
  }
  Result<Bytes> read() override {
    Bytes all;
    for (const auto& call : calls_) {
      TANDEM_TRY(const Bytes one, call->read());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 protected:
  [[nodiscard]] const std::vector<std::shared_ptr<Call>>& calls() const { return calls_; }

 private:
  std::vector<std::shared_ptr<Call>> calls_;
};

class Together final : public Group {
 public:
  using Group::Group;
  bool waits_by_itself() const override { return calls().front()->waits_by_itself(); }
  Status enqueue() override {
    for (const auto& call : calls()) TANDEM_CHECK_OK(call->enqueue());
    return {};
  }
  Status wait() override {
    for (const auto& call : calls()) TANDEM_CHECK_OK(call->wait());
    return {};
  }
};

class InTurn final : public Group {
 public:
  InTurn(std::vector<std::shared_ptr<Call>> calls, std::vector<std::size_t> order)
      : Group{std::move(calls)}, order_{std::move(order)} {}
  bool waits_by_itself() const override { return calls().front()->waits_by_itself(); }
  Status enqueue() override {
    current_ = calls()[order_[next_]].get();
    next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    return current_->enqueue();
  }
  Status wait() override { return current_->wait(); }
  Result<Bytes> result() override {
    Bytes all;
    for (const auto& call : calls()) {
      TANDEM_TRY(const Bytes one, call->result());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
  Call* current_ = nullptr;
};

class BackToBack final : public Group {
 public:
  BackToBack(std::vector<std::shared_ptr<Call>> calls, std::size_t count) : Group{std::move(calls)}, count_{count} {}
  bool waits_by_itself() const override { return true; }
  std::size_t executions() const override { return count_; }
  Status enqueue() override {
    for (std::size_t i = 0; i < count_; ++i) {
      Call& call = *calls()[i % calls().size()];
      if (i >= calls().size()) TANDEM_CHECK_OK(finish(call));
      TANDEM_CHECK_OK(call.enqueue());
    }
    for (std::size_t i = 0; i < calls().size(); ++i) TANDEM_CHECK_OK(finish(*calls()[(count_ + i) % calls().size()]));
    return {};
  }

 private:
  static Status finish(Call& call) { return call.waits_by_itself() ? Status{} : call.wait(); }
  std::size_t count_;
};

/// The threads wait at a barrier, so that a sample has none of their beginning in it.
class OnThreads final : public Group {
 public:
  OnThreads(Machine& machine, std::vector<std::shared_ptr<Call>> calls, std::size_t count)
      : Group{std::move(calls)},
        count_{count},
        begin_{static_cast<std::ptrdiff_t>(this->calls().size()) + 1},
        end_{static_cast<std::ptrdiff_t>(this->calls().size()) + 1},
        results_(this->calls().size()) {
    for (std::size_t t = 0; t < this->calls().size(); ++t) {
      threads_.emplace_back([this, &machine, t] { serve(machine, t); });
    }
  }
  OnThreads(const OnThreads&) = delete;
  OnThreads& operator=(const OnThreads&) = delete;
  ~OnThreads() override {
    is_over_ = true;
    begin_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  bool waits_by_itself() const override { return true; }
  std::size_t executions() const override { return calls().size() * count_; }
  Status enqueue() override {
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
    for (const Status& result : results_) {
      if (!result.ok()) return result;
    }
    return {};
  }

 private:
  void serve(Machine& machine, std::size_t thread) noexcept {
    const Status entered = machine.enter_thread();
    for (;;) {
      begin_.arrive_and_wait();
      if (is_over_) return;
      results_[thread] = entered.ok() ? run(*calls()[thread]) : entered;
      end_.arrive_and_wait();
    }
  }
  Status run(Call& call) const {
    for (std::size_t i = 0; i < count_; ++i) {
      TANDEM_CHECK_OK(call.enqueue());
      if (!call.waits_by_itself()) TANDEM_CHECK_OK(call.wait());
    }
    return {};
  }

  std::size_t count_;
  std::barrier<> begin_;
  std::barrier<> end_;
  std::vector<Status> results_;
  bool is_over_ = false;  ///< Ordered by `begin_`.
  std::vector<std::thread> threads_{};
};

}  // namespace

std::shared_ptr<Call> together(std::vector<std::shared_ptr<Call>> calls) {
  return std::make_shared<Together>(std::move(calls));
}
std::shared_ptr<Call> in_turn(std::vector<std::shared_ptr<Call>> calls, std::vector<std::size_t> order) {
  return std::make_shared<InTurn>(std::move(calls), std::move(order));
}
std::shared_ptr<Call> back_to_back(std::vector<std::shared_ptr<Call>> calls, std::size_t count) {
  return std::make_shared<BackToBack>(std::move(calls), count);
}
std::shared_ptr<Call> on_threads(Machine& machine, std::vector<std::shared_ptr<Call>> calls, std::size_t count) {
  return std::make_shared<OnThreads>(machine, std::move(calls), count);
}

}  // namespace tandem::suite
