#include "backends/aoti/call_state.h"
#include "backends/aoti/element.h"
#include "backends/aoti/geometry.h"
#include "backends/aoti/shim_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace tandem::aoti {
namespace {

using ::testing::HasSubstr;

template <class Function>
Function* shim(const char* name) {
  return reinterpret_cast<Function*>(shim_table_host().find(std::string{"aoti_torch_"} + name));
}
using Product = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*);
using AddProduct = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*, AtenTensor*, double, double);

template <class T>
constexpr ScalarType kTypeOf = ScalarType::Float;
template <>
constexpr ScalarType kTypeOf<double> = ScalarType::Double;
template <>
constexpr ScalarType kTypeOf<std::int64_t> = ScalarType::Long;
template <>
constexpr ScalarType kTypeOf<std::int8_t> = ScalarType::Char;
template <>
constexpr ScalarType kTypeOf<std::uint8_t> = ScalarType::Byte;
template <>
constexpr ScalarType kTypeOf<Half> = ScalarType::Half;
template <>
constexpr ScalarType kTypeOf<BFloat16> = ScalarType::BFloat16;
template <>
constexpr ScalarType kTypeOf<std::complex<double>> = ScalarType::ComplexDouble;
template <>
constexpr ScalarType kTypeOf<std::uint16_t> = ScalarType::UInt16;

/// A tensor over memory of its own, whose every cell between the elements must stay as it is.
template <class T>
struct Array {
  std::vector<T> cells;
  AtenTensor handle{};

  Array(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    handle.tag = AtenTensor::kLive;
    handle.dtype = kTypeOf<T>;
    handle.defined = true;
    EXPECT_EQ(set_geometry(handle, {static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data()}), nullptr);
    handle.storage_bytes = *reach_bytes(handle);
    cells.resize(handle.storage_bytes / sizeof(T) + 1, T{});
    handle.base = reinterpret_cast<std::byte*>(cells.data());
  }
  T& at(std::int64_t i, std::int64_t j) { return cells[offset({i, j})]; }
  T& at(std::int64_t b, std::int64_t i, std::int64_t j) { return cells[offset({b, i, j})]; }
  [[nodiscard]] std::size_t offset(std::initializer_list<std::int64_t> index) const {
    std::int64_t sum = 0;
    std::size_t d = 0;
    for (const std::int64_t i : index) sum += i * handle.strides[d++];
    return static_cast<std::size_t>(sum);
  }
};

template <class T>
T number(std::int64_t value) {
  if constexpr (is_reduced_float<T>) {
    return T{static_cast<float>(value)};
  } else if constexpr (is_complex<T>) {
    return T{static_cast<double>(value)};
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void fill(Array<T>& array, std::int64_t rows, std::int64_t columns, int seed) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) array.at(i, j) = number<T>((i * 7 + j * 3 + seed) % 5 - 2);
  }
}

/// Small integers, so that every dtype gives the exact product.
std::int64_t expected(std::int64_t i, std::int64_t j, std::int64_t inner) {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < inner; ++k) sum += ((i * 7 + k * 3 + 1) % 5 - 2) * ((k * 7 + j * 3 + 2) % 5 - 2);
  return sum;
}

using Strides = std::vector<std::int64_t>;
struct Layouts {
  Strides out, a, b;
};

/// out 3 x 4 = a 3 x 5 @ b 5 x 4: rows first, columns first, rows with gaps, no unit stride at all.
std::vector<Layouts> layouts() {
  std::vector<Layouts> all;
  for (const Strides& out : {Strides{4, 1}, Strides{1, 3}, Strides{6, 1}, Strides{1, 5}, Strides{10, 2}}) {
    for (const Strides& a : {Strides{5, 1}, Strides{1, 3}, Strides{7, 1}, Strides{11, 2}, Strides{0, 1}}) {
      for (const Strides& b : {Strides{4, 1}, Strides{1, 5}, Strides{1, 8}, Strides{3, 20}}) all.push_back({out, a, b});
    }
  }
  return all;
}

template <class T>
class MatrixOf : public ::testing::Test {};
using Types =
    ::testing::Types<float, double, std::int64_t, std::int8_t, std::uint8_t, Half, BFloat16, std::complex<double>>;
TYPED_TEST_SUITE(MatrixOf, Types);

TYPED_TEST(MatrixOf, ProductIsExactForEveryLayout) {
  for (const Layouts& layout : layouts()) {
    Array<TypeParam> a{{3, 5}, layout.a};
    Array<TypeParam> b{{5, 4}, layout.b};
    Array<TypeParam> out{{3, 4}, layout.out};
    const bool broadcast = layout.a[0] == 0;
    fill(a, broadcast ? 1 : 3, 5, 1);
    fill(b, 5, 4, 2);
    ASSERT_EQ(shim<Product>("cpu_mm_out")(&out.handle, &a.handle, &b.handle), 0);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        const auto want = number<TypeParam>(expected(broadcast ? 0 : i, j, 5));
        EXPECT_EQ(std::memcmp(&out.at(i, j), &want, sizeof want), 0) << i << ", " << j;
      }
    }
  }
}

TEST(Matrix, GapsOfTheResultStayAsTheyWere) {
  Array<float> a{{2, 1}, {1, 1}};
  Array<float> b{{1, 2}, {2, 1}};
  Array<float> out{{2, 2}, {6, 3}};
  for (float& cell : out.cells) cell = -1;
  a.cells = {1, 2, 0};
  b.cells = {3, 4, 0};
  ASSERT_EQ(shim<Product>("cpu_mm_out")(&out.handle, &a.handle, &b.handle), 0);
  EXPECT_THAT(out.cells, ::testing::ElementsAre(3, -1, -1, 4, -1, -1, 6, -1, -1, 8, -1));
}

TEST(Matrix, BiasOfARowIsAddedToEveryRow) {
  Array<float> a{{2, 2}, {2, 1}};
  Array<float> b{{2, 2}, {2, 1}};
  Array<float> bias{{2}, {1}};
  Array<float> out{{2, 2}, {2, 1}};
  a.cells = {1, 2, 3, 4, 0};
  b.cells = {1, 0, 0, 1, 0};
  bias.cells = {10, 20, 0};
  ASSERT_EQ(shim<AddProduct>("cpu_addmm_out")(&out.handle, &bias.handle, &a.handle, &b.handle, 0.5, 2), 0);
  EXPECT_THAT(out.cells, ::testing::ElementsAre(7, 14, 11, 18, 0));
}

TEST(Matrix, WithBetaZeroNothingIsReadFromTheOldValue) {
  Array<float> a{{1, 1}, {1, 1}};
  Array<float> bias{{1}, {1}};
  Array<float> out{{1, 1}, {1, 1}};
  a.cells[0] = 3;
  bias.cells[0] = out.cells[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_EQ(shim<AddProduct>("cpu_addmm_out")(&out.handle, &bias.handle, &a.handle, &a.handle, 0, 1), 0);
  EXPECT_EQ(out.cells[0], 9);
}

TEST(Matrix, NoInnerDimensionLeavesTheBias) {
  Array<float> a{{2, 0}, {1, 1}};
  Array<float> b{{0, 2}, {2, 1}};
  Array<float> bias{{2, 2}, {2, 1}};
  Array<float> out{{2, 2}, {2, 1}};
  bias.cells = {1, 2, 3, 4, 0};
  ASSERT_EQ(shim<AddProduct>("cpu_addmm_out")(&out.handle, &bias.handle, &a.handle, &b.handle, 2, 1), 0);
  EXPECT_THAT(out.cells, ::testing::ElementsAre(2, 4, 6, 8, 0));
}

TEST(Matrix, InPlaceBiasIsKept) {
  Array<double> a{{1, 1}, {1, 1}};
  Array<double> out{{1, 1}, {1, 1}};
  a.cells[0] = 3;
  out.cells[0] = 5;
  ASSERT_EQ(shim<AddProduct>("cpu_addmm_out")(&out.handle, &out.handle, &a.handle, &a.handle, 2, 1), 0);
  EXPECT_EQ(out.cells[0], 19);
}

TEST(Matrix, BatchesAreMultipliedOneByOne) {
  Array<float> a{{2, 1, 2}, {2, 2, 1}};
  Array<float> b{{2, 2, 1}, {1, 2, 1}};  // batches are columns
  Array<float> out{{2, 1, 1}, {1, 1, 1}};
  a.cells = {1, 2, 3, 4, 0};
  b.cells = {1, 10, 2, 20, 0};
  ASSERT_EQ(shim<Product>("cpu_bmm_out")(&out.handle, &a.handle, &b.handle), 0);
  EXPECT_EQ(out.cells[0], 1 * 1 + 2 * 2);
  EXPECT_EQ(out.cells[1], 3 * 10 + 4 * 20);
  Array<float> bias{{1, 1}, {1, 1}};
  bias.cells[0] = 100;
  ASSERT_EQ(shim<AddProduct>("cpu_baddbmm_out")(&out.handle, &bias.handle, &a.handle, &b.handle, 1, 1), 0);
  EXPECT_EQ(out.cells[0], 105);
}

TEST(Matrix, SumOfTwoProducts) {
  Array<float> a{{1, 1}, {1, 1}};
  Array<float> b{{1, 1}, {1, 1}};
  Array<float> out{{1, 1}, {1, 1}};
  a.cells[0] = 3;
  b.cells[0] = 4;
  using Sum = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*, AtenTensor*, AtenTensor*);
  ASSERT_EQ(shim<Sum>("_mm_plus_mm_out")(&out.handle, &a.handle, &a.handle, &b.handle, &b.handle), 0);
  EXPECT_EQ(out.cells[0], 25);
}

TEST(Matrix, ShapesThatDoNotFitAndOtherDtypesAreNamed) {
  CallState call;
  const CallScope scope{call};
  Array<float> a{{2, 3}, {3, 1}};
  Array<float> out{{2, 2}, {2, 1}};
  EXPECT_EQ(shim<Product>("cpu_mm_out")(&out.handle, &a.handle, &a.handle), 1);
  EXPECT_EQ(call.refusal, "aoti_torch_cpu_mm_out: shapes do not fit: float32[2,2] from float32[2,3] and float32[2,3]");
  EXPECT_EQ(call.refusal_code, ErrorCode::BackendFailed) << "other sizes may fit";
  Array<std::uint16_t> odd{{1, 1}, {1, 1}};
  EXPECT_EQ(shim<Product>("cpu_mm_out")(&odd.handle, &odd.handle, &odd.handle), 1);
  EXPECT_THAT(call.refusal, HasSubstr("uint16[1,1]"));
  EXPECT_EQ(call.refusal_code, ErrorCode::IncompatibleDelegate) << "no data changes a dtype";
  Array<double> wide{{2, 2}, {2, 1}};
  EXPECT_EQ(shim<Product>("cpu_mm_out")(&out.handle, &wide.handle, &out.handle), 1);
  EXPECT_THAT(call.refusal, HasSubstr("ranks or dtypes do not fit"));
  EXPECT_EQ(call.refusal_code, ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(shim<Product>("cpu_mm_out")(nullptr, &a.handle, &a.handle), 1);
}

}  // namespace
}  // namespace tandem::aoti
