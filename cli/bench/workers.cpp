#include "cli/bench/workers.h"

#include <cstddef>

namespace tandem::cli::bench {

Workers::Workers(unsigned count) : begin_{count + 1}, end_{count + 1} {
  try {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (...) {
    // Those that there are wait for all: they go home, or nobody could join them.
    static_cast<void>(begin_.arrive(static_cast<std::ptrdiff_t>(count - threads_.size() + 1)));
    throw;
  }
}

void Workers::work(unsigned index) {
  for (;;) {
    begin_.arrive_and_wait();
    if (job_ == nullptr) return;
    (*job_)(index);
    end_.arrive_and_wait();
  }
}

Workers::~Workers() {
  job_ = nullptr;
  begin_.arrive_and_wait();
}

void Workers::run(const std::function<void(unsigned)>& job) {
  job_ = &job;
  begin_.arrive_and_wait();
  end_.arrive_and_wait();
}

}  // namespace tandem::cli::bench
