#include "cli/picture/graph_layout.h"

#include "unit/cli/picture/random_method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tandem::cli {
namespace {

using testing::MethodBuilder;

LayoutOptions options_for(const MethodGraph& graph) {
  LayoutOptions options;
  options.sizes.assign(graph.nodes.size(), {120, 42});
  for (std::size_t n = 0; n < graph.nodes.size(); n += 3) options.sizes[n] = {90, 60};
  options.label_widths.assign(graph.nets.size(), 55);
  return options;
}

GraphLayout layout_of(const MethodGraph& graph) {
  Result<GraphLayout> layout = lay_out(graph, options_for(graph));
  EXPECT_TRUE(layout.ok());
  return layout.ok() ? std::move(layout).value() : GraphLayout{};
}

MethodGraph chain(int delegates) {
  MethodBuilder b;
  std::int32_t last = b.tensor({4}, 0);
  b.inputs({last});
  for (int i = 0; i < delegates; ++i) {
    const std::int32_t next = b.tensor({4}, 16 * (i + 1));
    b.delegate("X", {last, next});
    last = next;
  }
  b.outputs({last});
  return make_graph(b.method()).value();
}

MethodGraph random_graph(std::uint32_t seed, int steps, bool jumps) {
  MethodBuilder b;
  testing::add_random_steps(b, seed, steps, jumps);
  return make_graph(b.method()).value();
}

double middle(const Box& box) { return box.y + box.height / 2; }

bool overlap(const Box& a, const Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

bool on_edge(const Box& box, Point point) {
  const bool left_or_right = std::abs(point.x - box.x) < 0.01 || std::abs(point.x - box.x - box.width) < 0.01;
  return left_or_right && point.y > box.y && point.y < box.y + box.height;
}

/// Whether a horizontal or vertical line goes through the inside of a box.
bool crosses(Point from, Point to, const Box& box) {
  constexpr double kSlack = 0.01;
  return std::min(from.x, to.x) < box.x + box.width - kSlack && std::max(from.x, to.x) > box.x + kSlack &&
         std::min(from.y, to.y) < box.y + box.height - kSlack && std::max(from.y, to.y) > box.y + kSlack;
}

void check_layout(const MethodGraph& graph, const GraphLayout& layout) {
  ASSERT_EQ(layout.boxes.size(), graph.nodes.size());
  for (std::size_t a = 0; a < layout.boxes.size(); ++a) {
    const Box& box = layout.boxes[a];
    EXPECT_GE(box.x, 0);
    EXPECT_GE(box.y, 0);
    EXPECT_LE(box.x + box.width, layout.width);
    EXPECT_LE(box.y + box.height, layout.height);
    for (std::size_t b = a + 1; b < layout.boxes.size(); ++b) {
      EXPECT_FALSE(overlap(box, layout.boxes[b])) << a << " and " << b;
    }
  }
  std::size_t arrivals = 0;
  for (const Route& route : layout.routes) {
    for (const Point& point : route.points) {
      EXPECT_TRUE(point.x >= 0 && point.x <= layout.width && point.y >= 0 && point.y <= layout.height);
    }
    if (route.arrives) {
      ++arrivals;
      const std::vector<std::uint32_t>& to = graph.nets[route.net].to;
      EXPECT_TRUE(std::any_of(to.begin(), to.end(), [&](std::uint32_t node) {
        return on_edge(layout.boxes[node], route.points.back());
      })) << "an arrow that ends nowhere";
    }
    if (!route.orthogonal) {
      const Point from = route.points.front();
      const Point to = route.points.back();
      const Box around{from.x, std::min(from.y, to.y), to.x - from.x, std::abs(from.y - to.y)};
      EXPECT_GT(around.width, 0);
      for (const Box& box : layout.boxes)
        EXPECT_FALSE(overlap(around, box)) << "a curve leaves the room between columns";
      continue;
    }
    for (std::size_t i = 0; i + 1 < route.points.size(); ++i) {
      for (std::size_t n = 0; n < layout.boxes.size(); ++n) {
        EXPECT_FALSE(crosses(route.points[i], route.points[i + 1], layout.boxes[n]))
            << "net " << route.net << ", " << n;
      }
    }
  }
  std::size_t readers = 0;
  for (const GraphNet& net : graph.nets) readers += net.to.size();
  EXPECT_EQ(arrivals, readers);
}

TEST(GraphLayoutTest, WrapsAChainInRowsOfAboutOneLength) {
  const MethodGraph graph = chain(25);
  const GraphLayout layout = layout_of(graph);
  check_layout(graph, layout);
  EXPECT_LE(layout.width, 1400);
  EXPECT_GT(layout.width, 900);
  EXPECT_LT(layout.height, 700);
  EXPECT_GT(layout.boxes[0].x, layout.boxes[25].x) << "the input is left of the first delegate";
  for (std::size_t i = 1; i < 25; ++i) {
    const Box& last = layout.boxes[i - 1];
    const Box& box = layout.boxes[i];
    const bool right_of = box.x > last.x && middle(box) == middle(last);
    const bool next_row = box.y > last.y + last.height;
    EXPECT_TRUE(right_of || next_row) << i;
  }
}

TEST(GraphLayoutTest, KeepsAShortChainInOneRow) {
  const MethodGraph graph = chain(3);
  const GraphLayout layout = layout_of(graph);
  check_layout(graph, layout);
  for (const Box& box : layout.boxes) EXPECT_DOUBLE_EQ(middle(box), middle(layout.boxes[0]));
  EXPECT_LT(layout.height, 120);
}

TEST(GraphLayoutTest, RandomGraphsHaveNoOverlapsAndAllLines) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const MethodGraph graph = random_graph(seed, 1 + static_cast<int>(seed), false);
    check_layout(graph, layout_of(graph));
  }
}

TEST(GraphLayoutTest, RandomLoopsHaveNoOverlapsAndAllLines) {
  for (std::uint32_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    const MethodGraph graph = random_graph(seed, 1 + static_cast<int>(seed - 100), true);
    check_layout(graph, layout_of(graph));
  }
}

TEST(GraphLayoutTest, UnrelatedPartsDoNotDriftApart) {
  MethodBuilder b;  // a condition, and two branches that it chooses from
  const auto condition = b.flag(true);
  const auto never = b.flag(false);
  const auto in = b.tensor({4}, 0);
  const auto first = b.tensor({4}, 16);
  const auto added = b.tensor({4}, 32);
  const auto chosen = b.tensor({4}, 48);
  const auto negated = b.tensor({4}, 64);
  const auto out = b.tensor({4}, 80);
  b.inputs({condition, in}).outputs({out});
  b.delegate("X", {in, first}).jump_if_false(condition, 5);
  b.delegate("X", {first, added}).move(added, chosen).jump_if_false(never, 7);
  b.delegate("X", {first, negated}).move(negated, chosen).delegate("X", {chosen, out});
  const MethodGraph graph = make_graph(b.method()).value();
  const GraphLayout layout = layout_of(graph);
  check_layout(graph, layout);
  EXPECT_LT(std::abs(middle(layout.boxes[0]) - middle(layout.boxes[1])), 150);
}

TEST(GraphLayoutTest, IsTheSameEveryTime) {
  const MethodGraph graph = random_graph(7, 30, true);
  const GraphLayout first = layout_of(graph);
  const GraphLayout second = layout_of(graph);
  for (std::size_t n = 0; n < first.boxes.size(); ++n) {
    EXPECT_EQ(first.boxes[n].x, second.boxes[n].x);
    EXPECT_EQ(first.boxes[n].y, second.boxes[n].y);
  }
}

TEST(GraphLayoutTest, AnEmptyMethodHasAnEmptyPicture) {
  const GraphLayout layout = layout_of(MethodGraph{});
  EXPECT_GT(layout.width, 0);
  EXPECT_TRUE(layout.routes.empty());
}

TEST(GraphLayoutTest, RefusesMoreThanItCanDraw) {
  MethodGraph graph = chain(1'999);
  for (std::uint32_t i = 0; i < 100; ++i)
    graph.nets.push_back({.from = i, .to = {1'900}});  // 100 lines over 1,800 layers
  const auto refused = lay_out(graph, options_for(graph));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
}

}  // namespace
}  // namespace tandem::cli
