#pragma once

#include "ops/portable/view.h"
#include "runtime/op.h"

namespace tandem::ops::portable {

/// Resizes an output to the view's sizes and copies its elements there.
/// Errors: InvalidArgument, the output cannot take the sizes; InvalidType, no conversion to its dtype.
[[nodiscard]] inline Status write(TensorArg& out, const View& view) {
  TANDEM_CHECK_OK(runtime::resize(out, view.sizes.span()));
  return copy(view_of(out), view);
}

}  // namespace tandem::ops::portable
