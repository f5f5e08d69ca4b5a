#include "backends/aoti/convolution.h"

#include "backends/aoti/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <vector>

namespace tandem::aoti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;

AtenTensor tensor(const Sizes& sizes, const Sizes& strides = {}, ScalarType dtype = ScalarType::Float) {
  AtenTensor made{};
  made.dtype = dtype;
  made.device_type = kAtenCuda;
  EXPECT_EQ(set_geometry(made, {static_cast<std::int64_t>(sizes.size()), sizes.data(),
                                strides.empty() ? nullptr : strides.data()}),
            nullptr);
  return made;
}

class ConvolutionTest : public ::testing::Test {
 protected:
  ConvolutionArguments how() const {
    return {.stride = stride,
            .padding = padding,
            .dilation = dilation,
            .output_padding = more,
            .transposed = transposed,
            .groups = groups};
  }
  ConvolutionPlan plan(const AtenTensor& input, const AtenTensor& weight, const AtenTensor* bias = nullptr) const {
    const auto made = plan_convolution(input, weight, bias, how());
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    return made.ok() ? *made : ConvolutionPlan{};
  }
  void expect_refusal(const AtenTensor& input, const AtenTensor& weight, ErrorCode code, const char* text,
                      const AtenTensor* bias = nullptr) const {
    const auto made = plan_convolution(input, weight, bias, how());
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_EQ(made.error().code(), code) << made.error().to_string();
    EXPECT_THAT(made.error().message(), HasSubstr(text));
  }

  Sizes stride{1};
  Sizes padding{0};
  Sizes dilation{1};
  Sizes more{0};
  bool transposed = false;
  std::int64_t groups = 1;
};

TEST_F(ConvolutionTest, OneAxisGetsAnotherOfOneElement) {
  stride = {2};
  padding = {3};
  dilation = {4};
  const ConvolutionPlan made = plan(tensor({2, 6, 50}), tensor({8, 6, 5}));
  EXPECT_EQ(made.rank, 4U);
  EXPECT_THAT(made.input.sizes, ElementsAre(2, 6, 1, 50, 0));
  EXPECT_THAT(made.input.strides, ElementsAre(300, 50, 50, 1, 0));
  EXPECT_THAT(made.weight.sizes, ElementsAre(8, 6, 1, 5, 0));
  EXPECT_THAT(made.stride, ElementsAre(1, 2, 1));
  EXPECT_THAT(made.padding, ElementsAre(0, 3, 0));
  EXPECT_THAT(made.dilation, ElementsAre(1, 4, 1));
  EXPECT_THAT(made.result_sizes, ElementsAre(2, 8, 20, 0, 0));
  EXPECT_THAT(made.result_strides, ElementsAre(160, 20, 1, 0, 0));
  EXPECT_FALSE(made.channels_last);
}

/// As HiFi-GAN has them.
TEST_F(ConvolutionTest, TransposedOfOneAxisWithOutputPaddingAndGroups) {
  transposed = true;
  stride = {8};
  padding = {4};
  more = {3};
  groups = 2;
  const ConvolutionPlan made = plan(tensor({1, 6, 10}), tensor({6, 5, 16}));
  EXPECT_THAT(made.result_sizes, ElementsAre(1, 10, 9 * 8 - 8 + 15 + 1 + 3, 0, 0));
  EXPECT_EQ(made.groups, 2);
  EXPECT_TRUE(made.transposed);
}

TEST_F(ConvolutionTest, ChannelsComeLastIfTheyDoInTheInputOrTheWeight) {
  const AtenTensor by_channel = tensor({2, 3, 4, 5});
  const AtenTensor last = tensor({2, 3, 4, 5}, {60, 1, 15, 3});
  const AtenTensor weight = tensor({7, 3, 2, 2});
  const AtenTensor weight_last = tensor({7, 3, 2, 2}, {12, 1, 6, 3});
  EXPECT_FALSE(plan(by_channel, weight).channels_last);
  const ConvolutionPlan by_input = plan(last, weight);
  EXPECT_TRUE(by_input.channels_last);
  EXPECT_FALSE(by_input.copies_input);
  EXPECT_TRUE(by_input.copies_weight);
  EXPECT_THAT(by_input.result_strides, ElementsAre(7 * 3 * 4, 1, 28, 7, 0));
  const ConvolutionPlan by_weight = plan(by_channel, weight_last);
  EXPECT_TRUE(by_weight.channels_last);
  EXPECT_TRUE(by_weight.copies_input);
  EXPECT_FALSE(by_weight.copies_weight);
  EXPECT_TRUE(plan(tensor({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}), tensor({7, 3, 1, 2, 2})).channels_last);
}

TEST_F(ConvolutionTest, FormatFollowsPyTorchWhereBothWouldDo) {
  // One channel, or one place: contiguous unless the strides say more.
  EXPECT_FALSE(plan(tensor({2, 1, 4, 5}), tensor({7, 1, 2, 2})).channels_last);
  EXPECT_FALSE(plan(tensor({2, 3, 4, 5}), tensor({7, 3, 1, 1}, {3, 1, 1, 1})).channels_last);
  EXPECT_TRUE(plan(tensor({2, 3, 4, 5}), tensor({7, 3, 1, 1}, {3, 1, 3, 3})).channels_last);
  // In double precision, and with one axis: never.
  const AtenTensor last = tensor({2, 3, 4, 5}, {60, 1, 15, 3}, ScalarType::Double);
  const ConvolutionPlan in_double = plan(last, tensor({7, 3, 2, 2}, {}, ScalarType::Double));
  EXPECT_FALSE(in_double.channels_last);
  EXPECT_TRUE(in_double.copies_input);
  const ConvolutionPlan one_axis = plan(tensor({2, 3, 5}, {15, 1, 3}), tensor({7, 3, 2}));
  EXPECT_FALSE(one_axis.channels_last);
  EXPECT_TRUE(one_axis.copies_input);
}

TEST_F(ConvolutionTest, WhatIsNotDenseIsCopied) {
  const AtenTensor bias = tensor({7}, {2});
  const ConvolutionPlan made =
      plan(tensor({2, 3, 4, 5}, {120, 40, 10, 2}), tensor({7, 3, 2, 2}, {1, 28, 14, 7}), &bias);
  EXPECT_TRUE(made.copies_input);
  EXPECT_TRUE(made.copies_weight);
  EXPECT_TRUE(made.copies_bias) << "its stride is not 1";
  const AtenTensor repeated = tensor({7}, {0});
  EXPECT_TRUE(plan(tensor({2, 3, 4, 5}), tensor({7, 3, 2, 2}), &repeated).copies_bias);
}

TEST_F(ConvolutionTest, ListsOfOneEntryCountForEveryAxis) {
  stride = {2};
  padding = {1};
  EXPECT_THAT(plan(tensor({1, 1, 5, 7}), tensor({1, 1, 3, 3})).result_sizes, ElementsAre(1, 1, 3, 4, 0));
}

TEST_F(ConvolutionTest, EmptyBatchGivesAnEmptyResult) {
  const ConvolutionPlan made = plan(tensor({0, 3, 8}), tensor({4, 3, 2}));
  EXPECT_TRUE(made.is_empty);
  EXPECT_THAT(made.result_sizes, ElementsAre(0, 4, 7, 0, 0));
}

TEST_F(ConvolutionTest, KindsThatNoDataChangesAreRefusedAsSuch) {
  constexpr auto kKind = ErrorCode::IncompatibleDelegate;
  const AtenTensor input = tensor({1, 3, 8});
  const AtenTensor weight = tensor({4, 3, 2});
  expect_refusal(tensor({1, 3, 8}, {}, ScalarType::Int), weight, kKind, "int32");
  expect_refusal(input, tensor({4, 3, 2}, {}, ScalarType::Half), kKind, "float16");
  const AtenTensor half_bias = tensor({4}, {}, ScalarType::Half);
  expect_refusal(input, weight, kKind, "bias of float16", &half_bias);
  expect_refusal(tensor({3, 8}), tensor({4, 3}), kKind, "ranks 2 and 2");
  expect_refusal(input, tensor({4, 3, 1, 2}), kKind, "ranks 3 and 4");
  AtenTensor on_host = weight;
  on_host.device_type = kAtenCpu;
  expect_refusal(input, on_host, kKind, "not on the GPU");
  groups = 0;
  expect_refusal(input, weight, kKind, "groups is 0");
  groups = 1;
  stride = {1, 1};
  expect_refusal(input, weight, kKind, "stride has 2 entries, expected 1");
  stride = {};
  expect_refusal(input, weight, kKind, "stride has 0 entries");
}

TEST_F(ConvolutionTest, SizesThatDoNotGoTogetherAreRefused) {
  constexpr auto kSizes = ErrorCode::BackendFailed;
  const AtenTensor input = tensor({1, 3, 8});
  const AtenTensor weight = tensor({4, 3, 2});
  expect_refusal(input, tensor({4, 2, 2}), kSizes, "3 channels, the weight takes 2");
  const AtenTensor bias = tensor({5});
  expect_refusal(input, weight, kSizes, "the bias has 5 entries", &bias);
  stride = {2};
  expect_refusal(tensor({1, 3, 1}), weight, kSizes, "no elements");  // and not one, by rounding up
  stride = {0};
  expect_refusal(input, weight, kSizes, "stride is 0");
  stride = {1};
  padding = {-1};
  expect_refusal(input, weight, kSizes, "padding is -1");
  padding = {0};
  dilation = {0};
  expect_refusal(input, weight, kSizes, "dilation is 0");
  dilation = {1};
  expect_refusal(tensor({1, 3, 0}), weight, kSizes, "no elements");
  groups = 3;
  expect_refusal(tensor({1, 9, 8}), weight, kSizes, "4 filters are not divisible by 3");
  groups = 1;
  transposed = true;
  more = {1};
  expect_refusal(tensor({1, 4, 8}), weight, kSizes, "output_padding is 1, expected less than the stride 1");
}

TEST_F(ConvolutionTest, NumbersThatAnIntDoesNotHoldAreRefused) {
  constexpr auto kSizes = ErrorCode::BackendFailed;
  constexpr std::int64_t kTooMany = std::int64_t{INT_MAX} + 1;
  const AtenTensor weight = tensor({1, 1, 1});
  expect_refusal(tensor({1, 1, kTooMany}), weight, kSizes, "the input has more than 2^31 - 1");
  expect_refusal(tensor({4, 1, 1 << 30}), weight, kSizes, "the input has more than 2^31 - 1");
  expect_refusal(tensor({1, 1, 1 << 20}), tensor({1 << 12, 1, 1}), kSizes, "the result has more than 2^31 - 1");
  padding = {kTooMany};
  expect_refusal(tensor({1, 1, 8}), weight, kSizes, "padding is 2147483648");
  padding = {0};
  dilation = {kTooMany};
  expect_refusal(tensor({1, 1, 8}), weight, kSizes, "dilation is 2147483648");
  dilation = {1};
  stride = {INT_MAX};
  transposed = true;
  expect_refusal(tensor({1, 1, 1 << 30}), weight, kSizes, "the result has more than 2^31 - 1");
}

}  // namespace
}  // namespace tandem::aoti
