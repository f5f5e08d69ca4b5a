#include "picture.h"

#include <algorithm>
#include <fstream>
#include <ostream>

namespace {

// Units: SVG pixels.
constexpr std::size_t kColumns = 10;
constexpr std::size_t kPixel = 7;
constexpr std::size_t kDigit = kSide * kPixel;
constexpr std::size_t kCellWidth = kDigit + 14;
constexpr std::size_t kCellHeight = kDigit + 34;
constexpr std::size_t kMargin = 20;
constexpr std::size_t kTop = 84;

std::vector<std::size_t> choose(const Digits& digits, std::size_t count) {
  std::vector<std::size_t> right;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < digits.size(); ++i) (digits.is_right(i) ? right : wrong).push_back(i);
  wrong.resize(std::min(wrong.size(), count / 2));
  right.resize(std::min(right.size(), count - wrong.size()));
  right.insert(right.end(), wrong.begin(), wrong.end());
  return right;
}

void draw_digit(std::ostream& svg, const Digits& digits, std::size_t i) {
  constexpr int kPaper = 244;
  svg << "<rect width='" << kDigit << "' height='" << kDigit << "' fill='#f4f4f4'/>\n";
  for (std::size_t p = 0; p < kPixels; ++p) {
    const int grey = kPaper - static_cast<int>(kPaper * digits.pixels[i * kPixels + p]);
    if (grey == kPaper) continue;
    svg << "<rect x='" << p % kSide * kPixel << "' y='" << p / kSide * kPixel << "' width='" << kPixel << "' height='"
        << kPixel << "' fill='rgb(" << grey << ',' << grey << ',' << grey << ")'/>\n";
  }
  svg << "<text x='" << kDigit / 2 << "' y='" << kDigit + 17 << "' text-anchor='middle' ";
  if (digits.is_right(i)) {
    svg << "fill='#222'>" << digits.guesses[i];
  } else {
    svg << "fill='#c00' font-weight='bold'>" << digits.guesses[i] << " (" << digits.labels[i] << ')';
  }
  svg << "</text>\n";
}

}  // namespace

tandem::Status draw(const Digits& digits, const std::string& title, const std::filesystem::path& path) {
  const std::vector<std::size_t> chosen = choose(digits, 40);
  const std::size_t rows = (chosen.size() + kColumns - 1) / kColumns;

  std::ofstream svg{path};
  svg << "<svg xmlns='http://www.w3.org/2000/svg' width='" << 2 * kMargin + kColumns * kCellWidth << "' height='"
      << kTop + rows * kCellHeight << "' font-family='sans-serif' font-size='15'>\n"
      << "<rect width='100%' height='100%' fill='#fff'/>\n"
      << "<text x='" << kMargin << "' y='36' font-size='20'>" << title << "</text>\n"
      << "<text x='" << kMargin << "' y='60' fill='#555'>Below each digit its prediction. "
      << "<tspan fill='#c00'>Red: the wrong ones, with the right answer in brackets.</tspan></text>\n";
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    svg << "<g transform='translate(" << kMargin + place % kColumns * kCellWidth << ' '
        << kTop + place / kColumns * kCellHeight << ")' shape-rendering='crispEdges'>\n";
    draw_digit(svg, digits, chosen[place]);
    svg << "</g>\n";
  }
  svg << "</svg>\n";
  svg.close();
  if (!svg) return tandem::Error{tandem::ErrorCode::AccessFailed, "cannot be written"}.with_file(path.string());
  return {};
}
