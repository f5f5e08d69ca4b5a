// Has not executed an engine on a GPU; docs/tensorrt.md says what was checked instead.
#include "backends/tensorrt/nvinfer/library.h"
#include "backends/tensorrt/nvinfer/message_log.h"
#include "backends/tensorrt/plugin_api.h"

#include <NvInferRuntime.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using tandem::nvinfer::MessageLog;

/// What the border's opaque engine is.
struct TandemNvinferEngine {
  std::unique_ptr<nvinfer1::IRuntime> runtime{};
  std::unique_ptr<nvinfer1::ICudaEngine> engine{};
  std::vector<std::string> names{};

  [[nodiscard]] const char* name(std::int32_t tensor) const {
    return names.at(static_cast<std::size_t>(tensor)).c_str();
  }
};

struct TandemNvinferContext {
  const TandemNvinferEngine& engine;
  std::unique_ptr<nvinfer1::IExecutionContext> context{};
};

namespace {

MessageLog message_log;

void fail(TandemNvinferFailure* failure, const char* what) noexcept {
  if (failure == nullptr) return;
  MessageLog::copy_to(failure->text, sizeof failure->text);
  if (failure->text[0] == 0) std::snprintf(failure->text, sizeof failure->text, "%s", what);
}

/// Runs `call`, which answers whether it went well.
template <class Call>
std::int32_t checked(TandemNvinferFailure* failure, const char* what, Call&& call) noexcept {
  MessageLog::clear();
  try {
    if (call()) return 0;
    fail(failure, what);
  } catch (const std::exception& error) {
    fail(failure, error.what());
  }
  return 1;
}

struct Type {
  const char* name;
  std::int32_t scalar_type;
};

/// Source: DataType of NvInferRuntimeBase.h, tandem::ScalarType.
Type type_of(nvinfer1::DataType type) noexcept {
  switch (static_cast<std::int32_t>(type)) {
    case 0:
      return {"kFLOAT", 6};
    case 1:
      return {"kHALF", 5};
    case 2:
      return {"kINT8", 1};
    case 3:
      return {"kINT32", 3};
    case 4:
      return {"kBOOL", 11};
    case 5:
      return {"kUINT8", 0};
    case 6:
      return {"kFP8", 24};
    case 7:
      return {"kBF16", 15};
    case 8:
      return {"kINT64", 4};
    case 9:
      return {"kINT4", -1};
    case 10:
      return {"kFP4", -1};
    case 11:
      return {"kE8M0", -1};
    default:
      return {"of an unknown type", -1};
  }
}

/// Since TensorRT 10.15; engines of older ones write nowhere but where they are told.
template <class Engine>
const char* aliased_input(const Engine& engine, const char* name) {
  if constexpr (requires { engine.getAliasedInputTensor(name); }) {
    return engine.getAliasedInputTensor(name);
  } else {
    return nullptr;
  }
}

bool copy_sizes(const nvinfer1::Dims& from, std::int64_t* to) noexcept {
  if (from.nbDims < 0 || from.nbDims > TANDEM_NVINFER_MAX_RANK) return false;
  for (std::int32_t d = 0; d < from.nbDims; ++d) to[d] = from.d[d];
  return true;
}

std::int32_t load(TandemNvinferFailure* failure) noexcept {
  const tandem::nvinfer::Library& library = tandem::nvinfer::library();
  if (library.create_runtime != nullptr) return 0;
  if (failure != nullptr) std::snprintf(failure->text, sizeof failure->text, "%s", library.why_not.c_str());
  return 1;
}

const char* loaded() noexcept { return tandem::nvinfer::library().description.c_str(); }

TandemNvinferEngine* engine_open(const void* bytes, std::size_t size, TandemNvinferFailure* failure) noexcept {
  std::unique_ptr<TandemNvinferEngine> made;
  const std::int32_t failed = checked(failure, "the library gave no reason", [&] {
    made = std::make_unique<TandemNvinferEngine>();
    made->runtime.reset(static_cast<nvinfer1::IRuntime*>(
        tandem::nvinfer::library().create_runtime(&message_log, static_cast<std::int32_t>(NV_TENSORRT_VERSION))));
    if (made->runtime == nullptr) return false;
    made->engine.reset(made->runtime->deserializeCudaEngine(bytes, size));
    if (made->engine == nullptr) return false;
    for (std::int32_t t = 0; t < made->engine->getNbIOTensors(); ++t) {
      made->names.emplace_back(made->engine->getIOTensorName(t));
    }
    return true;
  });
  return failed != 0 ? nullptr : made.release();
}

void engine_close(TandemNvinferEngine* engine) noexcept {
  if (engine == nullptr) return;
  engine->engine.reset();  // before the runtime that made it
  delete engine;
}

std::int32_t tensor_count(const TandemNvinferEngine* engine) noexcept {
  return static_cast<std::int32_t>(engine->names.size());
}

bool describe(const TandemNvinferEngine& of, std::int32_t index, TandemNvinferTensor& tensor) {
  const nvinfer1::ICudaEngine& engine = *of.engine;
  const char* const name = of.name(index);
  const Type type = type_of(engine.getTensorDataType(name));
  tensor.name = name;
  tensor.type_name = type.name;
  tensor.scalar_type = type.scalar_type;
  tensor.format_name = engine.getTensorFormatDesc(name, 0);
  if (tensor.format_name == nullptr) tensor.format_name = "";
  tensor.is_input = engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT ? 1 : 0;
  const bool is_packed = engine.getTensorComponentsPerElement(name, 0) > 1;
  tensor.is_linear = engine.getTensorFormat(name, 0) == nvinfer1::TensorFormat::kLINEAR && !is_packed ? 1 : 0;
  tensor.is_on_host = engine.getTensorLocation(name) == nvinfer1::TensorLocation::kHOST ? 1 : 0;
  tensor.is_shape_value = engine.isShapeInferenceIO(name) ? 1 : 0;
  tensor.alias_of = -1;
  const nvinfer1::Dims sizes = engine.getTensorShape(name);
  tensor.rank = sizes.nbDims;
  if (!copy_sizes(sizes, tensor.sizes)) return false;
  if (tensor.is_input != 0) {
    using nvinfer1::OptProfileSelector;
    // Contents of shape values have bounds of another kind; they are refused elsewhere.
    if (tensor.is_shape_value != 0) return true;
    return copy_sizes(engine.getProfileShape(name, 0, OptProfileSelector::kMIN), tensor.least) &&
           copy_sizes(engine.getProfileShape(name, 0, OptProfileSelector::kMAX), tensor.most);
  }
  if (const char* const input = aliased_input(engine, name); input != nullptr) {
    const auto at = std::find(of.names.begin(), of.names.end(), input);
    if (at == of.names.end()) return false;
    tensor.alias_of = static_cast<std::int32_t>(at - of.names.begin());
  }
  return true;
}

std::int32_t tensor(const TandemNvinferEngine* engine, std::int32_t index, TandemNvinferTensor* tensor,
                    TandemNvinferFailure* failure) noexcept {
  return checked(failure, "the tensor has no description", [&] { return describe(*engine, index, *tensor); });
}

std::int32_t auxiliary_streams(const TandemNvinferEngine* engine) noexcept { return engine->engine->getNbAuxStreams(); }
std::int64_t streamable_bytes(const TandemNvinferEngine* engine) noexcept {
  return engine->engine->getStreamableWeightsSize();
}
std::int64_t automatic_budget(const TandemNvinferEngine* engine) noexcept {
  return engine->engine->getWeightStreamingAutomaticBudget();
}
std::int32_t set_weight_budget(TandemNvinferEngine* engine, std::int64_t bytes,
                               TandemNvinferFailure* failure) noexcept {
  return checked(failure, "setWeightStreamingBudgetV2",
                 [&] { return engine->engine->setWeightStreamingBudgetV2(bytes); });
}

TandemNvinferContext* context_open(TandemNvinferEngine* engine, void* const* auxiliary, std::int32_t count,
                                   TandemNvinferFailure* failure) noexcept {
  std::unique_ptr<TandemNvinferContext> made;
  const std::int32_t failed = checked(failure, "createExecutionContext", [&] {
    made.reset(new TandemNvinferContext{*engine});
    made->context.reset(
        engine->engine->createExecutionContext(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED));
    if (made->context == nullptr) return false;
    if (count == 0) return true;
    std::vector<cudaStream_t> streams;
    for (std::int32_t i = 0; i < count; ++i) streams.push_back(static_cast<cudaStream_t>(auxiliary[i]));
    made->context->setAuxStreams(streams.data(), count);
    return true;
  });
  return failed != 0 ? nullptr : made.release();
}

void context_close(TandemNvinferContext* context) noexcept { delete context; }

std::int32_t set_shape(TandemNvinferContext* context, std::int32_t tensor, const std::int64_t* sizes, std::int32_t rank,
                       TandemNvinferFailure* failure) noexcept {
  return checked(failure, "setInputShape", [&] {
    nvinfer1::Dims dims{};
    if (rank < 0 || rank > nvinfer1::Dims::MAX_DIMS) return false;
    dims.nbDims = rank;
    std::copy_n(sizes, rank, dims.d);
    return context->context->setInputShape(context->engine.name(tensor), dims);
  });
}

std::int32_t infer_shapes(TandemNvinferContext* context, TandemNvinferFailure* failure) noexcept {
  return checked(failure, "inferShapes", [&] { return context->context->inferShapes(0, nullptr) == 0; });
}

std::int32_t shape_of(TandemNvinferContext* context, std::int32_t tensor, std::int64_t* sizes, std::int32_t* rank,
                      TandemNvinferFailure* failure) noexcept {
  return checked(failure, "getTensorShape", [&] {
    const nvinfer1::Dims dims = context->context->getTensorShape(context->engine.name(tensor));
    *rank = dims.nbDims;
    return copy_sizes(dims, sizes);
  });
}

std::int32_t scratch_bytes(TandemNvinferContext* context, std::size_t* bytes, TandemNvinferFailure* failure) noexcept {
  return checked(failure, "updateDeviceMemorySizeForShapes", [&] {
    *bytes = context->context->updateDeviceMemorySizeForShapes();
    return true;
  });
}

std::int32_t set_scratch(TandemNvinferContext* context, void* data, std::size_t bytes,
                         TandemNvinferFailure* failure) noexcept {
  return checked(failure, "setDeviceMemoryV2", [&] {
    context->context->setDeviceMemoryV2(data, static_cast<std::int64_t>(bytes));
    return true;
  });
}

std::int32_t set_address(TandemNvinferContext* context, std::int32_t tensor, void* data,
                         TandemNvinferFailure* failure) noexcept {
  return checked(failure, "setTensorAddress",
                 [&] { return context->context->setTensorAddress(context->engine.name(tensor), data); });
}

std::int32_t enqueue(TandemNvinferContext* context, void* stream, TandemNvinferFailure* failure) noexcept {
  return checked(failure, "enqueueV3", [&] { return context->context->enqueueV3(static_cast<cudaStream_t>(stream)); });
}

const char* built_for() noexcept {
  static const std::string text = std::string{tandem::nvinfer::kProduct} + " " + std::to_string(NV_TENSORRT_MAJOR) +
                                  "." + std::to_string(NV_TENSORRT_MINOR) + "." + std::to_string(NV_TENSORRT_PATCH);
  return text.c_str();
}

/// Source: what IExecutionContext::setTensorAddress() asks of addresses.
constexpr std::uint32_t kAlignment = 256;

}  // namespace

extern "C" __attribute__((visibility("default"))) const TandemNvinferApi* tandem_nvinfer_api(void) noexcept {
  static const TandemNvinferApi api{sizeof(TandemNvinferApi),
                                    TANDEM_NVINFER_VERSION,
                                    built_for(),
                                    kAlignment,
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
