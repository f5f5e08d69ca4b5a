#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_library.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/shim_guard.h"

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

/// Convolutions, on cuDNN.
namespace tandem::aoti {
namespace {

#define TANDEM_TEXT_OF(number) #number
#define TANDEM_TEXT(number) TANDEM_TEXT_OF(number)
constexpr const char* kFile = "libcudnn.so." TANDEM_TEXT(CUDNN_MAJOR);
#undef TANDEM_TEXT
#undef TANDEM_TEXT_OF

constexpr std::size_t kMaxWorkspaceBytes = std::size_t{1} << 30;
constexpr int kMaxAlgorithms = 8;
constexpr std::size_t kMaxAxes = 5;

struct Cudnn {
  CudaLibrary library{kFile};
  decltype(&cudnnCreate) create = library.find("cudnnCreate");
  decltype(&cudnnDestroy) destroy = library.find("cudnnDestroy");
  decltype(&cudnnSetStream) set_stream = library.find("cudnnSetStream");
  decltype(&cudnnGetErrorString) text = library.find("cudnnGetErrorString");
  decltype(&cudnnCreateTensorDescriptor) tensor_create = library.find("cudnnCreateTensorDescriptor");
  decltype(&cudnnDestroyTensorDescriptor) tensor_destroy = library.find("cudnnDestroyTensorDescriptor");
  decltype(&cudnnSetTensorNdDescriptor) tensor_set = library.find("cudnnSetTensorNdDescriptor");
  decltype(&cudnnCreateFilterDescriptor) filter_create = library.find("cudnnCreateFilterDescriptor");
  decltype(&cudnnDestroyFilterDescriptor) filter_destroy = library.find("cudnnDestroyFilterDescriptor");
  decltype(&cudnnSetFilterNdDescriptor) filter_set = library.find("cudnnSetFilterNdDescriptor");
  decltype(&cudnnCreateConvolutionDescriptor) convolution_create = library.find("cudnnCreateConvolutionDescriptor");
  decltype(&cudnnDestroyConvolutionDescriptor) convolution_destroy = library.find("cudnnDestroyConvolutionDescriptor");
  decltype(&cudnnSetConvolutionNdDescriptor) convolution_set = library.find("cudnnSetConvolutionNdDescriptor");
  decltype(&cudnnSetConvolutionGroupCount) set_groups = library.find("cudnnSetConvolutionGroupCount");
  decltype(&cudnnSetConvolutionMathType) set_math = library.find("cudnnSetConvolutionMathType");
  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) forward_algorithms =
      library.find("cudnnGetConvolutionForwardAlgorithm_v7");
  decltype(&cudnnConvolutionForward) forward = library.find("cudnnConvolutionForward");
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) backward_algorithms =
      library.find("cudnnGetConvolutionBackwardDataAlgorithm_v7");
  decltype(&cudnnConvolutionBackwardData) backward = library.find("cudnnConvolutionBackwardData");
  decltype(&cudnnAddTensor) add = library.find("cudnnAddTensor");

  static const Cudnn& instance() {
    static const auto* cudnn = new Cudnn;  // never destroyed: handles of it stay
    return *cudnn;
  }
};

template <class Handle>
struct Destroy {
  cudnnStatus_t (*destroy)(Handle);
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle>>;

/// The arguments of a convolution, as the shim gets them.
struct Convolution {
  std::span<const std::int64_t> stride{};
  std::span<const std::int64_t> padding{};
  std::span<const std::int64_t> dilation{};
  std::span<const std::int64_t> output_padding{};
  bool transposed = false;
  std::int64_t groups = 1;
};

std::optional<cudnnDataType_t> type_of(ScalarType dtype) noexcept {
  switch (dtype) {
    case ScalarType::Float:
      return CUDNN_DATA_FLOAT;
    case ScalarType::Half:
      return CUDNN_DATA_HALF;
    case ScalarType::BFloat16:
      return CUDNN_DATA_BFLOAT16;
    case ScalarType::Double:
      return CUDNN_DATA_DOUBLE;
    default:
      return std::nullopt;
  }
}

using Extents = std::array<std::int64_t, kMaxAxes>;

/// Strides of a dense tensor, by channel, or with the channels innermost.
Extents dense_strides(std::span<const std::int64_t> sizes, bool channels_last) noexcept {
  Extents strides{};
  std::int64_t step = 1;
  const auto next = [&](std::size_t d) {
    strides[d] = step;
    step *= sizes[d];
  };
  if (channels_last) next(1);
  for (std::size_t d = sizes.size(); d-- > 2;) next(d);
  if (!channels_last) next(1);
  next(0);
  return strides;
}

bool has_strides(const AtenTensor& tensor, const Extents& strides) noexcept {
  for (std::size_t d = 0; d < tensor.rank; ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

/// PyTorch's rule: channels come last in the result if they do in the input or the weight.
bool is_channels_last(const AtenTensor& tensor) noexcept {
  return !tensor.is_contiguous() && has_strides(tensor, dense_strides(tensor.size_span(), true));
}

/// Null on success, else why it can't be.
const char* result_sizes(const AtenTensor& input, const AtenTensor& weight, const Convolution& how,
                         Extents& sizes) noexcept {
  const std::size_t axes = input.rank - std::size_t{2};
  if (how.stride.size() != axes || how.padding.size() != axes || how.dilation.size() != axes) {
    return "a stride, padding or dilation is missing";
  }
  if (how.groups < 1) return "no groups";
  if (input.sizes[1] != (how.transposed ? weight.sizes[0] : weight.sizes[1] * how.groups)) {
    return "the channels of input and weight do not fit";
  }
  sizes[0] = input.sizes[0];
  sizes[1] = how.transposed ? weight.sizes[1] * how.groups : weight.sizes[0];
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = how.dilation[i] * (weight.sizes[i + 2] - 1) + 1;
    if (how.stride[i] < 1) return "a stride is not positive";
    if (how.transposed) {
      const std::int64_t more = i < how.output_padding.size() ? how.output_padding[i] : 0;
      sizes[i + 2] = (input.sizes[i + 2] - 1) * how.stride[i] - 2 * how.padding[i] + reach + more;
    } else {
      sizes[i + 2] = (input.sizes[i + 2] + 2 * how.padding[i] - reach) / how.stride[i] + 1;
    }
    if (sizes[i + 2] < 1) return "the result has no elements";
  }
  return nullptr;
}

/// Descriptors of one call.
class Call {
 public:
  Call(CudaAotiDevice& device, cudnnDataType_t type, cudnnHandle_t handle) noexcept
      : device_{device}, type_{type}, handle_{handle} {}

  cudnnStatus_t run(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias, const AtenTensor& out,
                    bool channels_last, const Convolution& how) {
    const auto in = tensor(input.size_span(), input.stride_span());
    const auto result = tensor(out.size_span(), out.stride_span());
    const auto filter = make_filter(weight, channels_last);
    const auto convolution = make_convolution(how);
    if (status_ != CUDNN_STATUS_SUCCESS) return status_;
    if (how.transposed) {
      const auto algorithm = choose<cudnnConvolutionBwdDataAlgoPerf_t>([&](int* count, auto* found) {
        return dnn_.backward_algorithms(handle_, filter.get(), in.get(), convolution.get(), result.get(),
                                        kMaxAlgorithms, count, found);
      });
      with_scales([&](const void* one, const void* zero) {
        ok(dnn_.backward(handle_, one, filter.get(), weight.data(), in.get(), input.data(), convolution.get(),
                         algorithm.algo, workspace_, algorithm.memory, zero, result.get(), out.data()));
      });
    } else {
      const auto algorithm = choose<cudnnConvolutionFwdAlgoPerf_t>([&](int* count, auto* found) {
        return dnn_.forward_algorithms(handle_, in.get(), filter.get(), convolution.get(), result.get(), kMaxAlgorithms,
                                       count, found);
      });
      with_scales([&](const void* one, const void* zero) {
        ok(dnn_.forward(handle_, one, in.get(), input.data(), filter.get(), weight.data(), convolution.get(),
                        algorithm.algo, workspace_, algorithm.memory, zero, result.get(), out.data()));
      });
    }
    if (bias != nullptr && status_ == CUDNN_STATUS_SUCCESS) add_bias(*bias, out, *result);
    return status_;
  }

 private:
  bool ok(cudnnStatus_t status) noexcept {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = status;
    return status_ == CUDNN_STATUS_SUCCESS;
  }

  Owned<cudnnTensorDescriptor_t> tensor(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    cudnnTensorDescriptor_t made = nullptr;
    if (!ok(dnn_.tensor_create(&made))) return {nullptr, {dnn_.tensor_destroy}};
    Owned<cudnnTensorDescriptor_t> owned{made, {dnn_.tensor_destroy}};
    std::array<int, kMaxAxes> extents{};
    std::array<int, kMaxAxes> steps{};
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      extents[d] = static_cast<int>(sizes[d]);
      steps[d] = static_cast<int>(strides[d]);
    }
    ok(dnn_.tensor_set(made, type_, static_cast<int>(sizes.size()), extents.data(), steps.data()));
    return owned;
  }

  Owned<cudnnFilterDescriptor_t> make_filter(const AtenTensor& weight, bool channels_last) {
    cudnnFilterDescriptor_t made = nullptr;
    if (!ok(dnn_.filter_create(&made))) return {nullptr, {dnn_.filter_destroy}};
    Owned<cudnnFilterDescriptor_t> owned{made, {dnn_.filter_destroy}};
    std::array<int, kMaxAxes> extents{};
    for (std::size_t d = 0; d < weight.rank; ++d) extents[d] = static_cast<int>(weight.sizes[d]);
    ok(dnn_.filter_set(made, type_, channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, weight.rank,
                       extents.data()));
    return owned;
  }

  Owned<cudnnConvolutionDescriptor_t> make_convolution(const Convolution& how) {
    cudnnConvolutionDescriptor_t made = nullptr;
    if (!ok(dnn_.convolution_create(&made))) return {nullptr, {dnn_.convolution_destroy}};
    Owned<cudnnConvolutionDescriptor_t> owned{made, {dnn_.convolution_destroy}};
    std::array<int, kMaxAxes> padding{};
    std::array<int, kMaxAxes> stride{};
    std::array<int, kMaxAxes> dilation{};
    for (std::size_t i = 0; i < how.stride.size(); ++i) {
      padding[i] = static_cast<int>(how.padding[i]);
      stride[i] = static_cast<int>(how.stride[i]);
      dilation[i] = static_cast<int>(how.dilation[i]);
    }
    const cudnnDataType_t compute = type_ == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    ok(dnn_.convolution_set(made, static_cast<int>(how.stride.size()), padding.data(), stride.data(), dilation.data(),
                            CUDNN_CROSS_CORRELATION, compute));
    ok(dnn_.set_groups(made, static_cast<int>(how.groups)));
    ok(dnn_.set_math(made, CUDNN_DEFAULT_MATH));  // PyTorch's default: TF32 for float32
    return owned;
  }

  /// The fastest that cuDNN knows and whose workspace can be had.
  template <class Found, class List>
  Found choose(List&& list) {
    std::array<Found, kMaxAlgorithms> found{};
    int count = 0;
    if (!ok(list(&count, found.data()))) return {};
    for (const Found& each : std::span{found}.first(static_cast<std::size_t>(count))) {
      if (each.status != CUDNN_STATUS_SUCCESS || each.memory > kMaxWorkspaceBytes) continue;
      workspace_ = each.memory == 0 ? nullptr : device_.workspace(each.memory);
      if (each.memory == 0 || workspace_ != nullptr) return each;
    }
    ok(CUDNN_STATUS_NOT_SUPPORTED);
    return {};
  }

  /// Calls `use(one, zero)` in the type that cuDNN wants for it.
  template <class Use>
  void with_scales(Use&& use) {
    if (status_ != CUDNN_STATUS_SUCCESS) return;
    const float one = 1;
    const float zero = 0;
    const double double_one = 1;
    const double double_zero = 0;
    type_ == CUDNN_DATA_DOUBLE ? use(&double_one, &double_zero) : use(&one, &zero);
  }

  void add_bias(const AtenTensor& bias, const AtenTensor& out, cudnnTensorStruct& result) {
    Extents sizes{};
    sizes.fill(1);
    sizes[1] = bias.sizes[0];
    const std::span<const std::int64_t> shape{sizes.data(), out.rank};
    const Extents strides = dense_strides(shape, false);
    const auto descriptor = tensor(shape, {strides.data(), out.rank});
    with_scales([&](const void* one, const void* /*zero*/) {
      ok(dnn_.add(handle_, one, descriptor.get(), bias.data(), one, &result, out.data()));
    });
  }

  const Cudnn& dnn_ = Cudnn::instance();
  CudaAotiDevice& device_;
  cudnnDataType_t type_;
  cudnnHandle_t handle_;
  std::byte* workspace_ = nullptr;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

/// The container's own: a handle has one stream at a time.
cudnnStatus_t handle_of(CudaAotiDevice& device, cudnnHandle_t* out) {
  std::shared_ptr<void>& kept = device.library_handle();
  if (kept == nullptr) {
    cudnnHandle_t made = nullptr;
    const cudnnStatus_t status = Cudnn::instance().create(&made);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    kept = std::shared_ptr<void>{made,
                                 [](void* handle) { Cudnn::instance().destroy(static_cast<cudnnHandle_t>(handle)); }};
  }
  *out = static_cast<cudnnHandle_t>(kept.get());
  return Cudnn::instance().set_stream(*out, static_cast<cudaStream_t>(device.stream()));
}

std::int32_t convolve(const char* shim, CudaAotiDevice& device, const AtenTensor& input, const AtenTensor& weight,
                      const AtenTensor* bias, const Convolution& how, AtenTensor** out) {
  const auto type = type_of(input.dtype);
  if (!type || weight.dtype != input.dtype || (bias != nullptr && bias->dtype != input.dtype)) {
    return refuse(shim, "no convolutions of these dtypes");
  }
  if (input.rank < 4 || input.rank > kMaxAxes || weight.rank != input.rank || (bias != nullptr && bias->rank != 1)) {
    return refuse(shim, "only two- and three-dimensional convolutions of batches");
  }
  Extents sizes{};
  if (const char* why = result_sizes(input, weight, how, sizes); why != nullptr) return refuse(shim, why);
  const bool channels_last = is_channels_last(input) || is_channels_last(weight);
  if (!has_strides(weight, dense_strides(weight.size_span(), channels_last))) {
    return refuse(shim, "the weight's layout is not the input's");
  }
  const std::span<const std::int64_t> shape{sizes.data(), input.rank};
  const Extents strides = dense_strides(shape, channels_last);
  using Empty = std::int32_t(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t,
                             std::int32_t, AtenTensor**);
  static auto* const empty = reinterpret_cast<Empty*>(shim_table_cuda().find("aoti_torch_empty_strided"));
  AtenTensor* result = nullptr;
  const std::int32_t made = empty(input.rank, sizes.data(), strides.data(), static_cast<std::int32_t>(input.dtype),
                                  kAtenCuda, device.aten_index(), &result);
  if (made != kShimOk) return made;
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = handle_of(device, &handle);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = Call{device, *type, handle}.run(input, weight, bias, *result, channels_last, how);
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    *out = result;
    return kShimOk;
  }
  delete_handle(*result);
  return refuse(shim, Cudnn::instance().text(status));
}

std::int32_t convolution(AtenTensor* input, AtenTensor* weight, AtenTensor** bias, const std::int64_t* stride,
                         std::int64_t stride_count, const std::int64_t* padding, std::int64_t padding_count,
                         const std::int64_t* dilation, std::int64_t dilation_count, std::int32_t transposed,
                         const std::int64_t* output_padding, std::int64_t output_padding_count, std::int64_t groups,
                         AtenTensor** out) noexcept {
  constexpr const char* kShim = "cuda_convolution";
  AtenTensor* const added = bias == nullptr ? nullptr : *bias;
  if (!is_live(input) || !is_live(weight) || (added != nullptr && !is_live(added))) return refuse_handle(kShim);
  if (out == nullptr) return refuse_null(kShim);
  CudaAotiDevice* device = calling_cuda();
  if (device == nullptr) return refuse(kShim, "not within a call of the delegate");
  return guarded(kShim, [&] {
    if (const std::string& problem = Cudnn::instance().library.problem(); !problem.empty()) {
      note_refusal("aoti_torch_" + std::string{kShim} + ": " + problem, ErrorCode::IncompatibleDelegate);
      return std::int32_t{1};
    }
    if (!device->may_enqueue("a convolution of cuDNN's")) return std::int32_t{1};
    const auto list = [](const std::int64_t* data, std::int64_t count) {
      return std::span{data, static_cast<std::size_t>(count)};
    };
    return convolve(kShim, *device, *input, *weight, added,
                    {list(stride, stride_count), list(padding, padding_count), list(dilation, dilation_count),
                     list(output_padding, output_padding_count), transposed != 0, groups},
                    out);
  });
}

}  // namespace

void add_cuda_convolution_shims(std::vector<Shim>& shims) {
  shims.push_back({"aoti_torch_cuda_convolution", address_of(convolution)});
}

}  // namespace tandem::aoti
