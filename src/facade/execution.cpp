#include "base/fork.h"
#include "runtime/execute/lane.h"
#include "runtime/state.h"

#include <tandem/method.h>

namespace tandem {

const Event& Execution::done() const noexcept { return shared_->done; }
std::span<const Value> Execution::outputs() const noexcept { return shared_->early; }

Result<std::vector<Value>> Execution::get() const {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  TANDEM_CHECK_OK(shared_->done.synchronize());
  return shared_->values;
}

Status State::reset() {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  return impl_->reset();
}
bool State::is_indeterminate() const noexcept { return impl_->is_indeterminate(); }

}  // namespace tandem
