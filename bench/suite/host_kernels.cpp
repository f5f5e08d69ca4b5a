#include "bench/suite/host_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem::suite {
namespace {

const float* floats(const void* data) { return static_cast<const float*>(data); }

void affine(const KernelCall& call) {
  auto* const out = static_cast<float*>(call.out);
  for (std::int64_t i = 0; i < call.rows * call.columns; ++i) {
    float x = floats(call.in[0])[i];
    for (std::int32_t r = 0; r < call.repeats; ++r) x = x * call.scale + call.amount;
    out[i] = x;
  }
}

void sum4(const KernelCall& call) {
  auto* const out = static_cast<float*>(call.out);
  for (std::int64_t i = 0; i < call.rows * call.columns; ++i) {
    out[i] = floats(call.in[0])[i] + floats(call.in[1])[i] + floats(call.in[2])[i] + floats(call.in[3])[i];
  }
}

float gelu(float x) { return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x))); }

void mat_mul(const KernelCall& call, bool has_gelu) {
  auto* const out = static_cast<float*>(call.out);
  for (std::int64_t r = 0; r < call.rows; ++r) {
    for (std::int64_t c = 0; c < call.columns; ++c) {
      float sum = 0;
      for (std::int64_t k = 0; k < call.inner; ++k) {
        sum += floats(call.in[0])[r * call.inner + k] * floats(call.in[1])[k * call.columns + c];
      }
      const std::int64_t i = r * call.columns + c;
      out[i] = has_gelu ? gelu(sum) : sum + (call.in[2] == nullptr ? 0 : floats(call.in[2])[i]);
    }
  }
}

void layer_norm(const KernelCall& call) {
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const float* const x = floats(call.in[0]) + r * call.columns;
    auto* const out = static_cast<float*>(call.out) + r * call.columns;
    const auto columns = static_cast<float>(call.columns);
    float mean = 0;
    for (std::int64_t c = 0; c < call.columns; ++c) mean += x[c] / columns;
    float variance = 0;
    for (std::int64_t c = 0; c < call.columns; ++c) variance += (x[c] - mean) * (x[c] - mean) / columns;
    for (std::int64_t c = 0; c < call.columns; ++c) out[c] = (x[c] - mean) / std::sqrt(variance + 1e-5F);
  }
}

/// One head of one row: softmax of query . key over `count` rows, times the values.
struct Head {
  const float* query;
  const float* keys;
  const float* values;
  std::int64_t stride;  ///< From row to row of keys and values.
  std::int64_t count;
  std::int64_t width;
  float* out;
};

void attend(const Head& head) {
  std::array<float, kMostRows> weights{};
  const float scale = 1 / std::sqrt(static_cast<float>(head.width));
  float largest = -INFINITY;
  for (std::int64_t j = 0; j < head.count; ++j) {
    float dot = 0;
    for (std::int64_t c = 0; c < head.width; ++c) dot += head.query[c] * head.keys[j * head.stride + c];
    weights[static_cast<std::size_t>(j)] = dot * scale;
    largest = std::max(largest, dot * scale);
  }
  float sum = 0;
  for (std::int64_t j = 0; j < head.count; ++j) {
    float& weight = weights[static_cast<std::size_t>(j)];
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (std::int64_t c = 0; c < head.width; ++c) {
    float mixed = 0;
    for (std::int64_t j = 0; j < head.count; ++j) {
      mixed += weights[static_cast<std::size_t>(j)] * head.values[j * head.stride + c];
    }
    head.out[c] = mixed / sum;
  }
}

void attention(const KernelCall& call) {
  const std::int64_t width = call.columns / call.heads;
  const std::int64_t stride = 3 * call.columns;
  for (std::int64_t r = 0; r < call.rows; ++r) {
    for (std::int64_t h = 0; h < call.heads; ++h) {
      const float* const first = floats(call.in[0]) + h * width;
      attend({first + r * stride, first + call.columns, first + 2 * call.columns, stride, r + 1, width,
              static_cast<float*>(call.out) + r * call.columns + h * width});
    }
  }
}

void attend_cache(const KernelCall& call) {
  const std::int64_t width = call.columns / call.heads;
  const std::int64_t position =
      std::clamp<std::int64_t>(*static_cast<const std::int64_t*>(call.in[3]), 0, call.rows - 1);
  const float* const row = floats(call.in[0]);
  auto* const keys = static_cast<float*>(const_cast<void*>(call.in[1]));
  auto* const values = static_cast<float*>(const_cast<void*>(call.in[2]));
  std::copy_n(row + call.columns, call.columns, keys + position * call.columns);
  std::copy_n(row + 2 * call.columns, call.columns, values + position * call.columns);
  for (std::int64_t h = 0; h < call.heads; ++h) {
    const std::int64_t first = h * width;
    attend({row + first, keys + first, values + first, call.columns, position + 1, width,
            static_cast<float*>(call.out) + first});
  }
}

}  // namespace

void run_on_host(const KernelCall& call) noexcept {
  switch (call.op) {
    case Op::Affine:
      return affine(call);
    case Op::Sum4:
      return sum4(call);
    case Op::MatMul:
      return mat_mul(call, false);
    case Op::MatMulGelu:
      return mat_mul(call, true);
    case Op::LayerNorm:
      return layer_norm(call);
    case Op::Attention:
      return attention(call);
    case Op::AttendCache:
      return attend_cache(call);
  }
}

}  // namespace tandem::suite
