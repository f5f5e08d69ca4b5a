#include "cli/picture/arena_svg.h"

#include "cli/picture/geometry.h"
#include "cli/picture/svg.h"
#include "cli/text.h"
#include "runtime/order/arena_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tandem::cli {
namespace {

using runtime::ArenaUse;
using runtime::kNone;
using runtime::Schedule;
using runtime::Step;

constexpr std::size_t kMaxBoxes = 4'000;  // of an arena
constexpr double kMargin = 28;
constexpr double kAxis = 92;  // left of an arena, for bytes
constexpr double kMinWidth = 480;
constexpr double kMaxWidth = 1240;
constexpr double kStep = 44;  // wide, if there is room
constexpr double kHeight = 240;
constexpr double kArenaTitle = 30;
constexpr double kStepNumbers = 24;
constexpr double kArenaGap = 28;
constexpr double kTextSize = 11;
constexpr std::string_view kInk = "#1f2937";
constexpr std::string_view kMuted = "#6b7280";
constexpr std::string_view kFrame = "#d1d5db";
constexpr std::string_view kInUse = "#0f766e";

class ArenaPainter {
 public:
  ArenaPainter(const Schedule& schedule, std::string_view title)
      : schedule_{schedule},
        title_{title},
        arenas_{runtime::find_arena_use(schedule)},
        columns_{static_cast<double>(schedule.steps.size() + 1)},  // the last is the end
        width_{std::clamp(kStep * columns_, kMinWidth, kMaxWidth)} {
    for (const Step& step : schedule.steps) {
      if (step.kind != Step::Kind::Delegate) continue;
      const std::string_view id = schedule.delegates[step.target].backend_id;
      if (std::ranges::find(backends_, id) == backends_.end()) backends_.push_back(id);
    }
  }

  std::string run() {
    std::string body = draw_header();
    for (const ArenaUse& arena : arenas_) body += draw(arena);
    return svg_document(std::max(header_width_, kMargin + kAxis + width_ + kMargin), top_ - kArenaGap + kMargin, title_,
                        {}, body, description());
  }

 private:
  [[nodiscard]] std::string name_of(const ArenaUse& arena) const {
    const runtime::BufferPlan& plan = schedule_.buffers[arena.buffer];
    const std::string name = plan.memory_id == 0 ? "Tandem's own arena" : fmt::format("arena {}", plan.memory_id);
    return fmt::format("{} on {}", name, to_string(plan.device));
  }

  [[nodiscard]] std::string words_of(const ArenaUse& arena) const {
    return fmt::format("{}: {} for {}, at most {} in use at once ({})", name_of(arena), count_text(arena.bytes, "byte"),
                       count_text(arena.values.size(), "value"), arena.peak_bytes, step_name(arena.peak_step));
  }

  [[nodiscard]] std::string step_name(std::uint32_t step) const {
    return step < schedule_.steps.size() ? fmt::format("step {}", step) : "the end";
  }

  /// The picture in words.
  [[nodiscard]] std::string description() const {
    std::string words = "Where values lie in memory from step to step.";
    for (const ArenaUse& arena : arenas_) words += " " + words_of(arena) + ".";
    return words;
  }

  std::string draw_header() {
    const std::string name = shortened(title_, 100);
    std::string out = svg_text(kMargin, 34, name, {.size = 16, .fill = kInk, .bold = true});
    header_width_ = kMargin + text_width(name, 16) + kMargin;
    double x = kMargin;
    const auto entry = [&](const std::string& glyph, const std::string& text) {
      out += fmt::format("<g transform='translate({:.1f} 48)'>{}</g>\n", x, glyph);
      out += svg_text(x + 22, 58, text, {.size = kTextSize, .fill = kMuted});
      x += 22 + text_width(text, kTextSize) + 14;
      header_width_ = std::max(header_width_, x + kMargin);
    };
    const auto box = [](const BackendColour& colour) {
      return fmt::format("<rect width='16' height='12' rx='3' fill='{}' stroke='{}'/>", colour.fill, colour.line);
    };
    constexpr std::size_t kMaxLegend = 8;
    for (std::size_t b = 0; b < std::min(backends_.size(), kMaxLegend); ++b) {
      entry(box(backend_colour(b)), "first used by " + shortened(backends_[b], 30));
    }
    entry(box(kOther), "by another step");
    entry(fmt::format("<path d='M0 6H17' stroke='{}' stroke-width='2'/>", kInUse), "bytes in use");
    entry(fmt::format("<path d='M0 6H17' stroke='{}' stroke-width='1.2' stroke-dasharray='5 3'/>", kInUse),
          "the most of them");
    top_ = 76;
    for (const std::string& note : notes()) {
      out += svg_text(kMargin, top_ + 6, note, {.size = kTextSize, .fill = kMuted});
      header_width_ = std::max(header_width_, kMargin + text_width(note, kTextSize) + kMargin);
      top_ += 18;
    }
    return out;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (arenas_.empty()) notes.emplace_back("No arena: every value is an input, an output, a state or a constant.");
    if (schedule_.branches.any()) {
      notes.emplace_back(
          "Branches may run side by side in a graph: their values share no bytes, whatever their steps.");
    }
    if (std::ranges::any_of(schedule_.steps, [](const Step& s) { return s.kind == Step::Kind::JumpFalse; })) {
      notes.emplace_back("Drawn as if no jump were taken.");
    }
    for (const ArenaUse& arena : arenas_) {
      if (arena.values.size() <= kMaxBoxes) continue;
      notes.push_back(
          fmt::format("Of {}, the {} largest of {} values.", name_of(arena), kMaxBoxes, arena.values.size()));
    }
    return notes;
  }

  [[nodiscard]] double x_of(double step) const { return kMargin + kAxis + width_ * step / columns_; }
  [[nodiscard]] double y_of(const ArenaUse& arena, std::uint64_t bytes) const {
    const double most = static_cast<double>(std::max<std::uint64_t>({arena.bytes, arena.peak_bytes, 1}));
    return top_ + kArenaTitle + kHeight * (1 - static_cast<double>(bytes) / most);
  }

  std::string draw(const ArenaUse& arena) {
    std::string out = fmt::format("<g><title>{}</title>\n", xml_text(words_of(arena)));
    out += svg_text(kMargin, top_ + 16, words_of(arena), {.size = 12, .fill = kInk, .bold = true});
    header_width_ = std::max(header_width_, kMargin + 1.12 * text_width(words_of(arena), 12) + kMargin);
    out += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='#f9fafb' stroke='{}'/>\n",
                       x_of(0), top_ + kArenaTitle, width_, kHeight, kFrame);
    out += draw_steps();
    const std::vector<ArenaUse::Value> values = largest(arena);
    for (const ArenaUse::Value& value : values) out += draw(arena, value);
    out += draw_in_use(arena) + draw_bytes(arena);
    for (const ArenaUse::Value& value : values) out += draw_number(arena, value);
    out += "</g>\n";
    top_ += kArenaTitle + kHeight + kStepNumbers + kArenaGap;
    return out;
  }

  static std::vector<ArenaUse::Value> largest(const ArenaUse& arena) {
    std::vector<ArenaUse::Value> values;
    for (const ArenaUse::Value& value : arena.values) {
      if (value.first != kNone && value.bytes != 0) values.push_back(value);
    }
    if (values.size() <= kMaxBoxes) return values;
    std::ranges::stable_sort(values, std::ranges::greater{}, &ArenaUse::Value::bytes);
    values.resize(kMaxBoxes);
    return values;
  }

  /// Numbers below, as many as there is room for.
  [[nodiscard]] std::string draw_steps() const {
    const double y = top_ + kArenaTitle + kHeight;
    const auto count = static_cast<std::uint32_t>(schedule_.steps.size());
    std::uint32_t each = 1;
    for (std::uint32_t i = 0; width_ / columns_ * each < 26; ++i) each = each * (i % 3 == 1 ? 5 : 4) / 2;
    std::string out;
    for (std::uint32_t step = 0; step <= count; step += each) {
      const double middle = x_of(step + 0.5);
      if (step == count || (step != 0 && x_of(count + 0.5) - middle < 30)) break;
      out += svg_text(middle, y + 15, fmt::format("{}", step), {.size = 9.5, .fill = kMuted, .anchor = "middle"});
    }
    return out + svg_text(x_of(count + 0.5), y + 15, "end", {.size = 9.5, .fill = kMuted, .anchor = "middle"});
  }

  [[nodiscard]] BackendColour colour_of(std::uint32_t step) const {
    if (step >= schedule_.steps.size() || schedule_.steps[step].kind != Step::Kind::Delegate) return kOther;
    const auto found = std::ranges::find(backends_, schedule_.delegates[schedule_.steps[step].target].backend_id);
    return backend_colour(static_cast<std::size_t>(found - backends_.begin()));
  }

  [[nodiscard]] Box box_of(const ArenaUse& arena, const ArenaUse::Value& value) const {
    const double left = x_of(value.first);
    const double top = y_of(arena, value.offset + value.bytes);
    return {.x = left,
            .y = top,
            .width = std::max(0.5, x_of(std::min(value.last + 1.0, columns_)) - left),
            .height = std::max(0.5, y_of(arena, value.offset) - top)};
  }

  [[nodiscard]] std::string draw(const ArenaUse& arena, const ArenaUse::Value& value) const {
    const Box box = box_of(arena, value);
    const BackendColour colour = colour_of(value.first);
    const std::string_view given = schedule_.values[value.value].name;
    return fmt::format(
        "<g data-value='{}'><title>v{}{}: {} at +{}, from {} to {}</title>"
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}' stroke='{}' stroke-width='{}'/></g>\n",
        value.value, value.value, given.empty() ? "" : " " + xml_text(shortened(given, 200)),
        count_text(value.bytes, "byte"), value.offset, step_name(value.first), step_name(value.last), box.x, box.y,
        box.width, box.height, colour.fill, colour.line, arena.values.size() > 200 ? "0.4" : "1");
  }

  /// Where there is room, over everything else.
  [[nodiscard]] std::string draw_number(const ArenaUse& arena, const ArenaUse::Value& value) const {
    const Box box = box_of(arena, value);
    const std::string number = fmt::format("v{}", value.value);
    if (box.width < text_width(number, 10) + 4 || box.height < 12) return {};
    return svg_text(box.x + box.width / 2, box.y + box.height / 2 + 3.5, number,
                    {.size = 10, .fill = kInk, .anchor = "middle", .halo = true});
  }

  /// The bytes in use, the most of a few steps where there are more steps than pixels.
  [[nodiscard]] std::string draw_in_use(const ArenaUse& arena) const {
    const auto each = static_cast<std::size_t>(std::max(1.0, std::ceil(columns_ / width_)));
    std::string path;
    for (std::size_t step = 0; step < arena.live.size(); step += each) {
      const std::size_t end = std::min(step + each, arena.live.size());
      const std::uint64_t live = *std::max_element(arena.live.begin() + static_cast<std::ptrdiff_t>(step),
                                                   arena.live.begin() + static_cast<std::ptrdiff_t>(end));
      path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", step == 0 ? 'M' : 'L', x_of(static_cast<double>(step)),
                          y_of(arena, live), x_of(static_cast<double>(end)));
    }
    const double peak = y_of(arena, arena.peak_bytes);
    return fmt::format(
        "<path d='{}' fill='none' stroke='{}' stroke-width='2'><title>bytes in use</title></path>\n"
        "<path d='M{:.1f} {:.1f}H{:.1f}' stroke='{}' stroke-width='1.2' stroke-dasharray='5 3'>"
        "<title>at most {} in use at once</title></path>\n",
        path, kInUse, x_of(0), peak, x_of(columns_), kInUse, count_text(arena.peak_bytes, "byte"));
  }

  [[nodiscard]] std::string draw_bytes(const ArenaUse& arena) const {
    const auto number = [&](std::uint64_t bytes, double shift, std::string_view colour) {
      return svg_text(x_of(0) - 8, y_of(arena, bytes) + shift, fmt::format("{}", bytes),
                      {.size = 9.5, .fill = colour, .anchor = "end"});
    };
    std::string out = number(0, 3.5, kMuted);
    const bool apart = y_of(arena, arena.peak_bytes) - y_of(arena, arena.bytes) > 12;
    if (apart) out += number(arena.bytes, 3.5, kMuted);
    return out + number(arena.peak_bytes, 3.5, kInUse);
  }

  static constexpr BackendColour kOther{.line = "#9ca3af", .fill = "#f3f4f6"};

  const Schedule& schedule_;
  std::string_view title_;
  std::vector<ArenaUse> arenas_;
  std::vector<std::string_view> backends_{};  // in order of first use
  double columns_;
  double width_;  // of an arena
  double top_ = 0;
  double header_width_ = 0;
};

}  // namespace

std::string arena_svg(const Schedule& schedule, std::string_view title) { return ArenaPainter{schedule, title}.run(); }

}  // namespace tandem::cli
