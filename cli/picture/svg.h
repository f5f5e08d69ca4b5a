#pragma once

#include "cli/picture/geometry.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Pieces of SVG. Numbers are pixels; all text goes through xml_text().
namespace tandem::cli {

/// `text` for the inside of an element or a quoted attribute: markup escaped, and what XML cannot hold, controls and
/// broken UTF-8, as `\xNN`.
[[nodiscard]] std::string xml_text(std::string_view text);

/// "digits/program.pte, forward": what a picture is of.
[[nodiscard]] std::string picture_title(const std::filesystem::path& file, std::string_view method);

/// At most `max_characters` of printable text, the last an ellipsis where something was left out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t max_characters);

/// An upper estimate for common sans-serif fonts.
[[nodiscard]] double text_width(std::string_view text, double font_size);

struct TextStyle {
  double size = 12;
  std::string_view fill = "#1f2937";
  std::string_view anchor = "start";  ///< "start", "middle", "end".
  bool bold = false;
  bool halo = false;  ///< A white rim, for text over lines.
};

[[nodiscard]] std::string svg_text(double x, double y, std::string_view text, const TextStyle& style = {});

/// The path data of lines through `points` with rounded corners.
[[nodiscard]] std::string rounded_path(const std::vector<Point>& points, double radius);
/// The path data of a curve that leaves and arrives horizontally.
[[nodiscard]] std::string curve_path(Point from, Point to);

/// A whole document on a light ground of its own, with one arrow head per colour that `arrow_colours` names.
/// `description` says in words what is to be seen; empty: the title does.
[[nodiscard]] std::string svg_document(double width, double height, std::string_view title,
                                       const std::vector<std::string_view>& arrow_colours, std::string_view body,
                                       std::string_view description = {});
/// The value of `marker-end` for an arrow head of that colour.
[[nodiscard]] std::string arrow_of(std::string_view colour);

/// A backend's colours; they repeat after eight. None is red, which means trouble.
struct BackendColour {
  std::string_view line{};
  std::string_view fill{};
};
[[nodiscard]] BackendColour backend_colour(std::size_t index) noexcept;

}  // namespace tandem::cli
