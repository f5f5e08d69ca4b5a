#include "cli/picture/svg.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

/// The point `radius` away from `corner` towards `other`, or half way there.
Point towards(Point corner, Point other, double radius) {
  const double length = std::hypot(other.x - corner.x, other.y - corner.y);
  const double part = length == 0 ? 0 : std::min(radius, length / 2) / length;
  return {corner.x + (other.x - corner.x) * part, corner.y + (other.y - corner.y) * part};
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  // U+FFFE and U+FFFF are well-formed UTF-8 and no characters of XML.
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = 0; (at = out.find(bad, at)) != std::string::npos;)
      out.replace(at, bad.size(), "\xEF\xBF\xBD");
  }
  return out;
}

std::string picture_title(const std::filesystem::path& file, std::string_view method) {
  return fmt::format("{}, {}", (file.parent_path().filename() / file.filename()).string(), method);
}

std::string shortened(std::string_view text, std::size_t max_characters) {
  std::string shown = printable(text.substr(0, 4 * max_characters + 4));
  if (characters(shown) <= max_characters && shown.size() >= text.size()) return shown;
  std::size_t bytes = 0;
  for (std::size_t kept = 0; bytes < shown.size(); ++bytes) {
    if (!continues(shown[bytes]) && ++kept == max_characters) break;
  }
  return shown.substr(0, bytes) + "…";
}

double text_width(std::string_view text, double font_size) {
  constexpr double kMeanWidth = 0.56;  // of DejaVu Sans, the widest of those in common use
  return kMeanWidth * font_size * static_cast<double>(characters(text));
}

std::string svg_text(double x, double y, std::string_view text, const TextStyle& style) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' font-size='{:g}' fill='{}'{}{}{}>{}</text>\n", x, y, style.size,
                     style.fill, style.anchor == "start" ? "" : fmt::format(" text-anchor='{}'", style.anchor),
                     style.bold ? " font-weight='600'" : "", style.halo ? " class='halo'" : "", xml_text(text));
}

std::string rounded_path(const std::vector<Point>& points, double radius) {
  std::string path = fmt::format("M{:.1f} {:.1f}", points.front().x, points.front().y);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const Point in = towards(points[i], points[i - 1], radius);
    const Point out = towards(points[i], points[i + 1], radius);
    path +=
        fmt::format("L{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", in.x, in.y, points[i].x, points[i].y, out.x, out.y);
  }
  return path + fmt::format("L{:.1f} {:.1f}", points.back().x, points.back().y);
}

std::string curve_path(Point from, Point to) {
  if (std::abs(from.y - to.y) < 0.05) return rounded_path({from, to}, 0);
  const double middle = (from.x + to.x) / 2;
  return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, from.y, middle, from.y, middle,
                     to.y, to.x, to.y);
}

std::string arrow_of(std::string_view colour) { return fmt::format("url(#arrow-{})", colour.substr(1)); }

std::string svg_document(double width, double height, std::string_view title,
                         const std::vector<std::string_view>& arrow_colours, std::string_view body,
                         std::string_view description) {
  const std::string desc = description.empty() ? "" : fmt::format("<desc>{}</desc>\n", xml_text(description));
  std::string markers;
  for (const std::string_view colour : arrow_colours) {
    markers += fmt::format(
        "<marker id='arrow-{}' viewBox='0 0 8 8' refX='7.5' refY='4' markerWidth='8' markerHeight='8' "
        "markerUnits='userSpaceOnUse' orient='auto'><path d='M0 .8L8 4L0 7.2z' fill='{}'/></marker>\n",
        colour.substr(1), colour);
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' "
      "role='img' font-family='Inter, Helvetica, Arial, sans-serif'>\n"
      "<title>{2}</title>\n{5}"
      "<style>.halo{{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}}</style>\n"
      "<defs>\n{3}</defs>\n"
      "<rect width='{0:.0f}' height='{1:.0f}' rx='10' fill='#fff'/>\n"
      "{4}</svg>\n",
      std::ceil(width), std::ceil(height), xml_text(title), markers, body, desc);
}

BackendColour backend_colour(std::size_t index) noexcept {
  constexpr std::array<BackendColour, 8> kColours{{{"#2563eb", "#dbeafe"},
                                                   {"#d97706", "#fef3c7"},
                                                   {"#059669", "#d1fae5"},
                                                   {"#7c3aed", "#ede9fe"},
                                                   {"#0891b2", "#cffafe"},
                                                   {"#a16207", "#fef9c3"},
                                                   {"#be185d", "#fce7f3"},
                                                   {"#4d7c0f", "#ecfccb"}}};
  return kColours[index % kColours.size()];
}

}  // namespace tandem::cli
