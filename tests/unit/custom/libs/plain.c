/* The least that a library has to have, in C: y = x + 1. */
#include <tandem/custom.h>

static int32_t enqueue(void* state, TandemCustomCall* call) {
  const TandemCustomArgument* x = call->arguments[0];
  const TandemCustomArgument* y = call->arguments[1];
  int64_t count = 1;
  (void)state;
  for (int32_t d = 0; d < x->rank; ++d) count *= x->sizes[d];
  for (int64_t i = 0; i < count; ++i) ((float*)y->data)[i] = ((const float*)x->data)[i] + 1;
  return 0;
}

const TandemCustomDelegate* tandem_custom_delegate(uint32_t version) {
  static const TandemCustomDelegate delegate = {.struct_size = sizeof delegate,
                                                .version = TANDEM_CUSTOM_VERSION,
                                                .devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST),
                                                .enqueue = enqueue};
  return version >= TANDEM_CUSTOM_VERSION ? &delegate : 0;
}
