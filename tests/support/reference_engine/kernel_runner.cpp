#include "support/reference_engine/kernel_runner.h"

#include <algorithm>

namespace tandem::testing {

void run_on_host(const ReferenceCall& call, int kernel) {
  if (kernel == 0) {
    std::copy_n(call.x, call.count, call.scratch);
    return;
  }
  switch (call.op) {
    case ReferenceOp::Affine:
      for (std::int64_t i = 0; i < call.count; ++i) call.out[i] = call.scale * call.scratch[i] + call.amount;
      return;
    case ReferenceOp::Add:
      for (std::int64_t i = 0; i < call.count; ++i)
        call.out[i] = call.scale * call.scratch[i] + call.y[i] + call.amount;
      return;
    case ReferenceOp::Sum: {
      float sum = 0;
      for (std::int64_t i = 0; i < call.count; ++i) sum += call.scratch[i];
      *call.out = call.scale * sum + call.amount;
      return;
    }
    case ReferenceOp::Cache: {
      const std::int64_t last = std::clamp<std::int64_t>(*call.position, 0, call.rows - 1);
      std::copy_n(call.scratch, call.count, call.cache + last * call.count);
      for (std::int64_t c = 0; c < call.count; ++c) {
        float sum = 0;
        for (std::int64_t r = 0; r <= last; ++r) sum += call.cache[r * call.count + c];
        call.out[c] = sum;
      }
      return;
    }
  }
}

Status HostRunner::launch(device::Stream& /*stream*/, const ReferenceCall& call, int kernel,
                          std::function<void(bool)> around) {
  around(true);
  run_on_host(call, kernel);
  around(false);
  return {};
}

}  // namespace tandem::testing
