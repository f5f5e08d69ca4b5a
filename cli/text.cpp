#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tandem::cli {
namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
/// Source: Unicode 15, table 3-7.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  const unsigned low = lead == 0xE0 ? 0xA0U : lead == 0xF0 ? 0x90U : 0x80U;   // no overlong forms
  const unsigned high = lead == 0xED ? 0x9FU : lead == 0xF4 ? 0x8FU : 0xBFU;  // no surrogates, nothing past U+10FFFF
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

/// C0 and C1 controls and DEL, the latter as the two bytes C2 80..9F.
bool is_control(std::string_view sequence) noexcept {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead < 0x20 || lead == 0x7F;
  return sequence.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

/// Code points: close enough to columns for names.
std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length != 0 && !is_control(sequence)) {
      out += sequence;
    } else {
      for (const char c : sequence) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string shape_text(std::span<const std::int64_t> sizes) {
  if (sizes.empty()) return "scalar";
  return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string count_text(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::to_string(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);  // 0: left out
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const std::vector<std::string>& row : rows_) widths[c] = std::max(widths[c], width(row[c]));
    if (widths[c] != 0) widths[c] = std::max(widths[c], width(columns_[c].title));
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string& cell = cell_of(c);
      const std::string padding(widths[c] - width(cell), ' ');
      if (text.size() > indent) text += "  ";
      text += columns_[c].align == Align::Right ? padding + cell : cell + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([this](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const std::vector<std::string>& row : rows_)
    line([&row](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

}  // namespace tandem::cli
