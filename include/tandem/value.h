#pragma once

#include <tandem/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tandem {

/// What goes into and comes out of a method: nothing, a tensor, a number, a text.
class Value {
 public:
  enum class Kind : std::uint8_t { None, Tensor, Int, Double, Bool, String };

  Value() noexcept = default;
  Value(Tensor tensor) : value_{std::move(tensor)} {}     // NOLINT(google-explicit-constructor)
  Value(std::int64_t number) : value_{number} {}          // NOLINT
  Value(int number) : value_{std::int64_t{number}} {}     // NOLINT
  Value(double number) : value_{number} {}                // NOLINT
  Value(bool flag) : value_{flag} {}                      // NOLINT
  Value(std::string text) : value_{std::move(text)} {}    // NOLINT
  Value(const char* text) : value_{std::string{text}} {}  // NOLINT

  [[nodiscard]] Kind kind() const noexcept { return static_cast<Kind>(value_.index()); }
  [[nodiscard]] bool is_none() const noexcept { return kind() == Kind::None; }
  [[nodiscard]] bool is_tensor() const noexcept { return kind() == Kind::Tensor; }
  /// Preconditions: the kind is the one asked for.
  [[nodiscard]] const Tensor& tensor() const noexcept { return *std::get_if<Tensor>(&value_); }
  [[nodiscard]] std::int64_t to_int() const noexcept { return *std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] double to_double() const noexcept { return *std::get_if<double>(&value_); }
  [[nodiscard]] bool to_bool() const noexcept { return *std::get_if<bool>(&value_); }
  [[nodiscard]] const std::string& to_text() const noexcept { return *std::get_if<std::string>(&value_); }

 private:
  std::variant<std::monostate, Tensor, std::int64_t, double, bool, std::string> value_;
};

/// "none", "tensor", "int", "double", "bool", "string".
[[nodiscard]] TANDEM_EXPORT std::string_view name_of(Value::Kind kind) noexcept;

}  // namespace tandem
