#pragma once

#include <tandem/device.h>
#include <tandem/scalar_type.h>
#include <tandem/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tandem {

/// A tensor as a running step sees it: borrowed, fixed address of the struct itself, contents that change per run.
///
/// Shapes: `sizes`, `strides` and `dim_order` have `rank` entries; strides in elements.
struct TensorArg {
  void* data = nullptr;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  const std::uint8_t* dim_order = nullptr;  ///< The layout that the program plans for this value.
  std::size_t capacity_bytes = 0;           ///< What may be written at `data`.
  ScalarType dtype = ScalarType::Float;
  std::uint8_t rank = 0;
  bool resizable = false;  ///< The program bounds the size instead of fixing it.
  DeviceId device{};

  [[nodiscard]] std::span<std::int64_t> size_span() const noexcept { return {sizes, rank}; }
  [[nodiscard]] std::span<std::int64_t> stride_span() const noexcept { return {strides, rank}; }
  [[nodiscard]] std::span<const std::uint8_t> order_span() const noexcept { return {dim_order, rank}; }
  [[nodiscard]] std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= sizes[i];
    return n;
  }
  [[nodiscard]] std::size_t nbytes() const noexcept { return static_cast<std::size_t>(numel()) * item_bytes(dtype); }
};

/// One value of a running method, as delegates and operators see it.
///
/// Lists are boxed: an element is read from its own value when it is used, so numbers that earlier steps computed
/// are visible.
struct Argument {
  enum class Kind : std::uint8_t {
    None,
    Tensor,
    Int,
    Double,
    Bool,
    String,
    IntList,             ///< `items` of kind Int.
    DoubleList,          ///< `doubles`.
    BoolList,            ///< `bools`.
    TensorList,          ///< `items` of kind Tensor.
    OptionalTensorList,  ///< `items` of kind Tensor; nullptr stands for None.
  };

  Kind kind = Kind::None;
  TensorArg tensor{};                  ///< Kind Tensor.
  std::int64_t integer = 0;            ///< Kind Int.
  double number = 0;                   ///< Kind Double.
  bool flag = false;                   ///< Kind Bool.
  std::string_view text{};             ///< Kind String.
  std::span<Argument* const> items{};  ///< Boxed lists.
  std::span<const double> doubles{};
  std::span<const std::uint8_t> bools{};  ///< 0 or 1 each.

  [[nodiscard]] bool is_tensor() const noexcept { return kind == Kind::Tensor; }
};

}  // namespace tandem
