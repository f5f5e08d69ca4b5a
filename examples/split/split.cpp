// Runs a program that is split over three kinds of delegates, and holds the result against the mathematics.
//
//   split PROGRAM.pte [DEVICE]       made of split.json by `tandem pack`; DEVICE is cuda:0 for the one for CUDA
#include <tandem/module.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "spot_backend.h"

namespace {

constexpr std::int64_t kSide = 32;

/// A dark image, a bit brighter to the right, with a bright square around row 20, column 9. Bytes, [h, w, 3].
std::vector<std::uint8_t> make_image() {
  std::vector<std::uint8_t> image;
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < kSide; ++column) {
      const bool bright = std::abs(row - 20) <= 1 && std::abs(column - 9) <= 1;
      for (const std::int64_t channel : {0, 1, 2}) {
        image.push_back(static_cast<std::uint8_t>(bright ? 250 - channel : 3 * column + 10 * channel));
      }
    }
  }
  return image;
}

/// What the map must be at one place, computed plainly.
double map_at(const std::vector<std::uint8_t>& image, std::int64_t row, std::int64_t column) {
  constexpr std::array<double, 3> kMean = {0.5, 0.25, 0.125};  // as split.json has them
  constexpr std::array<double, 3> kDeviation = {0.5, 0.25, 0.25};
  double sum = 0;
  for (std::int64_t r = std::max<std::int64_t>(row - 1, 0); r <= std::min(row + 1, kSide - 1); ++r) {
    for (std::int64_t c = std::max<std::int64_t>(column - 1, 0); c <= std::min(column + 1, kSide - 1); ++c) {
      for (std::size_t k = 0; k < 3; ++k) {
        const double byte = image[static_cast<std::size_t>(3 * (r * kSide + c)) + k];
        sum += (byte / 255 - kMean.at(k)) / kDeviation.at(k);
      }
    }
  }
  const double positive = std::max(sum / 27, 0.0);
  return positive * positive;
}

tandem::Status check(const std::vector<std::uint8_t>& image, const std::int64_t* spot, const float* map) {
  double worst = 0;
  std::array<std::int64_t, 2> brightest = {0, 0};
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < kSide; ++column) {
      const double expected = map_at(image, row, column);
      worst = std::max(worst, std::abs(static_cast<double>(map[row * kSide + column]) - expected));
      if (expected > map_at(image, brightest[0], brightest[1])) brightest = {row, column};
    }
  }
  const auto row = static_cast<int>(spot[0]);
  const auto column = static_cast<int>(spot[1]);
  std::printf("brightest spot: row %d, column %d\nlargest error of the map: %.1e\n", row, column, worst);
  const bool right = spot[0] == brightest[0] && spot[1] == brightest[1] && worst < 1e-5;
  return right ? tandem::Status{} : tandem::Error{tandem::ErrorCode::Internal, "that is wrong"};
}

tandem::Status run(const char* file, const char* device) {
  TANDEM_CHECK_OK(tandem::BackendRegistry::global().register_backend("SpotBackend", make_spot_backend()));
  TANDEM_TRY(const tandem::DeviceId id, tandem::parse_device(device));
  tandem::Module module{file, {}, {.device = id}};
  std::vector<std::uint8_t> image = make_image();
  const std::array<std::int64_t, 3> sizes = {kSide, kSide, 3};
  TANDEM_TRY(const tandem::Tensor input, tandem::Tensor::from_blob(image.data(), tandem::ScalarType::Byte, sizes));
  TANDEM_TRY(const std::vector<tandem::Value> outputs, module.forward(input));
  return check(image, outputs.at(0).tensor().data_as<std::int64_t>(), outputs.at(1).tensor().data_as<float>());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: split PROGRAM.pte [DEVICE]\n");
    return 2;
  }
  const tandem::Status status = run(argv[1], argc == 3 ? argv[2] : "host");
  if (!status.ok()) std::fprintf(stderr, "split: %s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
