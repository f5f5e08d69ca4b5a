#pragma once

#include "backends/aoti/aoti_device.h"
#include "backends/aoti/weights.h"

#include <tandem/backend.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// A check of an input that a library says has failed.
struct Complaint {
  enum class Kind : std::uint8_t { Dtype, FixedSize, TooSmall, TooLarge, Stride, DeviceType };
  Kind kind = Kind::Dtype;
  std::size_t input = 0;
  std::size_t axis = 0;       ///< FixedSize, TooSmall, TooLarge, Stride.
  std::int64_t expected = 0;  ///< The same; of TooSmall and TooLarge the bound.
  std::int64_t found = 0;     ///< The same.
};

/// Reads a library's text. Nothing if it is another one.
/// Source: generate_input_output_runtime_checks in PyTorch's torch/_inductor/codegen/cpp_wrapper_cpu.py.
[[nodiscard]] std::optional<Complaint> parse_complaint(std::string_view text);

/// Learns which sizes a library takes, from the checks that AOTInductor compiles into it.
///
/// They are off unless an environment variable is set when an image first runs. A second image of the library, which
/// gets the variable's value from Tandem alone, is therefore run with sizes that cannot pass: its checks refuse them
/// before anything is computed, and say which ones could. The image is closed again.
///
/// Result: as Delegate::input_bounds(); inputs without checks, and those that are not dynamic, have no entries. Empty,
/// at no cost, if no input is dynamic.
[[nodiscard]] std::vector<std::vector<SizeBounds>> learn_input_bounds(std::span<const std::byte> bytes,
                                                                      std::string_view key, const Weights& weights,
                                                                      AotiDevice& device,
                                                                      std::span<const ArgumentSpec> inputs);

}  // namespace tandem::aoti
