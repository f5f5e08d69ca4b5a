#pragma once

#include "backends/aoti/tensor_handle.h"

#include <tandem/result.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::aoti {

/// Batch, channels, and up to three axes in space.
inline constexpr std::size_t kMaxConvolutionRank = 5;
using ConvolutionExtents = std::array<std::int64_t, kMaxConvolutionRank>;

/// Arguments of a convolution beside its tensors, as the shim gets them. A list of one entry counts for every axis.
struct ConvolutionArguments {
  std::span<const std::int64_t> stride{};
  std::span<const std::int64_t> padding{};
  std::span<const std::int64_t> dilation{};
  std::span<const std::int64_t> output_padding{};  ///< Of transposed ones alone.
  bool transposed = false;
  std::int64_t groups = 1;
};

/// A tensor as cuDNN is told of it: dense, in the format of the whole convolution.
struct ConvolutionTensor {
  std::array<int, kMaxConvolutionRank> sizes{};
  std::array<int, kMaxConvolutionRank> strides{};
};

/// A convolution as cuDNN takes it: two or three axes in space, one format for all tensors.
struct ConvolutionPlan {
  bool channels_last = false;
  std::size_t rank = 0;  ///< Of cuDNN's tensors: one of a single axis in space gets another of extent 1 before it.
  ConvolutionTensor input{};
  ConvolutionTensor weight{};
  ConvolutionTensor result{};
  std::array<int, 3> stride{};
  std::array<int, 3> padding{};
  std::array<int, 3> dilation{};
  int groups = 1;
  bool transposed = false;
  /// Sizes and strides of the result as the library gets it, with the rank of the input.
  ConvolutionExtents result_sizes{};
  ConvolutionExtents result_strides{};
  bool is_empty = false;  ///< The result has no elements: there is nothing to compute.
  /// Tensors that lie otherwise than the format wants: cuDNN gets dense copies.
  bool copies_input = false;
  bool copies_weight = false;
  bool copies_bias = false;
};

enum class ConvolutionFormat : std::uint8_t {
  AsPyTorch,  ///< Channels last if they are in the input or the weight, but not with one axis in space nor in float64.
  ByChannel,  ///< Contiguous.
};

/// Checks the arguments, and says how cuDNN is to be called.
///
/// Errors: IncompatibleDelegate, a dtype, a rank, a device or lists that no data can change; BackendFailed, sizes that
///   do not go together or exceed what cuDNN counts.
/// Source: PyTorch aten/src/ATen/native/Convolution.cpp and ConvUtils.h, cudnn_conv_suggest_memory_format.
[[nodiscard]] Result<ConvolutionPlan> plan_convolution(const AtenTensor& input, const AtenTensor& weight,
                                                       const AtenTensor* bias, const ConvolutionArguments& how,
                                                       ConvolutionFormat format = ConvolutionFormat::AsPyTorch);

/// Strides of a dense tensor of batch, channels and axes in space.
[[nodiscard]] ConvolutionExtents dense_strides(std::span<const std::int64_t> sizes, bool channels_last) noexcept;

}  // namespace tandem::aoti
