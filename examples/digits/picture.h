#pragma once

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

inline constexpr std::size_t kSide = 8;  ///< Pixels along each side of a digit.
inline constexpr std::size_t kPixels = kSide * kSide;

struct Digits {
  std::vector<float> pixels{};         ///< kPixels each, row by row; 0 is paper, 1 is ink.
  std::vector<std::int64_t> labels{};  ///< What the writer meant.
  std::vector<std::int64_t> guesses{};

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] bool is_right(std::size_t i) const { return labels[i] == guesses[i]; }
};

/// Draws up to 40 digits with their guesses as SVG: right ones, then wrong ones (at most half) in red.
/// Errors: AccessFailed, the file cannot be written.
[[nodiscard]] tandem::Status draw(const Digits& digits, const std::string& title, const std::filesystem::path& path);
