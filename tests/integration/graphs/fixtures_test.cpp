// Every recorded program for the host on a simulated GPU, whose delegates then are steps of a device: step by step, as
// graphs and with branches side by side they give the same bits, call after call, with every recorded input.
#include "cli/digest.h"
#include "fixture.h"
#include "support/fixture_names.h"
#include "support/host_code_on_gpu.h"
#include "support/program_method.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using testing::Fixture;
using testing::HostCodeOnGpu;
using testing::ProgramMethod;
using testing::SimulatedGpu;

class FixtureGraphsTest : public ::testing::TestWithParam<std::string> {
 protected:
  FixtureGraphsTest() {
    for (const char* id : {"AotiHostBackend", "AotiHostBackendB", "CudaBackend"}) {
      auto host = BackendRegistry::global().find("AotiHostBackend");
      EXPECT_TRUE(backends.register_backend(id, std::make_shared<HostCodeOnGpu>(std::move(host))).ok());
    }
  }
  Result<std::unique_ptr<ProgramMethod>> load(const std::shared_ptr<const Program>& program, const std::string& method,
                                              GraphPolicy graphs) {
    MethodOptions options;
    options.device = gpu.id();
    options.backends = &backends;
    options.graphs = graphs;
    return ProgramMethod::load(program, method, gpu, options);
  }

  SimulatedGpu gpu{7};
  BackendRegistry backends;
};

TEST_P(FixtureGraphsTest, EveryWayGivesTheSameBits) {
  const Fixture fixture{GetParam()};
  const auto program = Program::load(fixture.program(), fixture.data_files());
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  std::size_t compared = 0;
  std::string why_not;
  for (const std::string& name : (*program)->method_names()) {
    if (!fixture.has_method(name)) continue;
    auto steps = load(*program, name, GraphPolicy::Off);
    if (!steps.ok() && steps.error().code() == ErrorCode::NotSupported) {
      why_not = steps.error().to_string();
      continue;
    }
    ASSERT_TRUE(steps.ok()) << steps.error().to_string();
    for (const GraphPolicy graphs : {GraphPolicy::On, GraphPolicy::Branches, GraphPolicy::Auto}) {
      SCOPED_TRACE(name + ", graphs " + std::string{name_of(graphs)});
      const auto method = load(*program, name, graphs);
      ASSERT_TRUE(method.ok()) << method.error().to_string();
      steps = load(*program, name, GraphPolicy::Off);  // a state of the same age
      const std::size_t rounds = graphs == GraphPolicy::Auto ? 12 : 4;
      for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < fixture.case_count(name); ++i) {
          const std::vector<Value> inputs = fixture.inputs(name, i);
          gpu.reseed(round * 31 + i);
          const auto found = (*method)->execute(inputs);
          ASSERT_TRUE(found.ok()) << found.error().to_string();
          const auto expected = (*steps)->execute(inputs);
          ASSERT_TRUE(expected.ok()) << expected.error().to_string();
          ASSERT_EQ(*cli::digest_of(*found), *cli::digest_of(*expected)) << "case " << i << ", round " << round;
          if (round == 0 && i == 0) fixture.expect_outputs(name, i, *found);  // later ones may need a reset before
          ++compared;
        }
      }
      for (const GraphInfo& graph : (*method)->graphs()) EXPECT_EQ(graph.refusal, "");
    }
  }
  if (compared == 0) GTEST_SKIP() << (why_not.empty() ? "no recorded method" : why_not);
}

INSTANTIATE_TEST_SUITE_P(Recorded, FixtureGraphsTest, ::testing::ValuesIn(testing::fixture_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace tandem
