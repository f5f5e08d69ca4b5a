#include "cli/picture/graph_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tandem::cli {
namespace {

constexpr std::size_t kMaxItems = 50'000;
constexpr double kMargin = 28;     // around everything
constexpr double kTrack = 9;       // between lines that run side by side
constexpr double kBend = 30;       // room for a curve between two columns
constexpr double kLabelPad = 10;   // around a label
constexpr double kBoxGap = 20;     // between boxes of one column
constexpr double kViaHeight = 6;   // what a line takes that passes a column
constexpr double kViaWidth = 16;   // of a column with nothing but such lines
constexpr double kGutterPad = 16;  // between boxes and the lines below them
constexpr double kPortPitch = 14;  // between lines that meet a box on one side

/// A box, or the place where a net passes a layer.
struct Item {
  std::uint32_t node = kNoStep;
  std::uint32_t net = kNoStep;
  std::uint32_t layer = 0;
  double height = 0;
  double y = 0;  // of the middle
  std::vector<std::uint32_t> before{};
  std::vector<std::uint32_t> after{};
};

/// From an item to one of the next layer.
struct Link {
  std::uint32_t net = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// From a box to one that is not right of it, or a jump: through the gutters.
struct Detour {
  std::uint32_t net = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double exit_x = 0;
  double entry_x = 0;
  double left_x = 0;            // only between rows
  std::uint32_t track = 0;      // in the gutter below its start
  std::uint32_t end_track = 0;  // in the gutter below its end, if that is another
};

/// The links of one net from one item into the next row.
struct Wrap {
  std::uint32_t from = 0;
  std::uint32_t net = 0;
  std::vector<std::uint32_t> links{};
};

struct Row {
  std::uint32_t begin = 0;  // layers [begin, end)
  std::uint32_t end = 0;
  double right = 0;  // of the last column
  double top = 0;
  double bottom = 0;
  std::uint32_t tracks = 0;        // in the gutter below
  std::uint32_t left_tracks = 0;   // beside the first column
  std::uint32_t right_tracks = 0;  // beside the last column
  std::vector<Wrap> wraps{};

  [[nodiscard]] double track_y(std::uint32_t track) const { return bottom + kGutterPad + kTrack * track; }
};

class Layouter {
 public:
  Layouter(const MethodGraph& graph, const LayoutOptions& options)
      : graph_{graph}, options_{options}, layer_of_(graph.nodes.size()), item_of_(graph.nodes.size()) {}

  Result<GraphLayout> run() {
    result_.boxes.resize(graph_.nodes.size());
    result_.labels.resize(graph_.nets.size());
    assign_layers();
    TANDEM_CHECK_OK(make_items());
    order_items();
    measure_columns();
    break_rows();
    place_items();
    collect_ends();
    count_tracks();
    place_columns();
    place_rows();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].node != kNoStep) place_box(items_[i]);
    }
    place_ports();
    route();
    return std::move(result_);
  }

 private:
  using Layer = std::vector<std::uint32_t>;

  // Layers.

  bool is_step(std::uint32_t node) const { return node < graph_.steps; }
  bool goes_back(std::uint32_t from, std::uint32_t to) const { return is_step(from) && is_step(to) && from >= to; }

  template <class Fn>
  void for_each_forward(Fn&& fn) const {
    for (const GraphNet& net : graph_.nets) {
      for (const std::uint32_t to : net.to) {
        if (!net.jump && !goes_back(net.from, to)) fn(net.from, to);
      }
    }
  }

  void assign_layers() {
    std::vector<std::vector<std::uint32_t>> needs(graph_.nodes.size());
    std::vector<std::vector<std::uint32_t>> readers(graph_.nodes.size());
    for_each_forward([&](std::uint32_t from, std::uint32_t to) {
      needs[to].push_back(from);
      readers[from].push_back(to);
    });
    // Steps, one stretch below the other. Signed, for what stands before the first step.
    std::vector<std::int64_t> layer(graph_.nodes.size());
    std::int64_t base = 0;
    for (std::size_t s = 0; s < graph_.stretches.size(); ++s) {
      const std::uint32_t begin = graph_.stretches[s];
      const std::uint32_t end = s + 1 < graph_.stretches.size() ? graph_.stretches[s + 1] : graph_.steps;
      std::int64_t last = base - 1;
      for (std::uint32_t i = begin; i < end; ++i) {
        layer[i] = graph_.nodes[i].kind == GraphNode::Kind::Jump ? last + 1 : base;
        for (const std::uint32_t need : needs[i]) {
          if (is_step(need)) layer[i] = std::max(layer[i], layer[need] + 1);
        }
        last = std::max(last, layer[i]);
      }
      for (std::uint32_t i = end; i-- > begin;) pull_to_reader(i, last, needs[i], readers[i], layer);
      base = last + 1;
    }
    std::int64_t first = 0;
    for (std::uint32_t n = graph_.steps; n < layer.size(); ++n) {  // inputs and what is stored: just before its reader
      if (!needs[n].empty() || readers[n].empty()) continue;
      std::int64_t nearest = INT64_MAX;
      for (const std::uint32_t reader : readers[n]) {
        if (is_step(reader)) nearest = std::min(nearest, layer[reader]);
      }
      layer[n] = nearest == INT64_MAX ? 0 : nearest - 1;
      first = std::min(first, layer[n]);
    }
    for (std::uint32_t n = graph_.steps; n < layer.size(); ++n) {  // outputs and what is kept: just after its writer
      for (const std::uint32_t need : needs[n]) layer[n] = std::max(layer[n], layer[need] + 1);
    }
    for (std::uint32_t n = 0; n < layer.size(); ++n) layer_of_[n] = static_cast<std::uint32_t>(layer[n] - first);
  }

  /// A step that needs no other step moves right, up to its first reader but not out of its stretch.
  void pull_to_reader(std::uint32_t step, std::int64_t last, const std::vector<std::uint32_t>& needs,
                      const std::vector<std::uint32_t>& readers, std::vector<std::int64_t>& layer) const {
    if (graph_.nodes[step].kind == GraphNode::Kind::Jump) return;
    if (std::any_of(needs.begin(), needs.end(), [this](std::uint32_t need) { return is_step(need); })) return;
    std::int64_t nearest = INT64_MAX;
    for (const std::uint32_t reader : readers) {
      if (is_step(reader) && layer[reader] > layer[step]) nearest = std::min(nearest, layer[reader]);
    }
    if (nearest != INT64_MAX) layer[step] = std::max(layer[step], std::min(nearest - 1, last));
  }

  // Items.

  std::uint32_t add_item(Item item) {
    const auto index = static_cast<std::uint32_t>(items_.size());
    if (layers_.size() <= item.layer) layers_.resize(item.layer + 1);
    layers_[item.layer].push_back(index);
    items_.push_back(std::move(item));
    return index;
  }

  void add_link(std::uint32_t net, std::uint32_t from, std::uint32_t to) {
    links_.push_back({net, from, to});
    items_[from].after.push_back(to);
    items_[to].before.push_back(from);
  }

  Status make_items() {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      item_of_[n] = add_item({.node = n, .layer = layer_of_[n], .height = options_.sizes[n].y});
    }
    for (std::uint32_t t = 0; t < graph_.nets.size(); ++t) {
      const GraphNet& net = graph_.nets[t];
      std::vector<std::uint32_t> ahead;
      for (const std::uint32_t to : net.to) {
        if (net.jump || goes_back(net.from, to)) {
          detours_.push_back({.net = t, .from = item_of_[net.from], .to = item_of_[to]});
        } else {
          ahead.push_back(to);
        }
      }
      std::sort(ahead.begin(), ahead.end(),
                [this](std::uint32_t a, std::uint32_t b) { return layer_of_[a] < layer_of_[b]; });
      std::uint32_t at = item_of_[net.from];
      for (const std::uint32_t to : ahead) {
        while (items_[at].layer + 1 < layer_of_[to]) {
          if (items_.size() + links_.size() > kMaxItems) {
            return Error{ErrorCode::NotSupported, "the method is too large to draw"}.with_expected(
                "at most " + std::to_string(kMaxItems) + " boxes and lines", "more");
          }
          const std::uint32_t via = add_item({.net = t, .layer = items_[at].layer + 1, .height = kViaHeight});
          add_link(t, at, via);
          at = via;
        }
        add_link(t, at, item_of_[to]);
      }
    }
    return {};
  }

  void order_items() {
    constexpr int kSweeps = 12;
    std::vector<double> place(items_.size());
    const auto number = [&](const Layer& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i) place[layer[i]] = static_cast<double>(i);
    };
    for (Layer& layer : layers_) {
      // Inputs and stored values above steps: the start that needs the fewest crossings in what exporters write.
      std::stable_partition(layer.begin(), layer.end(),
                            [this](std::uint32_t i) { return items_[i].node != kNoStep && !is_step(items_[i].node); });
      number(layer);
    }
    const auto sort_by = [&](Layer& layer, std::vector<std::uint32_t> Item::*side) {
      std::vector<std::pair<double, std::uint32_t>> keyed;
      for (const std::uint32_t i : layer) {
        const std::vector<std::uint32_t>& others = items_[i].*side;
        double sum = 0;
        for (const std::uint32_t other : others) sum += place[other];
        keyed.emplace_back(others.empty() ? place[i] : sum / static_cast<double>(others.size()), i);
      }
      std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < layer.size(); ++i) layer[i] = keyed[i].second;
      number(layer);
    };
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t k = 1; k < layers_.size(); ++k) sort_by(layers_[k], &Item::before);
      for (std::size_t k = layers_.size() - 1; k-- > 0;) sort_by(layers_[k], &Item::after);
    }
    for (std::size_t k = 1; k < layers_.size(); ++k) sort_by(layers_[k], &Item::before);
  }

  // Columns and rows.

  double width_of(const Item& item) const { return item.node == kNoStep ? 0 : options_.sizes[item.node].x; }

  void measure_columns() {
    widths_.assign(layers_.size(), kViaWidth);
    zones_.assign(layers_.size(), 0);
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      for (const std::uint32_t i : layers_[k]) widths_[k] = std::max(widths_[k], width_of(items_[i]));
    }
    for (std::uint32_t t = 0; t < graph_.nets.size(); ++t) {
      if (options_.label_widths[t] == 0) continue;
      const Item& from = items_[item_of_[graph_.nets[t].from]];
      const double free = (widths_[from.layer] - width_of(from)) / 2;
      zones_[from.layer] = std::max(zones_[from.layer], options_.label_widths[t] + kLabelPad - free);
    }
  }

  std::vector<Row> rows_of_width(double limit) const {
    std::vector<Row> rows;
    double used = 0;
    for (std::uint32_t k = 0; k < layers_.size(); ++k) {
      const double need = widths_[k] + zones_[k] + kBend;
      if (rows.empty() || used + need > limit) {
        rows.push_back({.begin = k});
        used = 0;
      }
      used += need;
      rows.back().end = k + 1;
    }
    return rows;
  }

  /// As few rows as the width allows, of about the same length.
  void break_rows() {
    double high = options_.max_width - 2 * kMargin;
    rows_ = rows_of_width(high);
    double low = 0;
    for (int i = 0; i < 20; ++i) {
      const double middle = (low + high) / 2;
      (rows_of_width(middle).size() > rows_.size() ? low : high) = middle;
    }
    rows_ = rows_of_width(high);
    row_of_.resize(layers_.size());
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
      for (std::uint32_t k = rows_[r].begin; k < rows_[r].end; ++k) row_of_[k] = r;
    }
  }

  bool same_row(const Item& a, const Item& b) const { return row_of_[a.layer] == row_of_[b.layer]; }

  /// Where an item wants to be, and how much.
  struct Wish {
    double y = 0;
    double weight = 0;
  };

  /// Heights within each row. Every step makes the lines of one column as short as they can be, squared, so the sum
  /// over all lines only falls.
  void place_items() {
    constexpr int kSweeps = 48;
    for (Layer& layer : layers_) settle(layer, std::vector<Wish>(layer.size(), {0, 1}));
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        const std::size_t at = sweep % 2 == 0 ? k : layers_.size() - 1 - k;
        std::vector<Wish> wishes;
        for (const std::uint32_t i : layers_[at]) wishes.push_back(wish_of(items_[i]));
        settle(layers_[at], wishes);
      }
    }
  }

  Wish wish_of(const Item& item) const {
    constexpr double kStraight = 8;  // a line that passes several layers should not wobble
    constexpr double kStay = 0.01;
    Wish sum{item.y * kStay, kStay};
    for (const auto side : {&Item::before, &Item::after}) {
      for (const std::uint32_t other : item.*side) {
        if (!same_row(item, items_[other])) continue;
        const double weight = item.node == kNoStep && items_[other].node == kNoStep ? kStraight : 1;
        sum.y += weight * items_[other].y;
        sum.weight += weight;
      }
    }
    return {sum.y / sum.weight, sum.weight};
  }

  /// Moves the items of a column to where they want to be, as far as their order and gaps allow: the least squares
  /// solution, by pooling adjacent items that want to pass each other.
  void settle(const Layer& layer, const std::vector<Wish>& wishes) {
    struct Pool {
      double sum = 0;
      double weight = 0;
      std::size_t count = 0;
      [[nodiscard]] double mean() const { return sum / weight; }
    };
    std::vector<double> offset(layer.size());
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + pitch(items_[layer[i - 1]], items_[layer[i]]);
      pools.push_back({(wishes[i].y - offset[i]) * wishes[i].weight, wishes[i].weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().weight += last.weight;
        pools.back().count += last.count;
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (std::size_t n = 0; n < pool.count; ++n, ++i) items_[layer[i]].y = pool.mean() + offset[i];
    }
  }

  static double pitch(const Item& above, const Item& below) {
    const bool boxes = above.node != kNoStep || below.node != kNoStep;
    return (above.height + below.height) / 2 + (boxes ? kBoxGap : kViaHeight);
  }

  // Lines that leave the columns.

  void collect_ends() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> wrap_of;  // by item and net
    for (std::uint32_t l = 0; l < links_.size(); ++l) {
      const Item& from = items_[links_[l].from];
      if (same_row(from, items_[links_[l].to])) continue;
      std::vector<Wrap>& wraps = rows_[row_of_[from.layer]].wraps;
      const auto [found, fresh] = wrap_of.emplace(std::pair{links_[l].from, links_[l].net}, wraps.size());
      if (fresh) wraps.push_back({links_[l].from, links_[l].net, {}});
      wraps[found->second].links.push_back(l);
    }
    for (Row& row : rows_) {
      std::sort(row.wraps.begin(), row.wraps.end(), [this](const Wrap& a, const Wrap& b) {
        return std::pair{items_[a.from].y, a.net} < std::pair{items_[b.from].y, b.net};  // as place_ports() has them
      });
    }
  }

  void count_tracks() {
    exits_.assign(layers_.size(), 0);
    entries_.assign(layers_.size(), 0);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto wraps = static_cast<std::uint32_t>(rows_[r].wraps.size());
      rows_[r].tracks += wraps;
      rows_[r].right_tracks += wraps;
      if (r + 1 < rows_.size()) rows_[r + 1].left_tracks += wraps;
    }
    for (Detour& detour : detours_) {
      Row& start = rows_[row_of_[items_[detour.from].layer]];
      Row& end = rows_[row_of_[items_[detour.to].layer]];
      ++exits_[items_[detour.from].layer];
      ++entries_[items_[detour.to].layer];
      detour.track = start.tracks++;
      if (&start != &end) detour.end_track = end.tracks++;
    }
    for (const Detour& detour : detours_) {
      if (!same_row(items_[detour.from], items_[detour.to])) ++shared_left_;
    }
  }

  void place_columns() {
    double margin = 0;  // left of the first columns: entries, then wraps, then detours between rows
    for (const Row& row : rows_) {
      margin = std::max(margin, kTrack * static_cast<double>(entries_[row.begin] + row.left_tracks));
    }
    left_ = kMargin + margin + kTrack * shared_left_;
    if (left_ > kMargin) left_ += kTrack;
    column_x_.resize(layers_.size());
    exit_x_.resize(layers_.size());
    for (Row& row : rows_) {
      double x = left_;
      for (std::uint32_t k = row.begin; k < row.end; ++k) {
        column_x_[k] = x;
        row.right = x + widths_[k];
        exit_x_[k] = row.right + zones_[k] + kTrack;
        const std::uint32_t in_next = k + 1 < row.end ? entries_[k + 1] : 0;
        x = row.right + zones_[k] + kBend + kTrack * (exits_[k] + in_next);
      }
      const std::uint32_t last = row.end - 1;
      const std::uint32_t beside = exits_[last] + row.right_tracks;
      const double ways = beside == 0 ? 0 : zones_[last] + kTrack * (beside + 1);
      result_.width = std::max(result_.width, row.right + ways + kMargin);
    }
    std::vector<std::uint32_t> exit(layers_.size());
    std::vector<std::uint32_t> entry(layers_.size());
    std::uint32_t left = 0;
    for (Detour& detour : detours_) {
      const std::uint32_t from = items_[detour.from].layer;
      const std::uint32_t to = items_[detour.to].layer;
      detour.exit_x = exit_x_[from] + kTrack * exit[from]++;
      detour.entry_x = column_x_[to] - kTrack * (1 + ++entry[to]);
      if (row_of_[from] != row_of_[to]) detour.left_x = kMargin + kTrack * left++;
    }
  }

  void place_rows() {
    double top = kMargin;
    for (Row& row : rows_) {
      double highest = 1e300;
      double lowest = -1e300;
      const auto for_each_item = [&](auto&& fn) {
        for (std::uint32_t k = row.begin; k < row.end; ++k) {
          for (const std::uint32_t i : layers_[k]) fn(items_[i]);
        }
      };
      for_each_item([&](const Item& item) {
        highest = std::min(highest, item.y - item.height / 2);
        lowest = std::max(lowest, item.y + item.height / 2);
      });
      for_each_item([&](Item& item) { item.y += top - highest; });
      row.top = top;
      row.bottom = top + lowest - highest;
      top = row.bottom + kGutterPad + (row.tracks == 0 ? 0 : kTrack * (row.tracks - 1) + kGutterPad);
    }
    result_.height = top - kGutterPad + kMargin;
  }

  void place_box(const Item& item) {
    const Point size = options_.sizes[item.node];
    const double x = column_x_[item.layer] + (widths_[item.layer] - size.x) / 2;
    result_.boxes[item.node] = {x, item.y - size.y / 2, size.x, size.y};
  }

  // Where lines meet boxes.

  /// Ends of lines on one side of a box, with the height that decides their order.
  using Ends = std::map<std::uint32_t, std::vector<std::pair<double, std::uint32_t>>>;  // by item: (key, net)

  void place_ports() {
    constexpr double kFromAbove = -1e9;
    constexpr double kFromBelow = 1e9;
    Ends right;
    Ends left;
    for (const Link& link : links_) {
      const bool wraps = !same_row(items_[link.from], items_[link.to]);
      right[link.from].emplace_back(wraps ? kFromBelow / 2 : items_[link.to].y, link.net);
      left[link.to].emplace_back(wraps ? kFromAbove + items_[link.from].y : items_[link.from].y, link.net);
    }
    for (const Detour& detour : detours_) {
      right[detour.from].emplace_back(kFromBelow, detour.net);
      left[detour.to].emplace_back(kFromBelow + detour.net, detour.net);
    }
    spread(right, right_ports_);
    spread(left, left_ports_);
  }

  using Ports = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;  // by item and net

  void spread(Ends& ends, Ports& ports) const {
    for (auto& [item, keyed] : ends) {
      std::sort(keyed.begin(), keyed.end());
      std::vector<std::uint32_t> nets;
      for (const auto& [key, net] : keyed) {
        if (std::find(nets.begin(), nets.end(), net) == nets.end()) nets.push_back(net);
      }
      const double room = std::max(0.0, items_[item].height - 10);
      const double pitch = nets.size() < 2 ? 0 : std::min(kPortPitch, room / static_cast<double>(nets.size() - 1));
      for (std::size_t i = 0; i < nets.size(); ++i) {
        const double middle = static_cast<double>(nets.size() - 1) / 2;
        ports[{item, nets[i]}] = items_[item].y + (static_cast<double>(i) - middle) * pitch;
      }
    }
  }

  Point right_port(std::uint32_t item, std::uint32_t net) const {
    const Item& at = items_[item];
    const double x = at.node == kNoStep ? column_x_[at.layer] + widths_[at.layer]
                                        : result_.boxes[at.node].x + result_.boxes[at.node].width;
    return {x, at.node == kNoStep ? at.y : right_ports_.at({item, net})};
  }
  Point left_port(std::uint32_t item, std::uint32_t net) const {
    const Item& at = items_[item];
    if (at.node == kNoStep) return {column_x_[at.layer], at.y};
    return {result_.boxes[at.node].x, left_ports_.at({item, net})};
  }

  Point left_end(std::uint32_t link) const { return left_port(links_[link].to, links_[link].net); }

  // Lines.

  void route() {
    for (const auto& [key, y] : right_ports_) {
      const auto& [item, net] = key;
      if (items_[item].node == kNoStep) continue;
      const Box& box = result_.boxes[items_[item].node];
      result_.labels[net] = {box.x + box.width + kLabelPad / 2, y - 4};
    }
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.node != kNoStep) continue;
      result_.routes.push_back({item.net, {left_port(i, item.net), right_port(i, item.net)}, true, false});
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> straight;  // items and nets whose piece below the label is there
    for (std::uint32_t l = 0; l < links_.size(); ++l) {
      const Link& link = links_[l];
      const Item& from = items_[link.from];
      const Item& to = items_[link.to];
      if (!same_row(from, to)) continue;
      const Point start = right_port(link.from, link.net);
      const Point end = left_end(l);
      // Straight below the label, a curve between the columns, and straight to the box.
      const Point bend{column_x_[from.layer] + widths_[from.layer] + zones_[from.layer], start.y};
      const Point column{column_x_[to.layer], end.y};
      if (bend.x > start.x && straight.insert({link.from, link.net}).second) {
        result_.routes.push_back({link.net, {start, bend}, true, false});
      }
      const bool beside = end.x > column.x;
      const bool arrives = to.node != kNoStep;
      result_.routes.push_back({link.net, {bend, column}, false, arrives && !beside});
      if (beside) result_.routes.push_back({link.net, {column, end}, true, arrives});
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) route_wraps(static_cast<std::uint32_t>(r));
    for (const Detour& detour : detours_) route_detour(detour);
  }

  /// Side by side without crossing each other: the highest start is the outermost on the right, the lowest in the
  /// gutter and the innermost on the left.
  void route_wraps(std::uint32_t r) {
    const Row& row = rows_[r];
    for (std::uint32_t w = 0; w < row.wraps.size(); ++w) {
      const auto outer = static_cast<std::uint32_t>(row.wraps.size()) - 1 - w;
      const std::uint32_t last = row.end - 1;
      const double right = exit_x_[last] + kTrack * (exits_[last] + outer);
      const double gutter = row.track_y(outer);
      const double left = column_x_[rows_[r + 1].begin] - kTrack * (2 + entries_[rows_[r + 1].begin] + w);
      double lowest = 0;
      for (const std::uint32_t l : row.wraps[w].links) lowest = std::max(lowest, left_end(l).y);
      for (const std::uint32_t l : row.wraps[w].links) {
        const Link& link = links_[l];
        const Point start = right_port(link.from, link.net);
        const Point end = left_end(l);
        std::vector<Point> points{{left, end.y - kTrack}, {left, end.y}, end};  // branches off the way of the lowest
        if (end.y == lowest) points = {start, {right, start.y}, {right, gutter}, {left, gutter}, {left, end.y}, end};
        result_.routes.push_back({link.net, std::move(points), true, items_[link.to].node != kNoStep});
      }
    }
  }

  void route_detour(const Detour& detour) {
    const Row& start_row = rows_[row_of_[items_[detour.from].layer]];
    const Row& end_row = rows_[row_of_[items_[detour.to].layer]];
    const Point start = right_port(detour.from, detour.net);
    const Point end = left_port(detour.to, detour.net);
    const double gutter = start_row.track_y(detour.track);
    Route route{detour.net, {start, {detour.exit_x, start.y}, {detour.exit_x, gutter}}, true, true};
    double last = gutter;
    if (&start_row != &end_row) {
      last = end_row.track_y(detour.end_track);
      route.points.push_back({detour.left_x, gutter});
      route.points.push_back({detour.left_x, last});
    }
    route.points.push_back({detour.entry_x, last});
    route.points.push_back({detour.entry_x, end.y});
    route.points.push_back(end);
    result_.routes.push_back(std::move(route));
  }

  const MethodGraph& graph_;
  const LayoutOptions& options_;
  GraphLayout result_;
  std::vector<std::uint32_t> layer_of_;  // by node
  std::vector<std::uint32_t> item_of_;   // by node
  std::vector<Item> items_;
  std::vector<Link> links_;
  std::vector<Detour> detours_;
  std::vector<Layer> layers_;
  std::vector<double> widths_;  // by layer: of its column
  std::vector<double> zones_;   // by layer: room for labels right of the column
  std::vector<Row> rows_;
  std::vector<std::uint32_t> row_of_;   // by layer
  std::vector<std::uint32_t> exits_;    // by layer: detours that start there
  std::vector<std::uint32_t> entries_;  // by layer: detours that end there
  std::uint32_t shared_left_ = 0;       // detours between rows
  double left_ = 0;
  std::vector<double> column_x_;
  std::vector<double> exit_x_;
  Ports right_ports_;
  Ports left_ports_;
};

}  // namespace

Result<GraphLayout> lay_out(const MethodGraph& graph, const LayoutOptions& options) {
  if (graph.nodes.empty()) return GraphLayout{.width = 2 * kMargin, .height = 2 * kMargin};
  return Layouter{graph, options}.run();
}

}  // namespace tandem::cli
