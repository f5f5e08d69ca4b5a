// Kernels for tests; the blob says which, and what goes wrong.
#include "support/custom_library/orders.h"

#include <tandem/custom.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#ifndef DEVICES
#define DEVICES TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST)
#endif
#ifndef FLAGS
#define FLAGS 0
#endif

namespace {

using tandem::testing::Fault;
using tandem::testing::Kernel;
using tandem::testing::Orders;

struct State {
  Orders orders{};
  int calls = 0;
};

const Orders& orders_of(void* state) { return static_cast<State*>(state)->orders; }

int32_t fail(char* error, size_t bytes, const char* text, int32_t code) {
  std::snprintf(error, bytes, "%s", text);
  return code;
}

int32_t create(TandemCustomSetup* setup) {
  auto* state = new State;
  if (setup->blob_bytes == sizeof state->orders) std::memcpy(&state->orders, setup->blob, sizeof state->orders);
  const Orders& orders = state->orders;
  setup->state = state;
  setup->output_count = orders.output_count;
  int created = 0;
  if (orders.log != nullptr) {
    created = orders.log->created++;
    orders.log->stream = setup->stream;
    orders.log->device_type = setup->device_type;
    orders.log->blob_is_aligned = reinterpret_cast<std::uintptr_t>(setup->blob) % 16 == 0;
  }
  for (uint32_t i = 0; i < setup->argument_count && i < orders.accesses.size(); ++i) {
    setup->accesses[i] = orders.accesses[i];
  }
  const Fault fault = orders.fault;
  if (fault == Fault::SecondDiffers && created == 1) setup->accesses[0] = TANDEM_CUSTOM_UPDATE;
  if (fault == Fault::CreateFails || fault == Fault::CreateThrows) delete state;
  if (fault == Fault::CreateThrows) throw std::runtime_error{"create throws"};
  return fault == Fault::CreateFails ? fail(setup->error, setup->error_bytes, "no licence", -3) : 0;
}

void destroy(void* state) {
  if (orders_of(state).log != nullptr) ++orders_of(state).log->destroyed;
  delete static_cast<State*>(state);
}

int32_t shapes(void* state, TandemCustomCall* call, int64_t* const* output_sizes) {
  const Orders& orders = orders_of(state);
  if (orders.log != nullptr) ++orders.log->shapes;
  if (orders.fault == Fault::ShapesFail) return fail(call->error, call->error_bytes, "no shape fits", 4);
  if (orders.fault == Fault::ShapesUntouched) return 0;
  const TandemCustomArgument& x = *call->arguments[0];
  for (uint32_t o = 0; o < orders.output_count; ++o) {
    if (output_sizes[o] == nullptr) continue;
    const TandemCustomArgument& y = *call->arguments[call->argument_count - orders.output_count + o];
    if (y.sizes != nullptr || x.data != nullptr) throw std::runtime_error{"sizes or data are there in shapes()"};
    for (int32_t d = 0; d < y.rank; ++d) output_sizes[o][d] = x.sizes[d];
    if (orders.kernel == Kernel::Rows) output_sizes[o][0] = call->arguments[1]->integer;
    if (orders.fault == Fault::ShapesTooLarge) output_sizes[o][0] = 1000;
    if (orders.fault == Fault::ShapesNegative) output_sizes[o][0] = -1;
  }
  return 0;
}

size_t scratch_bytes(void* state, const TandemCustomCall* call) {
  const Orders& orders = orders_of(state);
  if (orders.fault == Fault::ScratchThrows) throw 1;
  if (orders.kernel != Kernel::Scratch) return 0;
  size_t bytes = sizeof(float);
  for (int32_t d = 0; d < call->arguments[0]->rank; ++d) bytes *= static_cast<size_t>(call->arguments[0]->sizes[d]);
  return bytes;
}

/// Calls `function(address in a, address in b)` for each element of b, which has a rank of at most 2.
template <class Function>
void walk(const TandemCustomArgument& a, const TandemCustomArgument& b, Function function) {
  const int64_t rows = b.rank < 2 ? 1 : b.sizes[0];
  const int64_t columns = b.rank < 1 ? 1 : b.sizes[b.rank - 1];
  const auto at = [](const TandemCustomArgument& t, int64_t row, int64_t column) {
    const int64_t offset = (t.rank < 2 ? 0 : row * t.strides[0]) + (t.rank < 1 ? 0 : column * t.strides[t.rank - 1]);
    return static_cast<float*>(t.data) + offset;
  };
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) function(at(a, row, column), at(b, row, column));
  }
}

float number_of(const TandemCustomArgument& argument) {
  switch (argument.kind) {
    case TANDEM_CUSTOM_DOUBLE:
      return static_cast<float>(argument.real);
    case TANDEM_CUSTOM_NONE:
      return -1;
    default:
      return static_cast<float>(argument.integer);
  }
}

int32_t enqueue(void* state, TandemCustomCall* call) {
  const Orders& orders = orders_of(state);
  if (orders.log != nullptr) {
    ++orders.log->calls;
    orders.log->stream = call->stream;
    orders.log->device_type = call->device_type;
  }
  if (orders.fault == Fault::EnqueueFails) return fail(call->error, call->error_bytes, "too hot", 77);
  if (orders.fault == Fault::EnqueueThrows) throw std::runtime_error{"enqueue throws"};
  if (orders.fault == Fault::LongText) {
    std::memset(call->error, 'x', call->error_bytes);
    return 1;
  }
  if (call->device_type != TANDEM_CUSTOM_HOST) return 0;  // a device of a test's, without kernels
  const TandemCustomArgument& x = *call->arguments[0];
  const TandemCustomArgument& y = *call->arguments[call->argument_count - 1];
  const float amount = orders.amount;
  switch (orders.kernel) {
    case Kernel::Add:
      walk(x, y, [amount](const float* from, float* to) { *to = *from + amount; });
      break;
    case Kernel::AddNumber:
      walk(x, y, [number = number_of(*call->arguments[1])](const float* from, float* to) { *to = *from + number; });
      break;
    case Kernel::Rows:
      walk(x, y, [amount](const float* from, float* to) { *to = *from + amount; });
      break;
    case Kernel::Update:
      walk(x, *call->arguments[1], [](const float* from, float* to) { *to += *from; });
      walk(*call->arguments[1], y, [](const float* from, float* to) { *to = *from; });
      break;
    case Kernel::Scratch: {
      if (reinterpret_cast<std::uintptr_t>(call->scratch) % 64 != 0) {
        return fail(call->error, call->error_bytes, "scratch is not aligned", 1);
      }
      TandemCustomArgument between = x;
      between.data = call->scratch;
      walk(x, between, [](const float* from, float* to) { *to = *from; });
      walk(between, y, [amount](const float* from, float* to) { *to = *from + amount; });
      break;
    }
    case Kernel::Count: {
      const auto count = static_cast<float>(++static_cast<State*>(state)->calls);
      walk(x, y, [count](const float* /*from*/, float* to) { *to = count; });
      break;
    }
    case Kernel::Swallow:
      if (y.kind != TANDEM_CUSTOM_NONE) walk(x, y, [amount](const float* from, float* to) { *to = *from + amount; });
      break;
  }
  return 0;
}

}  // namespace

extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
  static const TandemCustomDelegate delegate{.struct_size = sizeof delegate,
                                             .version = TANDEM_CUSTOM_VERSION,
                                             .devices = DEVICES,
                                             .flags = FLAGS,
                                             .create = create,
                                             .destroy = destroy,
                                             .shapes = shapes,
                                             .scratch_bytes = scratch_bytes,
                                             .enqueue = enqueue};
  return &delegate;
}
