#include "cli/bench/bench_svg.h"

#include "cli/picture/svg.h"
#include "cli/text.h"
#include "cli/timing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::cli::bench {
namespace {

constexpr double kMargin = 28;
constexpr double kWidth = 860;
constexpr double kHeader = 78;
constexpr double kBar = 18;
constexpr double kRow = 28;
constexpr double kPlotHeight = 220;
constexpr double kTextSize = 11;
constexpr std::string_view kInk = "#1f2937";
constexpr std::string_view kMuted = "#6b7280";
constexpr std::string_view kGrid = "#e5e7eb";

struct Row {
  const ModeResult* mode = nullptr;
  Times times{};  ///< Ascending.
  double median = 0;
  BackendColour colour{};
};

double us_at(const Times& sorted, double percent) { return to_us(percentile(sorted, percent)); }

/// Three digits, and all those before the point.
std::string number(double us) { return us < 1000 ? fmt::format("{:.3g}", us) : fmt::format("{:.0f}", us); }

class BenchPainter {
 public:
  explicit BenchPainter(const BenchReport& report) : report_{report} {
    for (const ModeResult& mode : report.result.modes) {
      if (mode.samples.results.empty()) continue;
      Row row{.mode = &mode, .times = mode.samples.results, .colour = backend_colour(rows_.size())};
      std::sort(row.times.begin(), row.times.end());
      row.median = us_at(row.times, 50);
      label_ = std::max(label_, text_width(mode.name, kTextSize) + 14);
      rows_.push_back(std::move(row));
    }
  }

  [[nodiscard]] bool has_rows() const { return !rows_.empty(); }

  std::string run() {
    const double bars = kHeader + 22;
    const double plot = bars + kRow * static_cast<double>(rows_.size()) + 74;
    const std::string body =
        draw_header() + draw_bars(bars) + draw_distribution(plot) + draw_legend(plot + kPlotHeight + 38);
    return svg_document(kWidth, legend_end_ + 24, title(), {}, body, description());
  }

 private:
  std::string title() const { return "bench of " + picture_title(report_.file, report_.method); }

  std::string description() const {
    std::vector<std::string> parts;
    for (const Row& row : rows_) {
      parts.push_back(
          fmt::format("{} {} us (p99 {})", row.mode->name, number(row.median), number(us_at(row.times, 99))));
    }
    return fmt::format("Median times from the call to the result: {}", fmt::join(parts, ", "));
  }

  std::string draw_header() const {
    const std::string where = report_.gpu ? report_.gpu->name : report_.machine.cpu;
    std::string out = svg_text(kMargin, 36, title(), {.size = 15, .fill = kInk, .bold = true});
    const std::string resolution = report_.result.resolution
                                       ? fmt::format("resolution {:.1f} %", *report_.result.resolution * 100)
                                       : std::string{"resolution unknown"};
    return out + svg_text(kMargin, 57,
                          shortened(fmt::format("{}{}{}, {} of each mode, {}", to_string(report_.device),
                                                where.empty() ? "" : ", ", where, count_text(report_.runs, "run"),
                                                resolution),
                                    120),
                          {.size = kTextSize, .fill = kMuted});
  }

  static std::string line(double x1, double y1, double x2, double y2, std::string_view colour, double width) {
    return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}' stroke-width='{:g}'/>\n", x1,
                       y1, x2, y2, colour, width);
  }

  static std::string bar(double x, double y, double width, std::string_view fill, std::string_view stroke,
                         const std::string& tip) {
    return fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:g}' fill='{}' stroke='{}'><title>{}</title></rect>\n", x,
        y, std::max(width, 0.5), kBar, fill, stroke, xml_text(tip));
  }

  std::string draw_bars(double top) const {
    double most = 0;
    for (const Row& row : rows_) most = std::max({most, row.median, time_of(row)});
    const std::vector<double> marks = axis_marks(most);
    const double left = kMargin + label_;
    const double room = kWidth - kMargin - 60 - left;
    const auto x = [&](double us) { return left + room * us / marks.back(); };
    const double bottom = top + kRow * static_cast<double>(rows_.size());
    std::string out =
        svg_text(kMargin, top - 10, "median, microseconds from the call to the result; darker: the call alone",
                 {.size = kTextSize, .fill = kMuted});
    for (const double mark : marks) {
      out += line(x(mark), top, x(mark), bottom, kGrid, 1);
      out += svg_text(x(mark), bottom + 15, number(mark), {.size = 10, .fill = kMuted, .anchor = "middle"});
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) out += draw_bar(rows_[i], top + kRow * static_cast<double>(i), x);
    const bool has_marks = std::ranges::any_of(rows_, [](const Row& row) { return overlaps(row); });
    if (!has_marks) return out;
    return out + svg_text(kMargin, bottom + 32, "a thick mark: what a run takes where several overlap",
                          {.size = 10, .fill = kMuted});
  }

  static bool overlaps(const Row& row) {
    const Drive drive = row.mode->drive;
    return drive == Drive::Threads || drive == Drive::Streams || drive == Drive::Depth;
  }
  /// What a run takes, where that is not its median.
  static double time_of(const Row& row) {
    return overlaps(row) && !row.mode->blocks.empty() ? to_us(median_of(row.mode->blocks)) : 0;
  }

  template <class X>
  std::string draw_bar(const Row& row, double y, const X& x) const {
    const std::string& name = row.mode->name;
    const double top = y + (kRow - kBar) / 2;
    std::string out = fmt::format("<g data-mode='{}'>\n", xml_text(name));
    out += svg_text(kMargin, y + kRow / 2 + 4, name, {.size = kTextSize, .fill = kInk});
    out += bar(x(0), top, x(row.median) - x(0), row.colour.fill, row.colour.line,
               fmt::format("{}: p50 {} us, p99 {} us", name, number(row.median), number(us_at(row.times, 99))));
    if (!row.mode->samples.enqueues.empty()) {
      const double call = to_us(median_of(row.mode->samples.enqueues));
      out += bar(x(0), top, x(std::min(call, row.median)) - x(0), row.colour.line, row.colour.line,
                 fmt::format("{}: the call of execute_async alone, p50 {} us", name, number(call)));
    }
    if (const double time = time_of(row); time > 0) out += line(x(time), top - 3, x(time), top + kBar + 3, kInk, 3);
    out += svg_text(x(std::max(row.median, time_of(row))) + 7, y + kRow / 2 + 4, number(row.median),
                    {.size = kTextSize, .fill = kInk});
    return out + "</g>\n";
  }

  std::string draw_distribution(double top) const {
    double least = to_us(rows_.front().times.front());
    double most = 0;
    for (const Row& row : rows_) {
      least = std::min(least, to_us(row.times.front()));
      most = std::max(most, to_us(row.times.back()));
    }
    const std::vector<double> marks = log_marks(std::max(least, 0.001), std::max(most, 0.002));
    const double left = kMargin + 34;
    const double right = kWidth - kMargin - 12;
    const double bottom = top + kPlotHeight;
    const double span = std::log(marks.back() / marks.front());
    const auto x = [&](double us) {
      return left + (right - left) * std::log(std::max(us, marks.front()) / marks.front()) / span;
    };
    const auto y = [&](double part) { return bottom - kPlotHeight * part; };
    std::string out = svg_text(kMargin, top - 12, "part of the runs that took at most so many microseconds",
                               {.size = kTextSize, .fill = kMuted});
    for (const double part : {0.0, 0.5, 0.9, 0.99, 1.0}) {
      out += line(left, y(part), right, y(part), kGrid, 1);
      if (part == 0.99) continue;  // its label would lie on that of 1
      out += svg_text(left - 6, y(part) + 4, fmt::format("{:g} %", part * 100),
                      {.size = 10, .fill = kMuted, .anchor = "end"});
    }
    for (const double mark : marks) {
      out += line(x(mark), top, x(mark), bottom, kGrid, 1);
      out += svg_text(x(mark), bottom + 15, number(mark), {.size = 10, .fill = kMuted, .anchor = "middle"});
    }
    for (const Row& row : rows_) out += draw_curve(row, x, y);
    return out;
  }

  /// The share of the runs over their times, at 100 ranks.
  template <class X, class Y>
  std::string draw_curve(const Row& row, const X& x, const Y& y) const {
    constexpr int kRanks = 100;
    std::string path = fmt::format("M{:.1f} {:.1f}", x(to_us(row.times.front())), y(0));
    for (int i = 1; i <= kRanks; ++i) {
      const double part = static_cast<double>(i) / kRanks;
      path += fmt::format("L{:.1f} {:.1f}", x(us_at(row.times, 100 * part)), y(part));
    }
    return fmt::format(
        "<path data-curve='{}' d='{}' fill='none' stroke='{}' stroke-width='1.6'{}><title>{}</title></path>\n",
        xml_text(row.mode->name), path, row.colour.line, row.mode->name == kAgain ? " stroke-dasharray='5 3'" : "",
        xml_text(row.mode->name));
  }

  std::string draw_legend(double y) {
    std::string out;
    const double left = kMargin + 34;
    double at = left;
    for (const Row& row : rows_) {
      const double width = text_width(row.mode->name, kTextSize) + 46;
      if (at != left && at + width > kWidth - kMargin) {
        at = left;
        y += 18;
      }
      out += line(at, y - 4, at + 18, y - 4, row.colour.line, 2.4);
      out += svg_text(at + 24, y, row.mode->name, {.size = kTextSize, .fill = kInk});
      at += width;
    }
    legend_end_ = y;
    return out;
  }

  const BenchReport& report_;
  std::vector<Row> rows_{};
  double label_ = 0;  ///< Room for the names.
  double legend_end_ = 0;
};

}  // namespace

std::vector<double> axis_marks(double max) {
  const double rough = std::max(max, 1e-3) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> marks;
  for (int i = 0; marks.size() < 2 || marks.back() < max; ++i) marks.push_back(step * i);
  return marks;
}

std::vector<double> log_marks(double min, double max) {
  std::vector<double> marks;
  for (double power = std::pow(10, std::floor(std::log10(min)));; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double mark = factor * power;
      if (mark <= min || marks.empty()) {
        marks.assign(1, mark);
      } else {
        marks.push_back(mark);
      }
      if (mark >= max && marks.size() > 1) return marks;
    }
  }
}

Result<std::string> bench_svg(const BenchReport& report) {
  if (report.result.difference) return Error{ErrorCode::InvalidState, "no picture of a table that is void"};
  BenchPainter painter{report};
  if (!painter.has_rows()) return Error{ErrorCode::InvalidState, "no picture, because nothing was measured"};
  return painter.run();
}

}  // namespace tandem::cli::bench
