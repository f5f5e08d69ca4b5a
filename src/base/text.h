#pragma once

#include <ranges>
#include <string>

namespace tandem::base {

/// "[2, 3]", for messages.
template <std::ranges::input_range Numbers>
[[nodiscard]] std::string text_of(const Numbers& numbers) {
  std::string text = "[";
  for (const auto number : numbers) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(number);
  }
  return text + "]";
}

}  // namespace tandem::base
