#include "backends/aoti/convolution.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_library.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/shim_guard.h"

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <climits>
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
  decltype(&cudnnTransformTensor) transform = library.find("cudnnTransformTensor");

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

/// Descriptors of one call.
class Call {
 public:
  Call(CudaAotiDevice& device, cudnnDataType_t type, cudnnHandle_t handle) noexcept
      : device_{device}, type_{type}, handle_{handle} {}

  /// Precondition: the tensors lie as the plan says.
  cudnnStatus_t run(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias, const AtenTensor& out,
                    const ConvolutionPlan& plan) {
    const auto in = tensor(plan.rank, plan.input.sizes.data(), plan.input.strides.data());
    const auto result = tensor(plan.rank, plan.result.sizes.data(), plan.result.strides.data());
    const auto filter = make_filter(plan);
    const auto convolution = make_convolution(plan);
    if (status_ != CUDNN_STATUS_SUCCESS) return status_;
    if (plan.transposed) {
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
    if (bias != nullptr && status_ == CUDNN_STATUS_SUCCESS) add_bias(*bias, out, plan, *result);
    return status_;
  }

  /// Copies elements between tensors of the same sizes. Not for strides of 0.
  cudnnStatus_t copy(const AtenTensor& to, const AtenTensor& from) {
    const auto described = [this](const AtenTensor& each) {
      std::array<int, CUDNN_DIM_MAX> extents{};
      std::array<int, CUDNN_DIM_MAX> steps{};
      std::size_t rank = 0;
      for (; rank < each.rank; ++rank) {
        extents[rank] = static_cast<int>(each.sizes[rank]);
        steps[rank] = static_cast<int>(each.strides[rank]);
      }
      for (; rank < 4; ++rank) extents[rank] = steps[rank] = 1;  // cuDNN has no tensors of fewer axes
      return tensor(rank, extents.data(), steps.data());
    };
    const auto target = described(to);
    const auto source = described(from);
    with_scales([&](const void* one, const void* zero) {
      ok(dnn_.transform(handle_, one, source.get(), from.data(), zero, target.get(), to.data()));
    });
    return status_;
  }

 private:
  bool ok(cudnnStatus_t status) noexcept {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = status;
    return status_ == CUDNN_STATUS_SUCCESS;
  }

  Owned<cudnnTensorDescriptor_t> tensor(std::size_t rank, const int* sizes, const int* strides) {
    cudnnTensorDescriptor_t made = nullptr;
    if (!ok(dnn_.tensor_create(&made))) return {nullptr, {dnn_.tensor_destroy}};
    Owned<cudnnTensorDescriptor_t> owned{made, {dnn_.tensor_destroy}};
    ok(dnn_.tensor_set(made, type_, static_cast<int>(rank), sizes, strides));
    return owned;
  }

  Owned<cudnnFilterDescriptor_t> make_filter(const ConvolutionPlan& plan) {
    cudnnFilterDescriptor_t made = nullptr;
    if (!ok(dnn_.filter_create(&made))) return {nullptr, {dnn_.filter_destroy}};
    Owned<cudnnFilterDescriptor_t> owned{made, {dnn_.filter_destroy}};
    ok(dnn_.filter_set(made, type_, plan.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                       static_cast<int>(plan.rank), plan.weight.sizes.data()));
    return owned;
  }

  Owned<cudnnConvolutionDescriptor_t> make_convolution(const ConvolutionPlan& plan) {
    cudnnConvolutionDescriptor_t made = nullptr;
    if (!ok(dnn_.convolution_create(&made))) return {nullptr, {dnn_.convolution_destroy}};
    Owned<cudnnConvolutionDescriptor_t> owned{made, {dnn_.convolution_destroy}};
    const cudnnDataType_t compute = type_ == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    ok(dnn_.convolution_set(made, static_cast<int>(plan.rank - 2), plan.padding.data(), plan.stride.data(),
                            plan.dilation.data(), CUDNN_CROSS_CORRELATION, compute));
    ok(dnn_.set_groups(made, plan.groups));
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

  void add_bias(const AtenTensor& bias, const AtenTensor& out, const ConvolutionPlan& plan, cudnnTensorStruct& result) {
    std::array<int, kMaxConvolutionRank> sizes{};
    std::array<int, kMaxConvolutionRank> strides{};
    sizes.fill(1);
    strides.fill(1);
    sizes[1] = plan.result.sizes[1];
    strides[0] = plan.result.sizes[1];
    const auto descriptor = tensor(plan.rank, sizes.data(), strides.data());
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

std::int32_t refuse_with(const char* shim, const Error& error) {
  note_refusal("aoti_torch_" + std::string{shim} + ": " + error.message(), error.code());
  return 1;
}

/// Tensors of one call, which end with it: the run's memory serves them anew behind the work that uses them.
class Temporaries {
 public:
  explicit Temporaries(CudaAotiDevice& device) noexcept : device_{device} {}
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  ~Temporaries() {
    for (AtenTensor* each : std::span{tensors_}.first(count_)) delete_handle(*each);
  }

  /// New memory of the run. Null, with the reason noted, if there is none.
  AtenTensor* make(std::span<const std::int64_t> sizes, const std::int64_t* strides, ScalarType dtype) {
    using Empty = std::int32_t(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t,
                               std::int32_t, AtenTensor**);
    static auto* const empty = reinterpret_cast<Empty*>(shim_table_cuda().find("aoti_torch_empty_strided"));
    AtenTensor* made = nullptr;
    const std::int32_t status = empty(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides,
                                      static_cast<std::int32_t>(dtype), kAtenCuda, device_.aten_index(), &made);
    if (status != kShimOk) return nullptr;
    return tensors_[count_++] = made;
  }
  /// Leaves one to the caller.
  void keep(const AtenTensor& tensor) noexcept {
    const auto at = std::ranges::find(tensors_, &tensor);
    *at = tensors_[--count_];
  }

 private:
  CudaAotiDevice& device_;
  std::array<AtenTensor*, 9> tensors_{};  // three copies and a result in each of two formats, and the last result
  std::size_t count_ = 0;
};

/// Tells if cuDNN can be told of the tensor as it lies.
bool fits_cudnn(const AtenTensor& tensor) noexcept {
  for (std::size_t d = 0; d < tensor.rank; ++d) {
    if (tensor.strides[d] < 1 || tensor.strides[d] > INT_MAX) return false;
  }
  return true;
}

/// One convolution of a delegate, with the copies that it needs.
class Convolving {
 public:
  Convolving(const char* shim, CudaAotiDevice& device, cudnnDataType_t type, cudnnHandle_t handle) noexcept
      : shim_{shim}, device_{device}, type_{type}, handle_{handle} {}

  /// The result in the format of the plan. Null with what cuDNN said in `failed`, or else with the reason noted.
  AtenTensor* compute(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias,
                      const ConvolutionPlan& plan, cudnnStatus_t& failed) {
    const AtenTensor* const in = plan.copies_input ? dense_copy(input, plan.channels_last) : &input;
    const AtenTensor* const filter = plan.copies_weight ? dense_copy(weight, plan.channels_last) : &weight;
    const AtenTensor* const added = plan.copies_bias ? dense_copy(*bias, false) : bias;
    if (in == nullptr || filter == nullptr || (bias != nullptr && added == nullptr)) return nullptr;
    AtenTensor* const result = make_result(plan, input.rank, input.dtype);
    if (result == nullptr) return nullptr;
    failed = Call{device_, type_, handle_}.run(*in, *filter, added, *result, plan);
    return failed == CUDNN_STATUS_SUCCESS ? result : nullptr;
  }

  AtenTensor* make_result(const ConvolutionPlan& plan, std::size_t rank, ScalarType dtype) {
    return temporaries_.make({plan.result_sizes.data(), rank}, plan.result_strides.data(), dtype);
  }

  /// Copies on the stream. False, with the reason noted, if that failed.
  bool copy(const AtenTensor& to, const AtenTensor& from) {
    // One kernel; what cuDNN does not take is copied row by row.
    if (fits_cudnn(from) && Call{device_, type_, handle_}.copy(to, from) == CUDNN_STATUS_SUCCESS) return true;
    const char* why = device_.copy_elements(to, from);
    if (why != nullptr) refuse(shim_, why);
    return why == nullptr;
  }

  Temporaries& temporaries() noexcept { return temporaries_; }

 private:
  const AtenTensor* dense_copy(const AtenTensor& source, bool channels_last) {
    ConvolutionExtents strides{1};
    if (source.rank > 1) strides = dense_strides(source.size_span(), channels_last);
    const AtenTensor* const made = temporaries_.make(source.size_span(), strides.data(), source.dtype);
    return made != nullptr && copy(*made, source) ? made : nullptr;
  }

  const char* shim_;
  CudaAotiDevice& device_;
  cudnnDataType_t type_;
  cudnnHandle_t handle_;
  Temporaries temporaries_{device_};
};

/// Tells if cuDNN may have nothing for the format of a convolution that is sound.
bool is_for_format(cudnnStatus_t status) noexcept {
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM;
}

std::int32_t convolve(const char* shim, CudaAotiDevice& device, const AtenTensor& input, const AtenTensor& weight,
                      const AtenTensor* bias, const ConvolutionArguments& how, AtenTensor** out) {
  const auto planned = plan_convolution(input, weight, bias, how);
  if (!planned.ok()) return refuse_with(shim, planned.error());
  const ConvolutionPlan& plan = *planned;
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t failed = plan.is_empty ? CUDNN_STATUS_SUCCESS : handle_of(device, &handle);
  if (failed != CUDNN_STATUS_SUCCESS) return refuse(shim, Cudnn::instance().text(failed));
  Convolving convolving{shim, device, *type_of(input.dtype), handle};
  AtenTensor* result = plan.is_empty ? convolving.make_result(plan, input.rank, input.dtype)
                                     : convolving.compute(input, weight, bias, plan, failed);
  if (plan.channels_last && is_for_format(failed)) {
    // The library counts on the strides of the result, not on how it comes about.
    const auto other = plan_convolution(input, weight, bias, how, ConvolutionFormat::ByChannel);
    if (!other.ok()) return refuse_with(shim, other.error());
    const AtenTensor* const by_channel = convolving.compute(input, weight, bias, *other, failed);
    if (by_channel != nullptr) result = convolving.make_result(plan, input.rank, input.dtype);
    if (result != nullptr && !convolving.copy(*result, *by_channel)) return 1;
  }
  if (failed != CUDNN_STATUS_SUCCESS) return refuse(shim, Cudnn::instance().text(failed));
  if (result == nullptr) return 1;
  convolving.temporaries().keep(*result);
  *out = result;
  return kShimOk;
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
      return std::span{data, data == nullptr || count < 0 ? 0 : static_cast<std::size_t>(count)};
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
