#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli {

/// `text` with control characters and bytes that are no UTF-8 as `\xNN`: names come from files that nobody vouches
/// for, and must not move a terminal's cursor.
[[nodiscard]] std::string printable(std::string_view text);

/// "360x1x8x8"; "scalar" for rank 0.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> sizes);

/// "1 run", "25 runs".
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view noun);

/// Rows of cells, aligned in columns. Columns in which every cell is empty are left out.
class Table {
 public:
  enum class Align : std::uint8_t { Left, Right };
  struct Column {
    std::string title{};
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

  /// Precondition: one cell per column. Cells are made printable().
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Units: `indent` in spaces.
  [[nodiscard]] std::string to_string(std::size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tandem::cli
