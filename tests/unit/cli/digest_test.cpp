#include "cli/digest.h"

#include <gtest/gtest.h>

#include <array>

namespace tandem::cli {
namespace {

std::uint64_t digest(const Value& value) {
  const Result<std::uint64_t> result = digest_of({&value, 1});
  EXPECT_TRUE(result.ok());
  return result.ok() ? *result : 0;
}

Tensor borrowed(std::array<float, 4>& data, ScalarType dtype, std::span<const std::int64_t> sizes,
                std::span<const std::int64_t> strides = {}) {
  Result<Tensor> tensor = Tensor::from_blob(data.data(), dtype, sizes, strides);
  EXPECT_TRUE(tensor.ok());
  return *tensor;
}

TEST(DigestTest, SeesBytesShapesAndDtypes) {
  std::array<float, 4> data{1, 2, 3, 4};
  const std::array<std::int64_t, 2> square{2, 2};
  const std::array<std::int64_t, 1> row{4};
  const std::uint64_t first = digest(borrowed(data, ScalarType::Float, square));
  EXPECT_EQ(first, digest(borrowed(data, ScalarType::Float, square)));
  EXPECT_NE(first, digest(borrowed(data, ScalarType::Float, row)));
  EXPECT_NE(first, digest(borrowed(data, ScalarType::Int, square)));
  data[3] = -4;
  EXPECT_NE(first, digest(borrowed(data, ScalarType::Float, square)));
}

TEST(DigestTest, DoesNotSeeStrides) {
  std::array<float, 4> rows{1, 2, 3, 4};
  std::array<float, 4> columns{1, 3, 2, 4};
  const std::array<std::int64_t, 2> sizes{2, 2};
  const std::array<std::int64_t, 2> strides{1, 2};
  EXPECT_EQ(digest(borrowed(rows, ScalarType::Float, sizes)),
            digest(borrowed(columns, ScalarType::Float, sizes, strides)));
}

TEST(DigestTest, SeesKindsAndOrder) {
  EXPECT_NE(digest(1), digest(true));
  EXPECT_NE(digest(0.0), digest(-0.0)) << "equal numbers, other bytes";
  const std::array<Value, 2> split{Value{"ab"}, Value{"c"}};
  const std::array<Value, 2> other{Value{"a"}, Value{"bc"}};
  EXPECT_NE(*digest_of(split), *digest_of(other));
}

}  // namespace
}  // namespace tandem::cli
