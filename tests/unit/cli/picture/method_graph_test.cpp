#include "cli/picture/method_graph.h"

#include "support/method_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::MethodBuilder;

MethodGraph graph_of(MethodBuilder& builder) {
  Result<MethodGraph> graph = make_graph(builder.method());
  EXPECT_TRUE(graph.ok());
  return graph.ok() ? std::move(graph).value() : MethodGraph{};
}

/// "delegate 0 -> delegate 1, output 0: f32[4]" for every net that is no jump.
std::vector<std::string> lines_of(const MethodGraph& graph) {
  std::vector<std::string> lines;
  for (const GraphNet& net : graph.nets) {
    if (net.jump) continue;
    std::string line = graph.nodes[net.from].title + " ->";
    for (const std::uint32_t to : net.to) line += " " + graph.nodes[to].title + ",";
    line.back() = ':';
    lines.push_back(line + " " + net.label);
  }
  return lines;
}

TEST(MethodGraphTest, JoinsWritersWithReaders) {
  MethodBuilder b;
  const auto in = b.tensor({2, 4}, 0);
  const auto middle = b.tensor({2, 4}, 32, true);
  const auto out = b.tensor({4}, 64);
  b.inputs({in}).outputs({out, in});
  b.delegate("X", {in, middle});
  b.delegate("Y", {middle, in, out});
  const MethodGraph graph = graph_of(b);
  EXPECT_EQ(graph.steps, 2U);
  EXPECT_EQ(graph.nodes[0].backend, "X");
  EXPECT_EQ(graph.nodes[1].number, "#1");
  EXPECT_THAT(lines_of(graph), ElementsAre("input 0 -> delegate 0, delegate 1, output 1: ",
                                           "delegate 0 -> delegate 1: f32[<=2,4]", "delegate 1 -> output 0: f32[4]"));
}

TEST(MethodGraphTest, AWriteEndsEarlierOnes) {
  MethodBuilder b;
  const auto in = b.tensor({4}, 0);
  const auto value = b.tensor({4}, 16);
  b.inputs({in}).outputs({value});
  b.move(in, value).move(in, value);
  EXPECT_THAT(lines_of(graph_of(b)), Contains("move -> output 0: f32[4]"));
  EXPECT_EQ(lines_of(graph_of(b)).size(), 2U) << "only the second move reaches the output";
}

TEST(MethodGraphTest, BothBranchesReachTheJoin) {
  MethodBuilder b;
  const auto condition = b.flag(true);
  const auto never = b.flag(false);
  const auto in = b.tensor({4}, 0);
  const auto out = b.tensor({4}, 16);
  b.inputs({condition, in}).outputs({out});
  b.jump_if_false(condition, 3).delegate("X", {in, out}).jump_if_false(never, 4).delegate("Y", {in, out});
  const MethodGraph graph = graph_of(b);
  EXPECT_THAT(lines_of(graph), Contains("delegate 0 -> output 0: f32[4]"));
  EXPECT_THAT(lines_of(graph), Contains("delegate 1 -> output 0: f32[4]"));
  EXPECT_THAT(graph.stretches, ElementsAre(0U, 1U, 3U));
  EXPECT_EQ(graph.nodes[0].title, "jump if false");
  EXPECT_EQ(graph.nodes[0].detail, "to #3");
  EXPECT_EQ(graph.nodes[2].title, "jump");
  EXPECT_EQ(graph.nodes[2].detail, "to the end");
}

TEST(MethodGraphTest, ALoopReadsWhatItsEarlierTurnWrote) {
  MethodBuilder b;
  const auto condition = b.flag(true);
  const auto in = b.tensor({4}, 0);
  const auto value = b.tensor({4}, 16);
  const auto next = b.tensor({4}, 32);
  b.inputs({condition, in}).outputs({value});
  b.move(in, value).delegate("X", {value, next}).move(next, value).jump_if_false(condition, 1);
  const MethodGraph graph = graph_of(b);
  const auto back = std::find_if(graph.nets.begin(), graph.nets.end(),
                                 [](const GraphNet& net) { return net.from == 2 && !net.jump; });
  ASSERT_NE(back, graph.nets.end());
  EXPECT_THAT(back->to, ElementsAre(1U, 5U + 1U)) << "the delegate, and the output";
}

TEST(MethodGraphTest, StoredValuesStandAtEveryReader) {
  MethodBuilder b;
  const auto weight = b.constant({1, 2, 3, 4});
  const auto cache = b.state({4}, 0, {});
  const auto first = b.tensor({4}, 16);
  const auto second = b.tensor({4}, 32);
  b.outputs({second});
  b.delegate("X", {weight, first}).delegate("Y", {weight, first, second});
  b.kernel("my::copy_", {cache, first, cache});
  const MethodGraph graph = graph_of(b);
  EXPECT_THAT(lines_of(graph), Contains("constant -> delegate 0: "));
  EXPECT_THAT(lines_of(graph), Contains("constant -> delegate 1: "));
  EXPECT_THAT(lines_of(graph), Contains("copy_ -> state: f32[4]")) << "kept for the next run";
}

TEST(ShortTypeTest, IsShort) {
  MethodBuilder b;
  const auto type = [&b](std::int32_t value) { return short_type(b.method().values[static_cast<std::size_t>(value)]); };
  EXPECT_EQ(type(b.tensor({}, 0)), "f32[]");
  EXPECT_EQ(type(b.tensor({2, 3}, 0, false, ScalarType::BFloat16)), "bf16[2,3]");
  EXPECT_EQ(type(b.tensor({2}, 0, true, ScalarType::Byte)), "u8[<=2]");
  EXPECT_EQ(type(b.tensor({2}, 0, false, ScalarType::Long)), "i64[2]");
  EXPECT_EQ(type(b.number(1)), "int");
}

}  // namespace
}  // namespace tandem::cli
