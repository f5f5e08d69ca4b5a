#include "smooth.h"

std::int32_t smooth(const float* x, float* y, std::int64_t height, std::int64_t width, void* /*stream*/) {
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      float sum = 0;
      for (std::int64_t plane = 0; plane < 3 * height; plane += height) {
        for (std::int64_t r = row - 1; r <= row + 1; ++r) {
          for (std::int64_t c = column - 1; c <= column + 1; ++c) {
            const bool inside = r >= 0 && r < height && c >= 0 && c < width;
            if (inside) sum += x[(plane + r) * width + c];
          }
        }
      }
      y[row * width + column] = sum / 27;
    }
  }
  return 0;
}
