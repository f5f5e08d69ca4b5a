#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::format {

/// Where a reader stands in a file's tables, "execution_plan[0].values[3].sizes". Kept as a chain on the stack and
/// spelt out only for an error.
///
/// Lifetime: refers to its parent and to the names.
class FieldPath {
 public:
  explicit constexpr FieldPath(std::string_view name) noexcept : name_{name} {}
  constexpr FieldPath(std::string_view name, std::size_t index) noexcept : name_{name}, index_{index} {}

  [[nodiscard]] constexpr FieldPath child(std::string_view name) const& noexcept { return {this, name, std::nullopt}; }
  [[nodiscard]] constexpr FieldPath child(std::string_view name, std::size_t index) const& noexcept {
    return {this, name, index};
  }
  FieldPath child(std::string_view name) const&& = delete;
  FieldPath child(std::string_view name, std::size_t index) const&& = delete;

  [[nodiscard]] std::string to_string() const;

 private:
  constexpr FieldPath(const FieldPath* parent, std::string_view name, std::optional<std::size_t> index) noexcept
      : parent_{parent}, name_{name}, index_{index} {}

  const FieldPath* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_{};
};

}  // namespace tandem::format
