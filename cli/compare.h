#pragma once

#include <tandem/value.h>

#include <string>

namespace tandem::cli {

/// `found` matches `expected` where |found - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 1e-5;
  double atol = 1e-6;
};

struct Comparison {
  bool matched = true;
  /// Largest |found - expected|; infinity where a difference has no size: another kind, dtype, shape or text, a NaN
  /// beside a number.
  double max_abs_error = 0;
  std::string reason{};  ///< The first mismatch, for people; empty if matched.

  /// Makes this the result over both.
  void merge(const Comparison& other);
};

/// Kinds, dtypes and shapes must be equal, and so must whole numbers, truth values and texts; floats and complex
/// numbers may differ by `tolerance`. Equal infinities match, and so does NaN with NaN. Strides do not count.
[[nodiscard]] Comparison compare(const Value& found, const Value& expected, const Tolerance& tolerance);

}  // namespace tandem::cli
