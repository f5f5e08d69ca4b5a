// A plug-in without a library behind it: engines of one input and one output, or as the bytes say.
#include "backends/tensorrt/plugin_api.h"

#include <cstdio>
#include <cstring>
#include <string>

struct TandemNvinferEngine {
  bool is_aliased;
};
struct TandemNvinferContext {
  std::int64_t rows;
  void* addresses[2];
  int auxiliary;
};

namespace {

int fail(TandemNvinferFailure* failure, const char* text) {
  std::snprintf(failure->text, sizeof failure->text, "%s", text);
  return 1;
}

int load(TandemNvinferFailure* failure) {
#ifdef TANDEM_TEST_NO_LIBRARY
  return fail(failure, "libnvinfer.so.10: no such file");
#else
  static_cast<void>(failure);
  return 0;
#endif
}
const char* loaded() { return "nothing"; }

TandemNvinferEngine* engine_open(const void* bytes, std::size_t size, TandemNvinferFailure* failure) {
  const std::string text{static_cast<const char*>(bytes), size};
  if (text.starts_with("engine")) return new TandemNvinferEngine{text == "engine aliased"};
  fail(failure, text.c_str());  // the bytes are what the library is to say
  return nullptr;
}
void engine_close(TandemNvinferEngine* engine) { delete engine; }
int tensor_count(const TandemNvinferEngine* /*engine*/) { return 2; }

int tensor(const TandemNvinferEngine* engine, int index, TandemNvinferTensor* tensor, TandemNvinferFailure* failure) {
  if (tensor->struct_size < sizeof *tensor) return fail(failure, "the caller is older");
  tensor->name = index == 0 ? "x" : "y";
  tensor->type_name = "kFLOAT";
  tensor->format_name = "Row major linear FP32 format";
  tensor->scalar_type = 6;
  tensor->is_input = index == 0 ? 1 : 0;
  tensor->is_linear = 1;
  tensor->alias_of = index == 1 && engine->is_aliased ? 0 : -1;
  tensor->rank = 2;
  tensor->sizes[0] = -1;
  tensor->sizes[1] = 4;
  tensor->least[0] = 1;
  tensor->least[1] = tensor->most[1] = 4;
  tensor->most[0] = 8;
  return 0;
}

int auxiliary_streams(const TandemNvinferEngine* /*engine*/) { return 2; }
std::int64_t streamable_bytes(const TandemNvinferEngine* /*engine*/) { return 77; }
std::int64_t automatic_budget(const TandemNvinferEngine* /*engine*/) { return 33; }
int set_weight_budget(TandemNvinferEngine* /*engine*/, std::int64_t bytes, TandemNvinferFailure* failure) {
  return bytes <= 77 ? 0 : fail(failure, "too much");
}

TandemNvinferContext* context_open(TandemNvinferEngine* /*engine*/, void* const* /*auxiliary*/, int count,
                                   TandemNvinferFailure* /*failure*/) {
  return new TandemNvinferContext{0, {nullptr, nullptr}, count};
}
void context_close(TandemNvinferContext* context) { delete context; }
int set_shape(TandemNvinferContext* context, int /*tensor*/, const std::int64_t* sizes, int /*rank*/,
              TandemNvinferFailure* failure) {
  if (sizes[0] > 8) return fail(failure, "setInputShape: outside the profile");
  context->rows = sizes[0];
  return 0;
}
int infer_shapes(TandemNvinferContext* context, TandemNvinferFailure* failure) {
  return context->rows > 0 ? 0 : fail(failure, "inferShapes: x");
}
int shape_of(TandemNvinferContext* context, int /*tensor*/, std::int64_t* sizes, int* rank,
             TandemNvinferFailure* /*failure*/) {
  sizes[0] = context->rows;
  sizes[1] = 4;
  *rank = 2;
  return 0;
}
int scratch_bytes(TandemNvinferContext* context, std::size_t* bytes, TandemNvinferFailure* /*failure*/) {
  *bytes = static_cast<std::size_t>(context->rows) * 100;
  return 0;
}
int set_scratch(TandemNvinferContext* context, void* /*data*/, std::size_t bytes, TandemNvinferFailure* failure) {
  return bytes >= static_cast<std::size_t>(context->rows) * 100 ? 0 : fail(failure, "too little scratch");
}
int set_address(TandemNvinferContext* context, int tensor, void* data, TandemNvinferFailure* failure) {
  if (data == nullptr) return fail(failure, "setTensorAddress: null");
  context->addresses[tensor] = data;
  return 0;
}
/// y = stream's number + x, row by row; what the test's streams are is up to it.
int enqueue(TandemNvinferContext* context, void* stream, TandemNvinferFailure* failure) {
  if (context->auxiliary != 2) return fail(failure, "auxiliary streams");
  if (context->addresses[0] == nullptr || context->addresses[1] == nullptr) return fail(failure, "enqueueV3: address");
  const auto* x = static_cast<const float*>(context->addresses[0]);
  auto* y = static_cast<float*>(context->addresses[1]);
  for (std::int64_t i = 0; i < 4 * context->rows; ++i) y[i] = *static_cast<const float*>(stream) + x[i];
  return 0;
}

#ifdef TANDEM_TEST_VERSION
constexpr std::uint32_t kVersion = TANDEM_TEST_VERSION;
#else
constexpr std::uint32_t kVersion = TANDEM_NVINFER_VERSION;
#endif

}  // namespace

#ifdef TANDEM_TEST_ENTRY
#define TANDEM_ENTRY TANDEM_TEST_ENTRY
#else
#define TANDEM_ENTRY tandem_nvinfer_api
#endif

extern "C" __attribute__((visibility("default"))) const TandemNvinferApi* TANDEM_ENTRY(void) {
  static const TandemNvinferApi api{sizeof(TandemNvinferApi),
                                    kVersion,
                                    "test",
                                    16,
                                    load,
                                    loaded,
                                    engine_open,
                                    engine_close,
                                    tensor_count,
                                    tensor,
                                    auxiliary_streams,
                                    streamable_bytes,
                                    automatic_budget,
                                    set_weight_budget,
                                    context_open,
                                    context_close,
                                    set_shape,
                                    infer_shapes,
                                    shape_of,
                                    scratch_bytes,
                                    set_scratch,
                                    set_address,
                                    enqueue};
  return &api;
}
