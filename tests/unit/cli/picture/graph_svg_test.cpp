#include "cli/picture/graph_svg.h"

#include "unit/cli/picture/random_method.h"
#include "unit/cli/picture/xml_check.h"

#include <gtest/gtest.h>

namespace tandem::cli {
namespace {

using testing::MethodBuilder;
using testing::occurrences;
using testing::xml_fault;

std::string svg_of(MethodBuilder& builder, std::string_view title = "title") {
  return graph_svg(make_graph(builder.method()).value(), title).value();
}

TEST(GraphSvgTest, ShowsEveryStepAndOneColourPerBackend) {
  MethodBuilder b;
  testing::add_random_steps(b, 3, 30, true);
  const std::string svg = svg_of(b);
  EXPECT_EQ(xml_fault(svg), "");
  const std::size_t steps = b.method().chains[0].instructions.size();
  EXPECT_EQ(occurrences(svg, "data-step='"), steps);
  for (std::size_t i = 0; i < steps; ++i) EXPECT_EQ(occurrences(svg, "data-step='" + std::to_string(i) + "'"), 1U);
  for (const char* backend : {"Backend0", "Backend1", "Backend2"}) {
    EXPECT_NE(svg.find(std::string{">"} + backend + " ("), std::string::npos) << "the legend";
  }
}

TEST(GraphSvgTest, EscapesHostileNames) {
  MethodBuilder b;
  const auto in = b.tensor({4}, 0);
  const auto out = b.tensor({4}, 16);
  const auto constant = b.constant({1});
  std::get<format::Tensor>(b.method().values[static_cast<std::size_t>(constant)]).name = "</text><script>";
  b.inputs({in}).outputs({out});
  b.delegate("</svg>'\"&\x01\xff", {in, constant, out});
  b.kernel("<!--::" + std::string(100'000, '<') + ".out", {in, out, out});
  const std::string svg = svg_of(b, "<title>&");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(occurrences(svg, "</svg>"), 1U);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_LT(svg.size(), 20'000U) << "long names are cut";
}

TEST(GraphSvgTest, DrawsAMethodWithoutSteps) {
  MethodBuilder b;
  b.outputs({b.number(8)});
  const std::string svg = svg_of(b);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("output 0"), std::string::npos);
}

TEST(GraphSvgTest, NamesNothingOutsideItself) {
  MethodBuilder b;
  testing::add_random_steps(b, 1, 5, false);
  const std::string svg = svg_of(b);
  EXPECT_EQ(occurrences(svg, "http"), 1U) << "the name space of SVG";
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace tandem::cli
