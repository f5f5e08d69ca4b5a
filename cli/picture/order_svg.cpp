#include "cli/picture/order_svg.h"

#include "cli/picture/svg.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

using runtime::Conflict;
using runtime::kNone;
using runtime::Schedule;
using runtime::Step;
using runtime::StreamPlan;
using Sync = StreamPlan::Sync;

constexpr std::size_t kMaxSteps = 2'000;
constexpr double kMargin = 28;
constexpr double kMaxWidth = 1400;
constexpr double kLaneLabel = 76;
constexpr double kStepGap = 13;
constexpr double kMinStep = 35;
constexpr double kTextSize = 11;
constexpr double kSystemGap = 30;
constexpr std::string_view kInk = "#1f2937";
constexpr std::string_view kMuted = "#6b7280";
constexpr std::string_view kLane = "#d1d5db";
constexpr std::string_view kFlow = "#6b7280";
constexpr std::string_view kEvent = "#0f766e";
constexpr std::string_view kTrouble = "#dc2626";
constexpr std::string_view kGood = "#047857";

/// Two steps that nothing orders.
struct Pair {
  std::string words{};              // all its conflicts
  std::uint32_t handed_on = kNone;  // a value that the first writes and the second reads
};

/// A stretch of columns, with the lanes that it uses.
struct System {
  std::uint32_t begin = 0;  // steps [begin, end)
  std::uint32_t end = 0;
  double top = 0;
  double right = 0;
  std::vector<std::uint32_t> lanes{};  // streams ascending, kNone (the host) first
};

class OrderPainter {
 public:
  OrderPainter(const Schedule& schedule, const StreamPlan& plan, std::span<const Conflict> conflicts,
               std::string_view title)
      : schedule_{schedule}, plan_{plan}, conflicts_{conflicts}, title_{title} {}

  std::string run() {
    find_backends();
    collect_pairs();
    place_steps();
    const double header = 96;
    place_systems(header);
    std::string body = draw_header();
    for (const System& system : systems_) body += draw_lanes(system);
    body += draw_syncs();
    body += draw_flows();
    for (const auto& [steps, pair] : pairs_) body += draw_pair(steps.first, steps.second, pair);
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) body += draw_step(i);
    body += draw_example();
    return svg_document(std::max(width_, header_width_), height_, title_, {kFlow, kEvent, kTrouble}, body);
  }

 private:
  void find_backends() {
    for (const Step& step : schedule_.steps) {
      if (step.kind != Step::Kind::Delegate) continue;
      const std::string_view id = schedule_.delegates[step.target].backend_id;
      if (std::find(backends_.begin(), backends_.end(), id) == backends_.end()) backends_.push_back(id);
    }
  }

  void collect_pairs() {
    constexpr std::size_t kMaxWords = 4'000;  // of a tool tip
    for (const Conflict& conflict : conflicts_) {
      Pair& pair = pairs_[{conflict.first, conflict.second}];
      const runtime::Access& first = schedule_.accesses[conflict.first_access];
      const runtime::Access& second = schedule_.accesses[conflict.second_access];
      const bool reads_it = first.mode != AccessMode::Read && second.mode != AccessMode::Write;
      if (reads_it && first.value == second.value && pair.handed_on == kNone) pair.handed_on = first.value;
      if (pair.words.size() < kMaxWords) pair.words += runtime::describe(schedule_, plan_, conflict) + ". ";
    }
  }

  std::string step_text(const Step& step) const {
    switch (step.kind) {
      case Step::Kind::Delegate:
        return std::to_string(step.target);
      case Step::Kind::Kernel: {
        std::string_view name = schedule_.operators[step.target]->name;
        if (const std::size_t colons = name.find("::"); colons != std::string_view::npos)
          name.remove_prefix(colons + 2);
        return shortened(name.substr(0, name.find('.')), 14);
      }
      case Step::Kind::Copy:
        return "copy";
      case Step::Kind::Move:
        return "move";
      case Step::Kind::JumpFalse:
        return "jump";
      case Step::Kind::Free:
        return "free";
    }
    return {};
  }

  /// Columns, broken into systems of about the same width.
  void place_steps() {
    const auto count = static_cast<std::uint32_t>(schedule_.steps.size());
    boxes_.resize(count);
    double total = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      boxes_[i].width = std::max(kMinStep, text_width(step_text(schedule_.steps[i]), kTextSize) + 12);
      total += boxes_[i].width + kStepGap;
    }
    const double room = kMaxWidth - 2 * kMargin - kLaneLabel;
    const double each = total / std::max(1.0, std::ceil(total / room)) + kMinStep;
    double used = each;
    for (std::uint32_t i = 0; i < count; ++i) {
      const double need = boxes_[i].width + kStepGap;
      if (systems_.empty() || used + need > std::min(each, room) + 0.5) {
        systems_.push_back({.begin = i});
        used = 0;
      }
      boxes_[i].x = kMargin + kLaneLabel + used + kStepGap / 2;
      used += need;
      systems_.back().end = i + 1;
      systems_.back().right = kMargin + kLaneLabel + used;
      width_ = std::max(width_, systems_.back().right + kMargin);
    }
  }

  void place_systems(double top) {
    std::size_t most = 0;
    for (System& system : systems_) {
      std::set<std::uint32_t> lanes(plan_.stream_of.begin() + system.begin, plan_.stream_of.begin() + system.end);
      if (lanes.erase(kNone) != 0) system.lanes.push_back(kNone);
      system.lanes.insert(system.lanes.end(), lanes.begin(), lanes.end());
      most = std::max(most, system.lanes.size());
    }
    lane_height_ = most > 8 ? 28 : 44;
    const double box_height = most > 8 ? 20 : 24;
    for (std::uint32_t s = 0; s < systems_.size(); ++s) {
      System& system = systems_[s];
      system.top = top;
      for (std::uint32_t i = system.begin; i < system.end; ++i) {
        system_of_.push_back(s);
        boxes_[i].height = box_height;
        boxes_[i].y = lane_y(system, plan_.stream_of[i]) - box_height / 2;
      }
      top += lane_height_ * static_cast<double>(system.lanes.size()) + kSystemGap;
    }
    height_ = top - kSystemGap + kMargin;
  }

  double lane_y(const System& system, std::uint32_t stream) const {
    const auto found = std::find(system.lanes.begin(), system.lanes.end(), stream);
    return system.top + lane_height_ * (static_cast<double>(found - system.lanes.begin()) + 0.5);
  }

  Point left_of(std::uint32_t step) const { return {boxes_[step].x, boxes_[step].y + boxes_[step].height / 2}; }
  Point right_of(std::uint32_t step) const {
    return {boxes_[step].x + boxes_[step].width, boxes_[step].y + boxes_[step].height / 2};
  }

  std::string draw_lanes(const System& system) const {
    std::string out;
    for (const std::uint32_t lane : system.lanes) {
      const double y = lane_y(system, lane);
      out += svg_text(kMargin, y + 4, lane == kNone ? "host" : fmt::format("stream {}", lane),
                      {.size = kTextSize, .fill = kMuted});
      out += line({kMargin + kLaneLabel, y}, {system.right, y}, kLane, "stroke-width='1.2'");
    }
    return out;
  }

  static std::string line(Point from, Point to, std::string_view colour, std::string_view more) {
    return fmt::format("<path d='{}' fill='none' stroke='{}' {}/>\n", rounded_path({from, to}, 0), colour, more);
  }

  /// The boundary left of a step; that of the number of steps is the end of the last system.
  double boundary(std::uint32_t step) const {
    return step < boxes_.size() ? boxes_[step].x - kStepGap / 2 : systems_.back().right;
  }

  std::string draw_syncs() const {
    std::string out;
    std::map<std::uint32_t, Sync> recorded;  // by event
    for (const Sync& sync : plan_.syncs) {
      if (systems_.empty()) break;
      const System& system = sync.step < boxes_.size() ? systems_[system_of_[sync.step]] : systems_.back();
      const double x = boundary(sync.step);
      if (sync.kind == Sync::Kind::Join) {
        const double bottom = system.top + lane_height_ * static_cast<double>(system.lanes.size());
        out += line({x, system.top}, {x, bottom}, kEvent, "stroke-width='2.4' stroke-linecap='round'");
      } else if (sync.kind == Sync::Kind::Record) {
        recorded[sync.event] = sync;
      } else if (const auto found = recorded.find(sync.event); found != recorded.end()) {
        out += draw_event(found->second, sync);
      }
    }
    return out;
  }

  std::string draw_event(const Sync& record, const Sync& wait) const {
    const auto system_at = [this](const Sync& sync) -> const System& {
      return sync.step < boxes_.size() ? systems_[system_of_[sync.step]] : systems_.back();
    };
    const System& system = system_at(record);
    if (&system != &system_at(wait)) return {};
    const auto has = [&system](std::uint32_t lane) {
      return std::find(system.lanes.begin(), system.lanes.end(), lane) != system.lanes.end();
    };
    if (!has(record.stream) || !has(wait.stream)) return {};
    return line({boundary(record.step), lane_y(system, record.stream)},
                {boundary(wait.step) + 1, lane_y(system, wait.stream)}, kEvent,
                fmt::format("stroke-width='1.6' marker-end='{}'", arrow_of(kEvent)));
  }

  /// Values that an ordered step of another lane hands on. Within a lane the lane itself shows the order.
  std::string draw_flows() const {
    std::map<std::uint32_t, std::uint32_t> writer;  // of a value, so far
    std::set<std::pair<std::uint32_t, std::uint32_t>> drawn;
    std::string out;
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      runtime::for_each_tensor(schedule_, schedule_.steps[i], [&](std::uint32_t value, runtime::OpAccess mode) {
        const auto found = writer.find(value);
        if (!runtime::reads(mode) || found == writer.end()) return;
        const std::uint32_t from = found->second;
        if (system_of_[from] != system_of_[i] || plan_.stream_of[from] == plan_.stream_of[i]) return;
        if (pairs_.count({from, i}) != 0 || !drawn.insert({from, i}).second) return;
        out += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.2' marker-end='{}'/>\n",
                           rounded_path(elbow(from, i, 0), 6), kFlow, arrow_of(kFlow));
      });
      runtime::for_each_tensor(schedule_, schedule_.steps[i], [&](std::uint32_t value, runtime::OpAccess mode) {
        if (runtime::writes(mode) || mode == runtime::OpAccess::Alias) writer[value] = i;
      });
    }
    return out;
  }

  /// Out of a box up or down to the lane of the other, then along it. `part` of the box's size is the way aside.
  std::vector<Point> elbow(std::uint32_t first, std::uint32_t second, double part) const {
    const Point end{left_of(second).x, left_of(second).y - part * boxes_[second].height};
    const double x = boxes_[first].x + boxes_[first].width * (0.5 - part);
    return {{x, left_of(first).y}, {x, end.y}, end};
  }

  /// The edge that is missing.
  std::string draw_pair(std::uint32_t first, std::uint32_t second, const Pair& pair) const {
    const bool handed_on = pair.handed_on != kNone;
    const bool near = system_of_[first] == system_of_[second];
    std::vector<std::vector<Point>> pieces;
    if (near) {
      pieces.push_back(elbow(first, second, handed_on ? 0 : 0.25));
    } else {
      pieces.push_back({right_of(first), {systems_[system_of_[first]].right, right_of(first).y}});
      pieces.push_back({{kMargin + kLaneLabel, left_of(second).y}, left_of(second)});
    }
    std::string out = fmt::format("<g><title>{}</title>", xml_text(pair.words));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      out += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='{}' stroke-dasharray='5 3'{}{}/>\n",
                         rounded_path(pieces[i], 6), kTrouble, handed_on ? "2.4" : "1.1",
                         handed_on ? "" : " opacity='.55'",
                         i + 1 == pieces.size() ? fmt::format(" marker-end='{}'", arrow_of(kTrouble)) : "");
    }
    if (handed_on && near && second == first + 1) {
      out += svg_text((pieces[0][1].x + pieces[0][2].x) / 2, pieces[0][2].y + 12, fmt::format("v{}", pair.handed_on),
                      {.size = 9.5, .fill = kTrouble, .anchor = "middle", .halo = true});
    }
    return out + "</g>\n";
  }

  std::string draw_step(std::uint32_t index) const {
    const Step& step = schedule_.steps[index];
    const Box& box = boxes_[index];
    std::string_view fill = "#e5e7eb";
    std::string_view ink = kInk;
    if (step.kind == Step::Kind::Delegate) {
      const auto found = std::find(backends_.begin(), backends_.end(), schedule_.delegates[step.target].backend_id);
      fill = backend_colour(static_cast<std::size_t>(found - backends_.begin())).line;
      ink = "#fff";
    }
    return fmt::format(
               "<g data-step='{}'><title>{}</title><rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' "
               "rx='5' fill='{}' stroke='#fff' stroke-width='2'/>\n",
               index, xml_text(shortened(runtime::describe(schedule_, step), 200)), box.x, box.y, box.width, box.height,
               fill) +
           svg_text(box.x + box.width / 2, box.y + box.height / 2 + 4, step_text(step),
                    {.size = kTextSize, .fill = ink, .anchor = "middle", .bold = step.kind == Step::Kind::Delegate}) +
           "</g>\n";
  }

  /// Title, verdict and legend.
  std::string draw_header() {
    const std::string name = shortened(title_, 100);
    std::string out = svg_text(kMargin, 34, name, {.size = 16, .fill = kInk, .bold = true});
    const std::string verdict =
        conflicts_.empty() ? fmt::format("{}: every pair of accesses to the same bytes is ordered",
                                         count_text(schedule_.steps.size(), "step"))
                           : fmt::format("{} in {} of steps that nothing orders: the results are arbitrary",
                                         count_text(conflicts_.size(), "conflict"), count_text(pairs_.size(), "pair"));
    out += svg_text(kMargin, 56, verdict, {.size = 13, .fill = conflicts_.empty() ? kGood : kTrouble, .bold = true});
    header_width_ = kMargin + std::max(text_width(name, 16), text_width(verdict, 13)) + kMargin;
    double x = kMargin;
    const auto entry = [&](const std::string& glyph, const std::string& text) {
      out += fmt::format("<g transform='translate({:.1f} 70)'>{}</g>\n", x, glyph);
      out += svg_text(x + 22, 80, text, {.size = kTextSize, .fill = kMuted});
      x += 22 + text_width(text, kTextSize) + 14;
      header_width_ = std::max(header_width_, x + kMargin);
    };
    constexpr std::size_t kMaxLegend = 8;
    for (std::size_t b = 0; b < std::min(backends_.size(), kMaxLegend); ++b) {
      entry(fmt::format("<rect width='16' height='12' rx='3' fill='{}'/>", backend_colour(b).line),
            shortened(backends_[b], 30));
    }
    if (!conflicts_.empty()) {
      entry(line({0, 6}, {17, 6}, kTrouble, "stroke-width='2.2' stroke-dasharray='5 3'"),
            "missing edge: one writes what the other reads or writes");
    }
    const auto uses = [this](Sync::Kind kind) {
      return std::any_of(plan_.syncs.begin(), plan_.syncs.end(), [kind](const Sync& s) { return s.kind == kind; });
    };
    if (uses(Sync::Kind::Join)) entry(line({8, 0}, {8, 12}, kEvent, "stroke-width='2.4'"), "the host waits");
    if (uses(Sync::Kind::Wait)) entry(line({0, 6}, {17, 6}, kEvent, "stroke-width='1.6'"), "event");
    return out;
  }

  /// The first conflict in words, below.
  std::string draw_example() {
    if (conflicts_.empty()) return {};
    constexpr double kSize = 12;
    constexpr double kLine = 17;
    const double width = std::max(width_, header_width_) - 2 * kMargin;
    const auto characters = static_cast<std::size_t>(width / text_width("n", kSize));
    std::string rest = shortened("For example: " + runtime::describe(schedule_, plan_, conflicts_.front()), 600);
    std::string out;
    while (!rest.empty()) {
      const std::size_t space = rest.size() <= characters ? rest.size() : rest.rfind(' ', characters);
      const std::size_t end = space == std::string::npos || space == 0 ? rest.size() : space;
      out += svg_text(kMargin, height_, rest.substr(0, end), {.size = kSize, .fill = kTrouble});
      rest.erase(0, end + 1);
      height_ += kLine;
    }
    height_ += kMargin - kLine;
    return out;
  }

  const Schedule& schedule_;
  const StreamPlan& plan_;
  std::span<const Conflict> conflicts_;
  std::string_view title_;
  std::vector<std::string_view> backends_;  // in order of first use
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pair> pairs_;
  std::vector<Box> boxes_;  // by step
  std::vector<System> systems_;
  std::vector<std::uint32_t> system_of_;  // by step
  double lane_height_ = 0;
  double width_ = 0;
  double height_ = 0;
  double header_width_ = 0;
};

}  // namespace

Result<std::string> order_svg(const Schedule& schedule, const StreamPlan& plan, std::span<const Conflict> conflicts,
                              std::string_view title) {
  if (schedule.steps.size() > kMaxSteps) {
    return Error{ErrorCode::NotSupported, "the method is too large to draw"}
        .with_expected(fmt::format("at most {} steps", kMaxSteps), std::to_string(schedule.steps.size()))
        .with_method(std::string{schedule.method});
  }
  return OrderPainter{schedule, plan, conflicts, title}.run();
}

}  // namespace tandem::cli
