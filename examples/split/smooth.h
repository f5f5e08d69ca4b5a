#pragma once

#include <cstdint>

/// What the library computes, on the host (smooth.cpp) or on `stream` of a GPU (smooth.cu). Channels become one, each
/// pixel the mean of the 3 by 3 around it, with zeros around the image: float32 [1, 3, height, width] to [1, 1, height,
/// width]. Errors: not 0.
std::int32_t smooth(const float* x, float* y, std::int64_t height, std::int64_t width, void* stream);
