// Convolutions on a GPU against plain loops.
#include "backends/aoti/element.h"
#include "cuda_call.h"
#include "support/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace tandem::aoti {
namespace {

using Shim = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor**, const std::int64_t*, std::int64_t,
                          const std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t, std::int32_t,
                          const std::int64_t*, std::int64_t, std::int64_t, AtenTensor**);

enum class Layout { Contiguous, ChannelsLast, Gaps, Reversed };

std::string text_of(Layout layout) {
  constexpr std::array kNames{"contiguous", "channels last", "gaps", "reversed"};
  return kNames.at(static_cast<std::size_t>(layout));
}

Sizes strides_of(const Sizes& sizes, Layout layout) {
  std::vector<std::size_t> inner_first;
  for (std::size_t d = sizes.size(); d-- > 0;) inner_first.push_back(d);
  if (layout == Layout::Reversed) std::ranges::reverse(inner_first);
  if (layout == Layout::ChannelsLast) {
    std::erase(inner_first, std::size_t{1});
    inner_first.insert(inner_first.begin(), 1);
  }
  Sizes strides(sizes.size());
  std::int64_t step = layout == Layout::Gaps ? 2 : 1;
  for (const std::size_t d : inner_first) {
    strides[d] = step;
    step *= sizes[d];
    if (layout == Layout::Gaps) step += 3;
  }
  return strides;
}

/// A tensor of the host, as numbers.
struct Numbers {
  Sizes sizes;
  std::vector<double> values;  // in order

  [[nodiscard]] double& at(const Sizes& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) place = place * sizes[d] + index[d];
    return values.at(static_cast<std::size_t>(place));
  }
};

/// Small whole numbers: products and sums of them are exact in every dtype, also where float32 goes through TF32.
Numbers numbers_of(Sizes sizes, int seed) {
  Numbers made{std::move(sizes), {}};
  const std::int64_t count = std::accumulate(made.sizes.begin(), made.sizes.end(), std::int64_t{1}, std::multiplies{});
  for (std::int64_t i = 0; i < count; ++i) {
    made.values.push_back(static_cast<double>((i * 7 + i / 5 + seed) % 5 - 2));
  }
  return made;
}

/// Next index in order. False after the last.
bool next(Sizes& index, const Sizes& sizes) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

struct Case {
  Sizes input;
  Sizes kernel;
  std::int64_t filters = 4;
  std::int64_t groups = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t output_padding = 0;
  bool transposed = false;
  bool has_bias = true;
  ScalarType dtype = ScalarType::Float;
  Layout input_layout = Layout::Contiguous;
  Layout weight_layout = Layout::Contiguous;

  [[nodiscard]] std::size_t axes() const { return kernel.size(); }
  [[nodiscard]] std::string text() const {
    return std::to_string(axes()) + "-D, groups " + std::to_string(groups) + ", stride " + std::to_string(stride) +
           ", padding " + std::to_string(padding) + ", dilation " + std::to_string(dilation) + ", output padding " +
           std::to_string(output_padding) + (transposed ? ", transposed" : "") + (has_bias ? "" : ", no bias") + ", " +
           std::string{name_of(dtype)} + ", input " + text_of(input_layout) + ", weight " + text_of(weight_layout);
  }
  [[nodiscard]] Sizes weight_sizes() const {
    Sizes sizes = transposed ? Sizes{input[1], filters / groups} : Sizes{filters, input[1] / groups};
    sizes.insert(sizes.end(), kernel.begin(), kernel.end());
    return sizes;
  }
  [[nodiscard]] Sizes result_sizes() const {
    Sizes sizes{input[0], filters};
    for (std::size_t i = 0; i < axes(); ++i) {
      const std::int64_t reach = dilation * (kernel[i] - 1) + 1;
      sizes.push_back(transposed ? (input[i + 2] - 1) * stride - 2 * padding + reach + output_padding
                                 : (input[i + 2] + 2 * padding - reach) / stride + 1);
    }
    return sizes;
  }
};

/// The definition: each element of the input and of the weight meet at one element of the result, or beside it.
Numbers reference(const Case& how, Numbers x, Numbers w, Numbers bias) {
  Numbers out{how.result_sizes(), {}};
  out.values.resize(static_cast<std::size_t>(
      std::accumulate(out.sizes.begin(), out.sizes.end(), std::int64_t{1}, std::multiplies{})));
  Sizes index(out.sizes.size());
  if (how.has_bias) {
    do out.at(index) = bias.at({index[1]});
    while (next(index, out.sizes));
  }
  const std::int64_t in_group = how.input[1] / how.groups;
  const std::int64_t out_group = how.filters / how.groups;
  const auto add = [&](const Sizes& from, const Sizes& to, const Sizes& tap) {
    const std::int64_t in = from[1];
    const std::int64_t result = to[1];
    if (in / in_group != result / out_group) return;
    Sizes at = how.transposed ? Sizes{in, result % out_group} : Sizes{result, in % in_group};
    at.insert(at.end(), tap.begin(), tap.end());
    out.at(to) += x.at(from) * w.at(at);
  };
  // Where a small tensor's element lands in the large one.
  const Sizes& small = how.transposed ? x.sizes : out.sizes;
  const Sizes& large = how.transposed ? out.sizes : x.sizes;
  Sizes low(small.size());
  do {
    Sizes tap(how.axes());
    do {
      Sizes high = low;
      bool inside = true;
      for (std::size_t i = 0; i < how.axes(); ++i) {
        high[i + 2] = low[i + 2] * how.stride - how.padding + tap[i] * how.dilation;
        inside = inside && high[i + 2] >= 0 && high[i + 2] < large[i + 2];
      }
      for (std::int64_t c = 0; inside && c < large[1]; ++c) {
        high[1] = c;
        how.transposed ? add(low, high, tap) : add(high, low, tap);
      }
    } while (next(tap, how.kernel));
  } while (next(low, small));
  return out;
}

class CudaConvolution : public OnGpu {
 protected:
  template <class T>
  static void put(std::vector<std::byte>& bytes, std::int64_t place, double number) {
    const T value = convert<T>(number);
    std::memcpy(bytes.data() + static_cast<std::size_t>(place) * sizeof(T), &value, sizeof(T));
  }
  static void put(std::vector<std::byte>& bytes, std::int64_t place, double number, ScalarType dtype) {
    visit_real(dtype, [&](auto type) { put<decltype(type)>(bytes, place, number); });
  }

  static AtenTensor& upload(InCall& call, const Numbers& numbers, ScalarType dtype, Layout layout) {
    const Sizes strides = strides_of(numbers.sizes, layout);
    AtenTensor& made = call.tensor(numbers.sizes, strides, {}, dtype);
    std::vector<std::byte> bytes(made.storage_bytes, std::byte{0x5A});
    Sizes index(numbers.sizes.size());
    std::size_t i = 0;
    do {
      const std::int64_t place = std::inner_product(index.begin(), index.end(), strides.begin(), std::int64_t{0});
      put(bytes, place, numbers.values[i++], dtype);
    } while (next(index, numbers.sizes));
    EXPECT_TRUE(call.device().functions().upload(0, made.base, bytes).ok());
    return made;
  }

  static std::int32_t convolve(const Case& how, AtenTensor& x, AtenTensor& w, AtenTensor* bias, AtenTensor** out) {
    const Sizes stride(how.axes(), how.stride);
    const Sizes padding(how.axes(), how.padding);
    const Sizes dilation(how.axes(), how.dilation);
    const Sizes more(how.axes(), how.output_padding);
    const auto count = static_cast<std::int64_t>(how.axes());
    return shim<Shim>("aoti_torch_cuda_convolution")(&x, &w, bias == nullptr ? nullptr : &bias, stride.data(), count,
                                                     padding.data(), count, dilation.data(), count,
                                                     how.transposed ? 1 : 0, more.data(), count, how.groups, out);
  }

  static void expect_reference(const Case& how) {
    SCOPED_TRACE(how.text());
    InCall call{cuda_functions()};
    const Numbers x = numbers_of(how.input, 1);
    const Numbers w = numbers_of(how.weight_sizes(), 2);
    const Numbers b = numbers_of({how.filters}, 3);
    AtenTensor& input = upload(call, x, how.dtype, how.input_layout);
    AtenTensor& weight = upload(call, w, how.dtype, how.weight_layout);
    AtenTensor* bias = how.has_bias ? &upload(call, b, how.dtype, Layout::Gaps) : nullptr;
    AtenTensor* out = nullptr;
    ASSERT_EQ(convolve(how, input, weight, bias, &out), 0) << call.state().refusal;
    const Numbers expected = reference(how, x, w, b);
    ASSERT_THAT(out->size_span(), ::testing::ElementsAreArray(expected.sizes));
    std::vector<std::byte> bytes(out->storage_bytes);
    ASSERT_TRUE(call.device().read(bytes.data(), out->base, bytes.size()));
    Sizes index(expected.sizes.size());
    std::size_t i = 0;
    int wrong = 0;
    do {
      const std::int64_t place =
          std::inner_product(index.begin(), index.end(), out->stride_span().begin(), std::int64_t{0});
      double found = 0;
      ASSERT_TRUE(
          read_element(how.dtype, bytes.data() + static_cast<std::size_t>(place) * item_bytes(how.dtype), found));
      if (found != expected.values[i] && ++wrong < 4) {
        ADD_FAILURE() << "element " << i << " is " << found << ", expected " << expected.values[i];
      }
      ++i;
    } while (next(index, expected.sizes));
    EXPECT_EQ(wrong, 0) << "of " << i;
    delete_handle(*out);
  }
};

std::vector<Case> of_every_rank() {
  return {{.input = {2, 4, 11}, .kernel = {3}},
          {.input = {2, 4, 6, 7}, .kernel = {3, 2}},
          {.input = {1, 4, 4, 5, 6}, .kernel = {2, 1, 3}}};
}

TEST_F(CudaConvolution, OfEveryRankGroupStrideAndDilation) {
  for (Case how : of_every_rank()) {
    for (const bool transposed : {false, true}) {
      for (const std::int64_t groups : {1, 2, 4}) {
        for (const auto& [stride, padding, dilation, more] :
             {std::array<std::int64_t, 4>{1, 0, 1, 0}, {2, 1, 1, 1}, {1, 1, 2, 0}, {3, 2, 2, 2}}) {
          how.transposed = transposed;
          how.groups = groups;
          how.stride = stride;
          how.padding = padding;
          how.dilation = dilation;
          how.output_padding = transposed ? more : 0;
          if (std::ranges::any_of(how.result_sizes(), [](std::int64_t size) { return size < 1; })) continue;
          expect_reference(how);
        }
      }
    }
  }
}

TEST_F(CudaConvolution, OfEveryLayout) {
  for (Case how : of_every_rank()) {
    for (const bool transposed : {false, true}) {
      how.transposed = transposed;
      for (const Layout input : {Layout::Contiguous, Layout::ChannelsLast, Layout::Gaps, Layout::Reversed}) {
        for (const Layout weight : {Layout::Contiguous, Layout::ChannelsLast, Layout::Gaps, Layout::Reversed}) {
          how.input_layout = input;
          how.weight_layout = weight;
          expect_reference(how);
        }
      }
    }
  }
}

TEST_F(CudaConvolution, OfEveryDtypeWithAndWithoutBias) {
  for (Case how : of_every_rank()) {
    for (const auto dtype : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16, ScalarType::Double}) {
      for (const bool has_bias : {true, false}) {
        for (const bool transposed : {false, true}) {
          for (const Layout layout : {Layout::Contiguous, Layout::ChannelsLast}) {
            how.dtype = dtype;
            how.has_bias = has_bias;
            how.transposed = transposed;
            how.input_layout = layout;
            how.padding = 1;
            expect_reference(how);
          }
        }
      }
    }
  }
}

/// Upsampling by 8 with kernels of 16, then dilated ones, as HiFi-GAN's generator has them.
TEST_F(CudaConvolution, OfHifiGan) {
  expect_reference({.input = {1, 16, 20}, .kernel = {16}, .filters = 8, .stride = 8, .padding = 4, .transposed = true});
  for (const std::int64_t dilation : {1, 3, 5}) {
    expect_reference({.input = {1, 8, 64}, .kernel = {3}, .filters = 8, .padding = dilation, .dilation = dilation});
  }
}

TEST_F(CudaConvolution, OfAnEmptyBatchIsEmpty) {
  InCall call{cuda_functions()};
  const Case how{.input = {0, 4, 11}, .kernel = {3}};
  AtenTensor& x = call.tensor({0, 4, 11}, {44, 11, 1});
  AtenTensor& w = upload(call, numbers_of(how.weight_sizes(), 1), ScalarType::Float, Layout::Contiguous);
  AtenTensor* out = nullptr;
  ASSERT_EQ(convolve(how, x, w, nullptr, &out), 0) << call.state().refusal;
  EXPECT_THAT(out->size_span(), ::testing::ElementsAre(0, 4, 9));
  delete_handle(*out);
}

/// The reference itself, where there is no GPU to compare it with.
TEST(ConvolutionReference, OfOneAxisByHand) {
  const Case plain{.input = {1, 1, 4}, .kernel = {2}, .filters = 1, .stride = 2, .padding = 1, .has_bias = false};
  EXPECT_EQ(reference(plain, {{1, 1, 4}, {1, 2, 3, 4}}, {{1, 1, 2}, {10, 1}}, {}).values,
            (std::vector<double>{1, 23, 40}));
  const Case up{.input = {1, 1, 2},
                .kernel = {3},
                .filters = 1,
                .stride = 2,
                .padding = 0,
                .output_padding = 1,
                .transposed = true,
                .has_bias = false};
  EXPECT_EQ(reference(up, {{1, 1, 2}, {1, 2}}, {{1, 1, 3}, {1, 10, 100}}, {}).values,
            (std::vector<double>{1, 10, 102, 20, 200, 0}));
}

}  // namespace
}  // namespace tandem::aoti
