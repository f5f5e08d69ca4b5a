#include "backends/aoti/cuda_shims.h"

#include "backends/aoti/call_state.h"
#include "backends/aoti/copy_elements.h"
#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_copy.h"
#include "backends/aoti/geometry.h"
#include "cuda_call.h"
#include "device/cuda/cuda_device.h"
#include "support/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace tandem::aoti {
namespace {

using testing::FakeCuda;
using ::testing::HasSubstr;

AtenTensor view(float* data, const Sizes& sizes, const Sizes& strides) {
  AtenTensor tensor{};
  tensor.tag = AtenTensor::kLive;
  tensor.dtype = ScalarType::Float;
  tensor.base = reinterpret_cast<std::byte*>(data);
  EXPECT_EQ(set_geometry(tensor, {static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data()}), nullptr);
  tensor.storage_bytes = reach_bytes(tensor).value_or(0);
  return tensor;
}

// -------------------------------------------------------------------------------------------- copies on the stream

struct Layouts {
  Sizes sizes;
  Sizes to;
  Sizes from_sizes;
  Sizes from;
  int calls;
};

class StridedCopy : public ::testing::TestWithParam<Layouts> {};

TEST_P(StridedCopy, PlacesElementsAsTheHostDoesInFewCalls) {
  const Layouts& layouts = GetParam();
  std::vector<float> source(4096);
  std::iota(source.begin(), source.end(), 0.0F);
  std::vector<float> expected(4096, -1.0F);
  std::vector<float> found = expected;
  const AtenTensor from = view(source.data(), layouts.from_sizes, layouts.from);
  ASSERT_EQ(copy_elements(view(expected.data(), layouts.sizes, layouts.to), from), nullptr);
  FakeCuda& fake = FakeCuda::instance();
  fake.reset();
  ASSERT_EQ(
      copy_on_stream(FakeCuda::functions(), FakeCuda::kRunStream, view(found.data(), layouts.sizes, layouts.to), from),
      nullptr);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(fake.count("cudaMemcpyAsync") + fake.count("cudaMemcpy2DAsync"), layouts.calls);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, StridedCopy,
    ::testing::Values(Layouts{{}, {}, {}, {}, 1}, Layouts{{0, 3}, {3, 1}, {0, 3}, {3, 1}, 0},
                      Layouts{{4, 6}, {6, 1}, {4, 6}, {6, 1}, 1},   // the same
                      Layouts{{4, 6}, {6, 1}, {4, 6}, {16, 1}, 1},  // padded rows
                      Layouts{{4, 6}, {6, 1}, {4, 6}, {1, 4}, 4},   // transposed
                      Layouts{{2, 3, 4}, {12, 4, 1}, {2, 3, 4}, {12, 1, 3}, 6},
                      Layouts{{2, 3, 4}, {1, 2, 6}, {2, 3, 4}, {1, 2, 6}, 1},  // the same, another order
                      Layouts{{4, 6}, {6, 1}, {6}, {1}, 4},                    // rows from one
                      Layouts{{4, 6}, {6, 1}, {4, 1}, {1, 1}, 6},              // columns from one
                      Layouts{{2, 1, 5}, {5, 99, 1}, {2, 1, 5}, {5, 7, 1}, 1}));

TEST(StridedCopyRefusal, TooManyCalls) {
  float memory = 0;
  const Sizes sizes{300, 300, 300};
  EXPECT_THAT(copy_on_stream(FakeCuda::functions(), FakeCuda::kRunStream, view(&memory, sizes, {90000, 300, 1}),
                             view(&memory, sizes, {1, 300, 90000})),
              HasSubstr("too many places"));
}

TEST(StridedCopyRefusal, OtherDtypesAndSizes) {
  float memory[4] = {};
  const AtenTensor target = view(memory, {2}, {1});
  AtenTensor source = view(memory + 2, {2}, {1});
  source.dtype = ScalarType::Int;
  EXPECT_THAT(copy_on_stream(FakeCuda::functions(), nullptr, target, source), HasSubstr("dtypes"));
  EXPECT_THAT(copy_on_stream(FakeCuda::functions(), nullptr, target, view(memory, {3}, {1})), HasSubstr("broadcast"));
}

// ----------------------------------------------------------------------------------------------- shims of libraries

TEST(CudaCalls, LegacyStreamBecomesTheCallsStream) {
  InCall call{FakeCuda::functions()};
  FakeCuda::instance().reset();
  std::byte* data = call.device().allocate(16);
  const auto fill = shim<int(void*, int, std::size_t, cudaStream_t)>("cudaMemsetAsync");
  EXPECT_EQ(fill(data, 1, 16, nullptr), 0);
  EXPECT_EQ(fill(data, 1, 16, cudaStreamLegacy), 0);
  EXPECT_THAT(FakeCuda::instance().streams, ::testing::ElementsAre(call.device().gpu().stream()));
}

TEST(CudaCalls, FreedMemoryServesTheNextAllocationAndIsGivenBackAtTheEnd) {
  FakeCuda& fake = FakeCuda::instance();
  fake.reset();
  {
    InCall call{FakeCuda::functions()};
    const auto allocate = shim<int(void**, std::size_t)>("cudaMalloc");
    const auto give_back = shim<int(void*)>("cudaFree");
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(allocate(&first, 1000), 0);
    EXPECT_EQ(give_back(first), 0);
    EXPECT_EQ(give_back(first), cudaErrorInvalidValue) << "it is free already";
    ASSERT_EQ(allocate(&second, 900), 0);
    EXPECT_EQ(second, first);
    EXPECT_EQ(give_back(nullptr), 0);
    EXPECT_EQ(fake.count("cudaFree"), 0);
  }
  EXPECT_EQ(fake.count("cudaFree"), 1);
}

TEST(CudaCalls, ElementsOfTheDeviceAreReadThroughACopy) {
  InCall call{FakeCuda::functions()};
  AtenTensor& tensor = call.tensor({1}, {1}, {2.5F});
  double value = 0;
  EXPECT_EQ(shim<int(AtenTensor*, double*)>("aoti_torch_item_float64")(&tensor, &value), 0);
  EXPECT_EQ(value, 2.5);
}

TEST(CudaCalls, GuardsOfAnotherGpuAreRefused) {
  InCall call{FakeCuda::functions()};
  void* guard = nullptr;
  EXPECT_EQ(shim<int(std::int32_t, void**)>("aoti_torch_create_cuda_guard")(0, &guard), 0);
  EXPECT_NE(shim<int(std::int32_t, void**)>("aoti_torch_create_cuda_guard")(1, &guard), 0);
  EXPECT_THAT(call.state().refusal, HasSubstr("another GPU"));
  void* stream = nullptr;
  EXPECT_EQ(shim<int(std::int32_t, void**)>("aoti_torch_get_current_cuda_stream")(0, &stream), 0);
  EXPECT_EQ(stream, call.device().stream());
}

// ------------------------------------------------------------------------------------------------------- with a GPU

/// Small whole numbers, so that every order of adding them gives the same.
std::vector<float> numbers(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) % 11 - 5);
  return values;
}

TEST_F(OnGpu, ProductsOfMatricesInEveryLayout) {
  const std::int64_t m = 5;
  const std::int64_t k = 7;
  const std::int64_t n = 3;
  InCall call{cuda_functions()};
  for (const bool a_rows : {true, false}) {
    for (const bool b_rows : {true, false}) {
      for (const bool out_rows : {true, false}) {
        SCOPED_TRACE(std::to_string(a_rows) + std::to_string(b_rows) + std::to_string(out_rows));
        const auto strides = [](bool rows, std::int64_t r, std::int64_t c) { return rows ? Sizes{c, 1} : Sizes{1, r}; };
        const std::vector<float> av = numbers(35, 1);
        const std::vector<float> bv = numbers(21, 2);
        AtenTensor& a = call.tensor({m, k}, strides(a_rows, m, k), av);
        AtenTensor& b = call.tensor({k, n}, strides(b_rows, k, n), bv);
        AtenTensor& out = call.tensor({m, n}, strides(out_rows, m, n), numbers(15, 3));
        AtenTensor& bias = call.tensor({n}, {1}, {10, 20, 30});
        const auto at = [](const AtenTensor& t, const std::vector<float>& values, std::int64_t r, std::int64_t c) {
          return values[static_cast<std::size_t>(r * t.strides[0] + c * t.strides[1])];
        };
        const auto expect = [&](auto&& plus) {
          const std::vector<float> found = call.read(out);
          for (std::int64_t r = 0; r < m; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
              float sum = 0;
              for (std::int64_t i = 0; i < k; ++i) sum += at(a, av, r, i) * at(b, bv, i, c);
              EXPECT_EQ(at(out, found, r, c), plus(sum, c)) << r << "," << c;
            }
          }
        };
        using Mm = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*);
        ASSERT_EQ(shim<Mm>("aoti_torch_cuda_mm_out")(&out, &a, &b), 0) << call.state().refusal;
        expect([](float sum, std::int64_t) { return sum; });
        using Addmm = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*, AtenTensor*, double, double);
        const auto addmm = shim<Addmm>("aoti_torch_cuda_addmm_out");
        ASSERT_EQ(addmm(&out, &bias, &a, &b, 1, 1), 0) << call.state().refusal;
        expect([](float sum, std::int64_t c) { return sum + 10 * static_cast<float>(c + 1); });
        ASSERT_EQ(addmm(&out, &bias, &a, &b, 2, 3), 0) << call.state().refusal;
        expect([](float sum, std::int64_t c) { return 3 * sum + 20 * static_cast<float>(c + 1); });
      }
    }
  }
}

TEST_F(OnGpu, ProductsOfBatches) {
  InCall call{cuda_functions()};
  const std::vector<float> av = numbers(24, 1);
  const std::vector<float> bv = numbers(40, 2);
  AtenTensor& a = call.tensor({2, 3, 4}, {12, 4, 1}, av);
  AtenTensor& b = call.tensor({2, 4, 5}, {20, 1, 4}, bv);
  AtenTensor& out = call.tensor({2, 3, 5}, {15, 5, 1});
  using Bmm = std::int32_t(AtenTensor*, AtenTensor*, AtenTensor*);
  ASSERT_EQ(shim<Bmm>("aoti_torch_cuda_bmm_out")(&out, &a, &b), 0) << call.state().refusal;
  const std::vector<float> found = call.read(out);
  for (std::size_t i = 0; i < 30; ++i) {
    const std::size_t batch = i / 15;
    const std::size_t row = i / 5 % 3;
    const std::size_t column = i % 5;
    float sum = 0;
    for (std::size_t c = 0; c < 4; ++c) sum += av[batch * 12 + row * 4 + c] * bv[batch * 20 + column * 4 + c];
    EXPECT_EQ(found[i], sum) << i;
  }
}

}  // namespace
}  // namespace tandem::aoti
