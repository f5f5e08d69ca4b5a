#include "cli/picture/graph_svg.h"

#include "cli/picture/graph_layout.h"
#include "cli/picture/svg.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

constexpr std::string_view kInk = "#1f2937";
constexpr std::string_view kMuted = "#6b7280";
constexpr std::string_view kLine = "#6b7280";
constexpr std::string_view kJumpLine = "#9333ea";
constexpr double kTitleSize = 12;
constexpr double kDetailSize = 10.5;
constexpr double kLabelSize = 10;
constexpr std::size_t kMaxTitle = 30;
constexpr std::size_t kMaxLabel = 22;  // longer ones only as tool tips
constexpr double kHeaderHeight = 64;

struct NodeStyle {
  std::string_view line = "#9ca3af";
  std::string_view fill = "#f3f4f6";
  double radius = 7;
  bool dashed = false;
};

class GraphPainter {
 public:
  GraphPainter(const MethodGraph& graph, std::string_view title) : graph_{graph}, title_{title} {
    for (const GraphNode& node : graph.nodes) {
      if (node.kind == GraphNode::Kind::Delegate && !std::count(backends_.begin(), backends_.end(), node.backend)) {
        backends_.push_back(node.backend);
      }
    }
  }

  Result<std::string> run() {
    const LayoutOptions options = measure();
    TANDEM_TRY(layout_, lay_out(graph_, options));
    const std::string header = draw_header();
    std::string body = fmt::format("<g transform='translate(0 {:g})'>\n", kHeaderHeight);
    for (const Route& route : layout_.routes) body += draw(route);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) body += draw(graph_.nodes[n], layout_.boxes[n]);
    for (std::size_t t = 0; t < graph_.nets.size(); ++t) {
      if (has_label(graph_.nets[t])) {
        body += svg_text(layout_.labels[t].x, layout_.labels[t].y, graph_.nets[t].label,
                         {.size = kLabelSize, .fill = "#4b5563", .halo = true});
      }
    }
    body += "</g>\n";
    return svg_document(std::max(layout_.width, header_width_), layout_.height + kHeaderHeight, title_,
                        {kLine, kJumpLine}, header + body);
  }

 private:
  static bool has_label(const GraphNet& net) { return !net.label.empty() && net.label.size() <= kMaxLabel; }
  static bool small(const GraphNode& node) { return node.kind == GraphNode::Kind::Stored; }

  LayoutOptions measure() const {
    LayoutOptions options;
    std::vector<double> in(graph_.nodes.size());
    std::vector<double> out(graph_.nodes.size());
    for (const GraphNet& net : graph_.nets) {
      out[net.from] += 1;
      for (const std::uint32_t to : net.to) in[to] += 1;
      options.label_widths.push_back(has_label(net) ? text_width(net.label, kLabelSize) : 0);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      const double bold = node.kind == GraphNode::Kind::Delegate ? 1.12 : 1;
      const double title = bold * text_width(shortened(node.title, kMaxTitle), small(node) ? kDetailSize : kTitleSize);
      const double number = node.number.empty() ? 0 : text_width(node.number, 9) + 10;
      const double detail = text_width(shortened(node.detail, kMaxTitle), kDetailSize);
      const double lines = node.detail.empty() ? 30 : small(node) ? 34 : 42;
      // Lines that carry labels need the height of text, others less.
      options.sizes.push_back(
          {std::max(title + number, detail) + 20, std::max({lines, 14 * out[n] + 6, 8 * in[n] + 6})});
    }
    return options;
  }

  NodeStyle style_of(const GraphNode& node) const {
    switch (node.kind) {
      case GraphNode::Kind::Input:
      case GraphNode::Kind::Output:
        return {.line = "#374151", .fill = "#fff", .radius = 20};
      case GraphNode::Kind::Stored:
        return {.line = "#a8a29e", .fill = "#fafaf9", .radius = 3, .dashed = true};
      case GraphNode::Kind::Delegate: {
        const auto found = std::find(backends_.begin(), backends_.end(), node.backend);
        const BackendColour colour = backend_colour(static_cast<std::size_t>(found - backends_.begin()));
        return {.line = colour.line, .fill = colour.fill};
      }
      case GraphNode::Kind::Jump:
        return {.line = kJumpLine, .fill = "#faf5ff"};
      case GraphNode::Kind::Operator:
      case GraphNode::Kind::Move:
      case GraphNode::Kind::Free:
        return {};
    }
    return {};
  }

  std::string draw(const GraphNode& node, const Box& box) const {
    const NodeStyle style = style_of(node);
    const std::string step = node.step == kNoStep ? "" : fmt::format(" data-step='{}'", node.step);
    std::string out = fmt::format("<g{}><title>{}</title>", step,
                                  xml_text(shortened(fmt::format("{} {}", node.title, node.detail), 200)));
    out += fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='{:g}' fill='{}' stroke='{}' "
        "stroke-width='{}'{}/>\n",
        box.x, box.y, box.width, box.height, style.radius, style.fill, style.line,
        node.kind == GraphNode::Kind::Delegate ? "1.8" : "1.2", style.dashed ? " stroke-dasharray='3 2'" : "");
    const double middle = box.y + box.height / 2;
    const bool two = !node.detail.empty();
    const TextStyle title{.size = small(node) ? kDetailSize : kTitleSize,
                          .fill = kInk,
                          .anchor = "middle",
                          .bold = node.kind == GraphNode::Kind::Delegate};
    const double number = text_width(node.number, 9);
    out += svg_text(box.x + (box.width - number) / 2, middle + (two ? -3 : 4), shortened(node.title, kMaxTitle), title);
    if (two) {
      out += svg_text(box.x + box.width / 2, middle + 12, shortened(node.detail, kMaxTitle),
                      {.size = kDetailSize, .fill = kMuted, .anchor = "middle"});
    }
    if (node.step != kNoStep) {
      out += svg_text(box.x + box.width - 6, box.y + 12, node.number, {.size = 9, .fill = kMuted, .anchor = "end"});
    }
    return out + "</g>\n";
  }

  std::string draw(const Route& route) const {
    const GraphNet& net = graph_.nets[route.net];
    const std::string_view colour = net.jump ? kJumpLine : kLine;
    const std::string path =
        route.orthogonal ? rounded_path(route.points, 7) : curve_path(route.points.front(), route.points.back());
    const std::string name = net.jump ? "jump" : shortened(fmt::format("{} {}", net.value, net.label), 200);
    return fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.4'{}{}><title>{}</title></path>\n", path,
                       colour, net.jump ? " stroke-dasharray='5 3'" : "",
                       route.arrives ? fmt::format(" marker-end='{}'", arrow_of(colour)) : "", xml_text(name));
  }

  /// Title, counts and the legend, on two lines.
  std::string draw_header() {
    constexpr double kLeft = 28;
    const std::string name = shortened(title_, 100);
    std::string out = svg_text(kLeft, 34, name, {.size = 16, .fill = kInk, .bold = true});
    header_width_ = kLeft + text_width(name, 16) + kLeft;
    double x = kLeft;
    const auto entry = [&](const NodeStyle& style, const std::string& text) {
      out += fmt::format(
          "<rect x='{:.1f}' y='46' width='14' height='12' rx='3' fill='{}' stroke='{}' stroke-width='1.4'/>\n", x,
          style.fill, style.line);
      out += svg_text(x + 20, 56, text, {.size = 11, .fill = kMuted});
      x += 20 + text_width(text, 11) + 18;
    };
    for (std::size_t b = 0; b < backends_.size() && b < kMaxLegend; ++b) {
      const auto count = std::count_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const GraphNode& node) {
        return node.kind == GraphNode::Kind::Delegate && node.backend == backends_[b];
      });
      const BackendColour colour = backend_colour(b);
      entry({.line = colour.line, .fill = colour.fill},
            fmt::format("{} ({})", shortened(backends_[b], kMaxTitle),
                        count_text(static_cast<std::uint64_t>(count), "call")));
    }
    if (has(GraphNode::Kind::Operator)) entry({}, "operator");
    if (has(GraphNode::Kind::Jump)) entry(style_of({.kind = GraphNode::Kind::Jump}), "jump");
    if (has(GraphNode::Kind::Stored)) entry(style_of({.kind = GraphNode::Kind::Stored}), "constant or state");
    header_width_ = std::max(header_width_, x + kLeft);
    return out;
  }

  bool has(GraphNode::Kind kind) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [kind](const GraphNode& n) { return n.kind == kind; });
  }

  static constexpr std::size_t kMaxLegend = 8;

  const MethodGraph& graph_;
  std::string_view title_;
  std::vector<std::string> backends_;  // in order of first use
  GraphLayout layout_;
  double header_width_ = 0;
};

}  // namespace

Result<std::string> graph_svg(const MethodGraph& graph, std::string_view title) {
  return GraphPainter{graph, title}.run();
}

}  // namespace tandem::cli
