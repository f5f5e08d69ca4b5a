// consumer PROGRAM DATA: computes x + 2y with the delegate of the program `add`.
#include <tandem/module.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

namespace {

tandem::Result<tandem::Tensor> filled(float number) {
  constexpr std::array<std::int64_t, 2> kSizes = {4, 8};
  TANDEM_TRY(tandem::Tensor tensor, tandem::Tensor::empty(tandem::ScalarType::Float, kSizes));
  std::fill_n(tensor.data_as<float>(), tensor.numel(), number);
  return tensor;
}

tandem::Status run(const char* program, const char* data) {
  constexpr float kX = 1.5F;
  constexpr float kY = 3.0F;
  TANDEM_TRY(const tandem::Tensor x, filled(kX));
  TANDEM_TRY(const tandem::Tensor y, filled(kY));
  tandem::Module module{program, {data}};
  TANDEM_TRY(const auto outputs, module.forward({x, y}));

  const tandem::Tensor& sum = outputs.at(0).tensor();
  const std::span<const float> numbers{sum.data_as<float>(), static_cast<std::size_t>(sum.numel())};
  const bool all_equal = std::ranges::all_of(numbers, [&](float n) { return n == numbers.front(); });
  if (numbers.size() != 32 || !all_equal) return tandem::Error{tandem::ErrorCode::Internal, "not 32 equal numbers"};
  std::printf("%g + 2 * %g = %g\n", kX, kY, numbers.front());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const tandem::Status status = run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
