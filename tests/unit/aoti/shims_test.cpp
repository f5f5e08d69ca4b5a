#include "backends/aoti/call_state.h"
#include "backends/aoti/element.h"
#include "backends/aoti/shim_table.h"

#include <tandem/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::aoti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kFloat = 6;

/// A shim of the host's table as the function that libraries see.
template <class Function>
Function* shim(const char* name) {
  const std::uintptr_t address = shim_table_host().find(std::string{"aoti_torch_"} + name);
  EXPECT_NE(address, 0U) << name;
  return reinterpret_cast<Function*>(address);
}

using Unary = std::int32_t(AtenTensor*, AtenTensor**);
using Empty = std::int32_t(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t,
                           std::int32_t, AtenTensor**);
using FromBlob = std::int32_t(void*, std::int64_t, const std::int64_t*, const std::int64_t*, std::int64_t, std::int32_t,
                              std::int32_t, std::int32_t, AtenTensor**);
using Reinterpret = std::int32_t(AtenTensor*, std::int64_t, const std::int64_t*, const std::int64_t*, std::int64_t,
                                 AtenTensor**);

class Shims : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(call_.handles.live(), 0U) << "handles leak"; }

  static void drop(AtenTensor* handle) {
    EXPECT_EQ(shim<std::int32_t(AtenTensor*)>("delete_tensor_object")(handle), 0);
  }
  static AtenTensor* empty(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {},
                           std::int32_t dtype = kFloat) {
    AtenTensor* out = nullptr;
    EXPECT_EQ(shim<Empty>("empty_strided")(static_cast<std::int64_t>(sizes.size()), sizes.data(),
                                           strides.empty() ? nullptr : strides.data(), dtype, 0, -1, &out),
              0);
    return out;
  }
  static AtenTensor* blob(void* data, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                          std::int32_t dtype = kFloat) {
    AtenTensor* out = nullptr;
    EXPECT_EQ(shim<FromBlob>("create_tensor_from_blob")(data, static_cast<std::int64_t>(sizes.size()), sizes.data(),
                                                        strides.data(), 0, dtype, 0, -1, &out),
              0);
    return out;
  }
  template <class T>
  static T get(const char* name, AtenTensor* handle) {
    T value{};
    EXPECT_EQ(shim<std::int32_t(AtenTensor*, T*)>(name)(handle, &value), 0) << name;
    return value;
  }

  static float* floats(AtenTensor* handle) { return static_cast<float*>(get<void*>("get_data_ptr", handle)); }

  CallState call_;
  CallScope scope_{call_};
};

TEST(ShimTable, IsSortedAndHasNoNameTwice) {
  const auto shims = shim_table_host().shims();
  for (std::size_t i = 1; i < shims.size(); ++i) EXPECT_LT(shims[i - 1].name, shims[i].name);
  for (const Shim& entry : shims) EXPECT_NE(entry.address, 0U) << entry.name;
  EXPECT_EQ(shim_table_host().find("aoti_torch_no_such_thing"), 0U);
}

TEST_F(Shims, ConstantsAreTheNumbersOfPyTorch) {
  const std::pair<const char*, int> constants[] = {
      {"dtype_uint8", 0},
      {"dtype_int8", 1},
      {"dtype_int16", 2},
      {"dtype_int32", 3},
      {"dtype_int64", 4},
      {"dtype_float16", 5},
      {"dtype_float32", 6},
      {"dtype_float64", 7},
      {"dtype_complex64", 9},
      {"dtype_bool", 11},
      {"dtype_bfloat16", 15},
      {"dtype_float8_e5m2", 23},
      {"dtype_uint16", 27},
      {"dtype_uint32", 28},
      {"dtype_uint64", 29},
      {"device_type_cpu", 0},
      {"device_type_cuda", 1},
      {"layout_strided", 0},
      {"memory_format_channels_last", 2},
  };
  for (const auto& [name, number] : constants) EXPECT_EQ(shim<std::int32_t()>(name)(), number) << name;
  EXPECT_EQ(shim<std::size_t(std::int32_t)>("dtype_element_size")(7), 8U);
  EXPECT_EQ(shim<std::size_t(std::int32_t)>("dtype_element_size")(99), 0U);
}

TEST_F(Shims, GettersDescribeATensor) {
  AtenTensor* t = empty({2, 3}, {1, 2});
  EXPECT_EQ(get<std::int64_t>("get_dim", t), 2);
  EXPECT_EQ(get<std::int64_t>("get_numel", t), 6);
  EXPECT_EQ(get<std::int32_t>("get_dtype", t), kFloat);
  EXPECT_EQ(get<std::int32_t>("get_device_type", t), 0);
  EXPECT_EQ(get<std::int32_t>("get_device_index", t), -1);
  EXPECT_EQ(get<std::int64_t>("get_storage_offset", t), 0);
  EXPECT_EQ(get<std::int64_t>("get_storage_size", t), 24);
  EXPECT_EQ(get<std::int64_t>("get_storage_numel", t), 6);
  EXPECT_EQ(get<std::int64_t*>("get_sizes", t)[1], 3);
  EXPECT_EQ(get<std::int64_t*>("get_strides", t)[1], 2);
  EXPECT_FALSE(get<bool>("is_contiguous", t));
  EXPECT_TRUE(get<bool>("is_defined", t));
  EXPECT_NE(get<void*>("get_data_ptr", t), nullptr);
  std::int64_t extent = 0;
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, std::int64_t, std::int64_t*)>("get_size")(t, -1, &extent), 0);
  EXPECT_EQ(extent, 3);
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, std::int64_t, std::int64_t*)>("get_stride")(t, 2, &extent), 1);
  drop(t);
}

TEST_F(Shims, BadHandlesAndNullsGiveAStatus) {
  alignas(64) std::array<std::byte, sizeof(AtenTensor)> garbage{};
  auto* stranger = reinterpret_cast<AtenTensor*>(garbage.data());
  AtenTensor* deleted = empty({1});
  drop(deleted);
  AtenTensor* out = nullptr;
  std::int64_t number = 0;
  for (AtenTensor* bad : {static_cast<AtenTensor*>(nullptr), stranger, deleted}) {
    EXPECT_EQ(shim<std::int32_t(AtenTensor*, std::int64_t*)>("get_dim")(bad, &number), 1);
    EXPECT_EQ(shim<std::int32_t(AtenTensor*)>("delete_tensor_object")(bad), 1);
    EXPECT_EQ(shim<Unary>("new_tensor_handle")(bad, &out), 1);
    EXPECT_EQ(shim<Unary>("clone")(bad, &out), 1);
    EXPECT_EQ(shim<std::int32_t(AtenTensor*)>("zero_")(bad), 1);
  }
  EXPECT_THAT(call_.refusal, HasSubstr("aoti_torch_zero_"));
  AtenTensor* good = empty({1});
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, std::int64_t*)>("get_dim")(good, nullptr), 1);
  EXPECT_EQ(shim<Unary>("new_tensor_handle")(good, nullptr), 1);
  EXPECT_EQ(shim<Empty>("empty_strided")(1, nullptr, nullptr, kFloat, 0, -1, &out), 1);
  drop(good);
}

TEST_F(Shims, ImpossibleGeometryIsRefused) {
  AtenTensor* out = nullptr;
  const auto make = [&](std::int64_t rank, std::vector<std::int64_t> sizes, std::int32_t dtype, std::int32_t device) {
    return shim<Empty>("empty_strided")(rank, sizes.data(), nullptr, dtype, device, -1, &out);
  };
  EXPECT_EQ(make(1, {-1}, kFloat, 0), 1);
  EXPECT_EQ(make(2, {INT64_MAX, 4}, kFloat, 0), 1);
  EXPECT_EQ(make(1, {INT64_MAX / 4}, kFloat, 0), 1);  // more than there is
  EXPECT_EQ(make(17, std::vector<std::int64_t>(17, 1), kFloat, 0), 1);
  EXPECT_EQ(make(1, {1}, 99, 0), 1);
  EXPECT_EQ(make(1, {1}, kFloat, 1), 1);
  EXPECT_EQ(out, nullptr);
}

TEST_F(Shims, NullDataIsForEmptyTensorsOnly) {
  AtenTensor* out = nullptr;
  const std::int64_t zero = 0;
  const std::int64_t one = 1;
  EXPECT_EQ(shim<FromBlob>("create_tensor_from_blob")(nullptr, 1, &one, &one, 0, kFloat, 0, -1, &out), 1);
  ASSERT_EQ(shim<FromBlob>("create_tensor_from_blob")(nullptr, 1, &zero, &one, 0, kFloat, 0, -1, &out), 0);
  EXPECT_EQ(get<void*>("get_data_ptr", out), nullptr);
  drop(out);
}

TEST_F(Shims, ViewsShareMemoryThatOutlivesTheFirstHandle) {
  AtenTensor* t = empty({4});
  auto* data = floats(t);
  std::iota(data, data + 4, 1.0F);
  AtenTensor* view = nullptr;
  const std::int64_t size = 2;
  const std::int64_t stride = 2;
  ASSERT_EQ(shim<Reinterpret>("_reinterpret_tensor")(t, 1, &size, &stride, 1, &view), 0);
  drop(t);
  EXPECT_EQ(floats(view)[0], 2.0F);
  EXPECT_EQ(floats(view)[2], 4.0F);
  AtenTensor* beyond = nullptr;
  const std::int64_t three = 3;
  EXPECT_EQ(shim<Reinterpret>("_reinterpret_tensor")(view, 1, &three, &stride, 1, &beyond), 1);
  drop(view);
}

TEST_F(Shims, PoolHandsOutPartsByBytes) {
  AtenTensor* pool = empty({16}, {1}, 0);
  std::array<std::int64_t, 1> size{2};
  std::array<std::int64_t, 1> stride{1};
  AtenTensor* part = nullptr;
  using FromPool = std::int32_t(AtenTensor*, std::int64_t, std::int32_t, std::int64_t, const std::int64_t*,
                                const std::int64_t*, AtenTensor**);
  ASSERT_EQ(shim<FromPool>("_alloc_from_pool")(pool, 8, kFloat, 1, size.data(), stride.data(), &part), 0);
  EXPECT_EQ(get<void*>("get_data_ptr", part), floats(pool) + 2);
  EXPECT_EQ(get<std::int32_t>("get_dtype", part), kFloat);
  AtenTensor* bad = nullptr;
  EXPECT_EQ(shim<FromPool>("_alloc_from_pool")(pool, 2, kFloat, 1, size.data(), stride.data(), &bad), 1);
  EXPECT_EQ(shim<FromPool>("_alloc_from_pool")(pool, 12, kFloat, 1, size.data(), stride.data(), &bad), 1);
  drop(part);
  drop(pool);
}

TEST_F(Shims, AssignedTensorTakesTheOthersPlace) {
  AtenTensor* source = empty({2});
  AtenTensor* target = nullptr;
  ASSERT_EQ(shim<std::int32_t(AtenTensor**)>("new_uninitialized_tensor")(&target), 0);
  EXPECT_FALSE(get<bool>("is_defined", target));
  ASSERT_EQ(shim<std::int32_t(AtenTensor*, AtenTensor*)>("assign_tensors")(source, target), 0);
  EXPECT_TRUE(get<bool>("is_defined", target));
  EXPECT_EQ(get<void*>("get_data_ptr", target), get<void*>("get_data_ptr", source));
  ASSERT_EQ(shim<std::int32_t(AtenTensor*, AtenTensor*)>("assign_tensors")(target, target), 0);
  drop(source);
  floats(target)[1] = 1;
  drop(target);
  bool defined = true;
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, bool*)>("is_defined")(nullptr, &defined), 0);
  EXPECT_FALSE(defined);
}

TEST_F(Shims, CloneKeepsStridesOfDenseTensors) {
  std::array<float, 12> data{};
  std::iota(data.begin(), data.end(), 0.0F);
  AtenTensor* columns = blob(data.data(), {2, 3}, {1, 2});
  AtenTensor* gaps = blob(data.data(), {2, 3}, {6, 2});
  AtenTensor* copy = nullptr;
  ASSERT_EQ(shim<Unary>("clone")(columns, &copy), 0);
  EXPECT_THAT(copy->stride_span(), ElementsAre(1, 2));
  EXPECT_THAT((std::span{reinterpret_cast<float*>(copy->data()), 6}), ElementsAre(0, 1, 2, 3, 4, 5));
  drop(copy);
  ASSERT_EQ(shim<Unary>("clone")(gaps, &copy), 0);
  EXPECT_THAT(copy->stride_span(), ElementsAre(3, 1));
  EXPECT_THAT((std::span{reinterpret_cast<float*>(copy->data()), 6}), ElementsAre(0, 2, 4, 6, 8, 10));
  drop(copy);
  ASSERT_EQ(shim<Unary>("clone_preserve_strides")(gaps, &copy), 0);
  EXPECT_THAT(copy->stride_span(), ElementsAre(6, 2));
  EXPECT_EQ(reinterpret_cast<float*>(copy->data())[10], 10.0F);
  drop(copy);
  drop(columns);
  drop(gaps);
}

using Copy = std::int32_t(AtenTensor*, AtenTensor*, std::int32_t);

TEST_F(Shims, CopyBroadcastsAndConverts) {
  std::array<std::int64_t, 3> source{1, -2, 300};
  AtenTensor* from = blob(source.data(), {3}, {1}, 4);
  AtenTensor* floats = empty({2, 3}, {1, 2});
  ASSERT_EQ(shim<Copy>("copy_")(floats, from, 0), 0);
  EXPECT_THAT((std::span{reinterpret_cast<float*>(floats->data()), 6}), ElementsAre(1, 1, -2, -2, 300, 300));
  AtenTensor* bytes = empty({3}, {1}, 0);
  ASSERT_EQ(shim<std::int32_t(AtenTensor*, AtenTensor*)>("tensor_copy_")(from, bytes), 0);
  EXPECT_THAT((std::span{reinterpret_cast<std::uint8_t*>(bytes->data()), 3}), ElementsAre(1, 254, 44));
  AtenTensor* wrong = empty({4});
  EXPECT_EQ(shim<Copy>("copy_")(wrong, from, 0), 1);
  EXPECT_THAT(call_.refusal, HasSubstr("broadcast"));
  for (AtenTensor* t : {from, floats, bytes, wrong}) drop(t);
}

TEST_F(Shims, ZeroLeavesTheGapsAlone) {
  std::array<float, 4> data{1, 2, 3, 4};
  AtenTensor* gaps = blob(data.data(), {2}, {2});
  ASSERT_EQ(shim<std::int32_t(AtenTensor*)>("zero_")(gaps), 0);
  EXPECT_THAT(data, ElementsAre(0, 2, 0, 4));
  drop(gaps);
  AtenTensor* none = empty({0});
  EXPECT_EQ(shim<std::int32_t(AtenTensor*)>("zero_")(none), 0);
  drop(none);
}

TEST_F(Shims, InfinitiesAndNansAreFound) {
  std::array<float, 2> data{1, 2};
  AtenTensor* t = blob(data.data(), {2}, {1});
  auto* check = shim<std::int32_t(const char*, AtenTensor*)>("check_inf_and_nan");
  EXPECT_EQ(check("buf0", t), 0);
  data[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(check("buf0", t), 1);
  EXPECT_THAT(call_.refusal, HasSubstr("buf0 is not finite"));
  drop(t);
}

template <class T>
T item_of(const char* name, AtenTensor* t) {
  T value{};
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, T*)>(name)(t, &value), 0) << name;
  return value;
}

TEST_F(Shims, ItemsConvertFromTheRealDtype) {
  bool flag = true;
  AtenTensor* boolean = blob(&flag, {}, {}, 11);
  EXPECT_EQ(item_of<std::int64_t>("item_int64", boolean), 1);
  EXPECT_TRUE(item_of<bool>("item_bool", boolean));
  float number = -2.75F;
  AtenTensor* real = blob(&number, {1}, {1});
  EXPECT_EQ(item_of<double>("item_float64", real), -2.75);
  EXPECT_EQ(item_of<std::int32_t>("item_int32", real), -2);
  EXPECT_EQ(item_of<std::uint16_t>("item_bfloat16", real), 0xC030);
  EXPECT_EQ(item_of<std::uint16_t>("item_float16", real), 0xC180);
  EXPECT_EQ(item_of<ComplexNumber<float>>("item_complex64", real).real, -2.75F);
  std::array<float, 2> two{};
  AtenTensor* many = blob(two.data(), {2}, {1});
  std::int64_t out = 0;
  EXPECT_EQ(shim<std::int32_t(AtenTensor*, std::int64_t*)>("item_int64")(many, &out), 1);
  for (AtenTensor* t : {boolean, real, many}) drop(t);
}

TEST_F(Shims, ScalarsBecomeTensorsWithoutDimensions) {
  AtenTensor* t = nullptr;
  ASSERT_EQ(shim<std::int32_t(std::int64_t, AtenTensor**)>("scalar_to_tensor_int64")(-7, &t), 0);
  EXPECT_EQ(get<std::int64_t>("get_dim", t), 0);
  EXPECT_EQ(get<std::int32_t>("get_dtype", t), 4);
  EXPECT_EQ(item_of<std::int64_t>("item_int64", t), -7);
  drop(t);
  ASSERT_EQ(shim<std::int32_t(ComplexNumber<float>, AtenTensor**)>("scalar_to_tensor_complex64")({1, 2}, &t), 0);
  EXPECT_EQ(item_of<ComplexNumber<float>>("item_complex64", t).real, 1);
  EXPECT_EQ(item_of<ComplexNumber<float>>("item_complex64", t).imaginary, 2);
  drop(t);
  ASSERT_EQ(shim<std::int32_t(bool, AtenTensor**)>("scalar_to_tensor_bool")(true, &t), 0);
  EXPECT_EQ(get<std::int32_t>("get_dtype", t), 11);
  drop(t);
}

TEST_F(Shims, FailedCheckThrowsWithItsText) {
  using Check = void(bool, const char*, const char*, std::uint32_t, const char*);
  EXPECT_NO_THROW(shim<Check>("check")(true, "f", "model.cpp", 3, "fine"));
  try {
    shim<Check>("check")(false, "kernel", "model.cpp", 7, "index out of bounds");
    FAIL() << "it returned";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "index out of bounds (kernel, model.cpp:7)");
  }
}

TEST_F(Shims, WarningsGoToTheLogSink) {
  std::vector<std::string> texts;
  set_log_sink([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::Warning) texts.emplace_back(text);
  });
  shim<void(const char*, const char*, std::uint32_t, const char*)>("warn")("f", "model.cpp", 7, "misaligned");
  set_log_sink({});
  EXPECT_THAT(texts, ElementsAre("misaligned (f, model.cpp:7)"));
}

TEST_F(Shims, GradModeIsOff) {
  shim<void(bool)>("grad_mode_set_enabled")(true);
  EXPECT_FALSE(shim<bool()>("grad_mode_is_enabled")());
}

TEST(Element, ReducedFloatsRoundToNearestEven) {
  EXPECT_EQ(Half{1.0F}.bits, 0x3C00);
  EXPECT_EQ(Half{65504.0F}.bits, 0x7BFF);
  EXPECT_EQ(Half{65519.0F}.bits, 0x7BFF);
  EXPECT_EQ(Half{65520.0F}.bits, 0x7C00);
  EXPECT_EQ(Half{-0x1p-24F}.bits, 0x8001);
  EXPECT_EQ(Half{0x1p-25F}.bits, 0x0000);  // halfway, to even
  EXPECT_EQ(Half{1.0F + 0x1p-11F}.bits, 0x3C00);
  EXPECT_EQ(Half{1.0F + 0x3p-11F}.bits, 0x3C02);
  EXPECT_EQ(BFloat16{1.0F + 0x1p-8F}.bits, 0x3F80);
  EXPECT_EQ(BFloat16{1.0F + 0x3p-8F}.bits, 0x3F82);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half{std::nanf("")})));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16{std::nanf("")})));
}

TEST(Element, EveryHalfSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(Half{value}.bits, bits);
  }
}

TEST(Element, ConversionsOutOfRangeAreDefined) {
  EXPECT_EQ(convert<std::int64_t>(std::numeric_limits<double>::infinity()), INT64_MIN);
  EXPECT_EQ(convert<std::int64_t>(std::nan("")), INT64_MIN);
  EXPECT_EQ(convert<std::uint64_t>(1e19), 10000000000000000000U);
  EXPECT_EQ(convert<std::uint8_t>(-1.0F), 255);
  EXPECT_TRUE(convert<bool>(std::nan("")));
}

}  // namespace
}  // namespace tandem::aoti
