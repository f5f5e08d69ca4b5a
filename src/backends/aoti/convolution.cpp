#include "backends/aoti/convolution.h"

#include <climits>
#include <optional>
#include <string>
#include <utility>

namespace tandem::aoti {
namespace {

Error refuse_kind(std::string why) { return Error{ErrorCode::IncompatibleDelegate, std::move(why)}; }
Error refuse_sizes(std::string why) { return Error{ErrorCode::BackendFailed, std::move(why)}; }

bool is_supported(ScalarType dtype) noexcept {
  return dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16 ||
         dtype == ScalarType::Double;
}

Status check_kind(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias) {
  const auto on_gpu = [](const AtenTensor& tensor) { return tensor.device_type == kAtenCuda; };
  if (!on_gpu(input) || !on_gpu(weight) || (bias != nullptr && !on_gpu(*bias))) {
    return refuse_kind("a tensor is not on the GPU");
  }
  if (!is_supported(input.dtype) || weight.dtype != input.dtype || (bias != nullptr && bias->dtype != input.dtype)) {
    return refuse_kind("dtypes " + std::string{name_of(input.dtype)} + " and " + std::string{name_of(weight.dtype)} +
                       (bias != nullptr ? " with a bias of " + std::string{name_of(bias->dtype)} : "") +
                       ", expected one of float32, float16, bfloat16, float64 for all");
  }
  if (input.rank < 3 || input.rank > kMaxConvolutionRank || weight.rank != input.rank ||
      (bias != nullptr && bias->rank != 1)) {
    return refuse_kind("ranks " + std::to_string(input.rank) + " and " + std::to_string(weight.rank) +
                       (bias != nullptr ? " with a bias of rank " + std::to_string(bias->rank) : "") +
                       ", expected the same of 3 to 5, and 1 for the bias");
  }
  return {};
}

/// The product, or nothing if it exceeds what cuDNN counts: two billion elements a tensor.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> sizes) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size > INT_MAX || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count <= INT_MAX ? std::optional{count} : std::nullopt;
}

bool has_strides(const AtenTensor& tensor, const ConvolutionExtents& strides) noexcept {
  for (std::size_t d = 0; d < tensor.rank; ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

/// Tells if the strides are those of channels last, also of a tensor that is not dense: PyTorch's
/// is_strides_like_channels_last().
bool is_like_channels_last(const AtenTensor& tensor) noexcept {
  if (tensor.rank < 4 || tensor.strides[1] == 0) return false;
  std::int64_t least = 0;
  const auto follows = [&](std::size_t d) {
    if (tensor.sizes[d] == 0 || tensor.strides[d] < least) return false;
    if (d == 0 && least == tensor.strides[1]) return false;  // both formats: by channel
    least = tensor.strides[d];
    if (tensor.sizes[d] > 1 && __builtin_mul_overflow(least, tensor.sizes[d], &least)) return false;
    return true;
  };
  if (!follows(1)) return false;
  for (std::size_t d = tensor.rank; d-- > 2;) {
    if (!follows(d)) return false;
  }
  return follows(0);
}

/// Reads lists of one entry per axis in space.
class Lists {
 public:
  explicit Lists(std::size_t axes) noexcept : axes_{axes} {}

  Result<std::array<std::int64_t, 3>> read(const char* name, std::span<const std::int64_t> list, std::int64_t least) {
    std::array<std::int64_t, 3> values{};
    if (list.size() != axes_ && list.size() != 1) {
      return refuse_kind(std::string{name} + " has " + std::to_string(list.size()) + " entries, expected " +
                         std::to_string(axes_));
    }
    for (std::size_t i = 0; i < axes_; ++i) {
      values[i] = list[list.size() == 1 ? 0 : i];
      if (values[i] < least || values[i] > INT_MAX) {
        return refuse_sizes(std::string{name} + " is " + std::to_string(values[i]) + ", expected " +
                            std::to_string(least) + " to " + std::to_string(INT_MAX));
      }
    }
    return values;
  }

 private:
  std::size_t axes_;
};

Status check_channels(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias,
                      const ConvolutionArguments& how, std::int64_t channels) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  if (how.groups < 1 || how.groups > INT_MAX) return refuse_kind("groups is " + text(how.groups));
  if (weight.sizes[0] % how.groups != 0) {
    return refuse_sizes(text(weight.sizes[0]) + " filters are not divisible by " + text(how.groups) + " groups");
  }
  std::int64_t wanted = weight.sizes[0];
  if (!how.transposed && __builtin_mul_overflow(weight.sizes[1], how.groups, &wanted)) wanted = -1;
  if (input.sizes[1] != wanted) {
    return refuse_sizes("the input has " + text(input.sizes[1]) + " channels, the weight takes " + text(wanted));
  }
  if (bias != nullptr && bias->sizes[0] != channels) {
    return refuse_sizes("the bias has " + text(bias->sizes[0]) + " entries, the result " + text(channels) +
                        " channels");
  }
  return {};
}

/// Describes a tensor to cuDNN. Precondition: count_of(sizes).
ConvolutionTensor described(std::span<const std::int64_t> sizes, bool channels_last) noexcept {
  ConvolutionExtents extents{};
  std::size_t rank = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d == 2 && sizes.size() == 3) extents[rank++] = 1;
    extents[rank++] = sizes[d];
  }
  const ConvolutionExtents strides = dense_strides({extents.data(), rank}, channels_last);
  ConvolutionTensor made;
  for (std::size_t d = 0; d < rank; ++d) {
    made.sizes[d] = static_cast<int>(extents[d]);
    made.strides[d] = static_cast<int>(strides[d]);
  }
  return made;
}

}  // namespace

ConvolutionExtents dense_strides(std::span<const std::int64_t> sizes, bool channels_last) noexcept {
  ConvolutionExtents strides{};
  std::int64_t step = 1;
  const auto next = [&](std::size_t d) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  };
  if (channels_last) next(1);
  for (std::size_t d = sizes.size(); d-- > 2;) next(d);
  if (!channels_last) next(1);
  next(0);
  return strides;
}

Result<ConvolutionPlan> plan_convolution(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias,
                                         const ConvolutionArguments& how, ConvolutionFormat format) {
  TANDEM_CHECK_OK(check_kind(input, weight, bias));
  const std::size_t axes = input.rank - std::size_t{2};
  Lists lists{axes};
  TANDEM_TRY(const auto stride, lists.read("stride", how.stride, 1));
  TANDEM_TRY(const auto padding, lists.read("padding", how.padding, 0));
  TANDEM_TRY(const auto dilation, lists.read("dilation", how.dilation, 1));
  std::array<std::int64_t, 3> more{};
  if (how.transposed) {
    TANDEM_TRY(more, lists.read("output_padding", how.output_padding, 0));
  }
  const auto input_count = count_of(input.size_span());
  const auto weight_count = count_of(weight.size_span());
  constexpr const char* kTooLarge = " has more than 2^31 - 1 elements";
  if (!input_count) return refuse_sizes(std::string{"the input"} + kTooLarge);
  if (!weight_count) return refuse_sizes(std::string{"the weight"} + kTooLarge);

  ConvolutionPlan plan;
  std::int64_t channels = weight.sizes[0];
  if (how.transposed && __builtin_mul_overflow(weight.sizes[1], how.groups, &channels)) channels = -1;
  TANDEM_CHECK_OK(check_channels(input, weight, bias, how, channels));
  plan.result_sizes[0] = input.sizes[0];
  plan.result_sizes[1] = channels;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = input.sizes[i + 2];
    const std::int64_t reach = dilation[i] * (weight.sizes[i + 2] - 1) + 1;
    std::int64_t& size = plan.result_sizes[i + 2];
    if (how.transposed) {
      if (more[i] >= stride[i] && more[i] != 0) {
        return refuse_sizes("output_padding is " + std::to_string(more[i]) + ", expected less than the stride " +
                            std::to_string(stride[i]));
      }
      size = (extent - 1) * stride[i] - 2 * padding[i] + reach + more[i];
    } else {
      const std::int64_t room = extent + 2 * padding[i] - reach;  // negative: a division would round it up
      size = room < 0 ? 0 : room / stride[i] + 1;
    }
    if (size < 1) {
      return refuse_sizes("axis " + std::to_string(i) + " of the result has no elements: the input has " +
                          std::to_string(extent) + ", the weight reaches over " + std::to_string(reach));
    }
  }
  const std::span<const std::int64_t> result{plan.result_sizes.data(), input.rank};
  const auto result_count = count_of(result);
  if (!result_count) return refuse_sizes(std::string{"the result"} + kTooLarge);
  plan.is_empty = *result_count == 0;
  if (!plan.is_empty && (*input_count == 0 || *weight_count == 0)) {
    return refuse_sizes("the input or the weight has no elements");
  }

  const bool may_be_last = format == ConvolutionFormat::AsPyTorch && input.dtype != ScalarType::Double;
  plan.channels_last = may_be_last && (is_like_channels_last(input) || is_like_channels_last(weight));
  plan.result_strides = dense_strides(result, plan.channels_last);
  plan.copies_input = !has_strides(input, dense_strides(input.size_span(), plan.channels_last));
  plan.copies_weight = !has_strides(weight, dense_strides(weight.size_span(), plan.channels_last));
  plan.copies_bias = bias != nullptr && bias->sizes[0] != 1 && bias->strides[0] != 1;
  plan.rank = input.rank == 3 ? 4 : input.rank;
  plan.input = described(input.size_span(), plan.channels_last);
  plan.weight = described(weight.size_span(), plan.channels_last);
  plan.result = described(result, plan.channels_last);
  const std::size_t first = axes == 1 ? 1 : 0;  // the axis of extent 1 has stride 1, no padding, dilation 1
  plan.stride.fill(1);
  plan.dilation.fill(1);
  for (std::size_t i = 0; i < axes; ++i) {
    plan.stride[first + i] = static_cast<int>(stride[i]);
    plan.padding[first + i] = static_cast<int>(padding[i]);
    plan.dilation[first + i] = static_cast<int>(dilation[i]);
  }
  plan.groups = static_cast<int>(how.groups);
  plan.transposed = how.transposed;
  return plan;
}

}  // namespace tandem::aoti
