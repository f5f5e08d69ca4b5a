#include "backends/aoti/aoti_backend.h"
#include "support/delegate_runner.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::aoti {
namespace {

struct Program {
  const char* folder;
  const char* method;
  std::size_t runs;
};

class FixtureProgram : public ::testing::TestWithParam<Program> {};

/// Programs whose methods are delegate calls only, with every recorded case.
TEST_P(FixtureProgram, GivesTheRecordedOutputs) {
  const testing::FixtureFolder folder{GetParam().folder};
  const auto backend = make_aoti_host_backend();
  EXPECT_EQ(testing::replay(folder, GetParam().method, *backend), GetParam().runs);
}

INSTANTIATE_TEST_SUITE_P(Aoti, FixtureProgram,
                         ::testing::Values(Program{"add", "forward", 3}, Program{"alias", "forward", 2},
                                           Program{"cond", "forward", 2}, Program{"cond_uneven", "forward", 6},
                                           Program{"digits", "forward", 363}, Program{"dtypes", "forward", 3},
                                           Program{"dynamic", "forward", 6}, Program{"empty", "forward", 4},
                                           Program{"mlp", "forward", 3}, Program{"mlp_aten", "forward", 3},
                                           Program{"mlp_inpte", "forward", 3}, Program{"mlp_stock", "forward", 3},
                                           Program{"mlp_unplanned", "forward", 3}, Program{"multi", "decode", 2},
                                           Program{"multi", "encode", 2}, Program{"nocontig", "forward", 2},
                                           Program{"split25", "forward", 4}, Program{"state", "forward", 7},
                                           Program{"state_init", "forward", 7}),
                         [](const auto& program) {
                           return std::string{program.param.folder} + "_" + program.param.method;
                         });

}  // namespace
}  // namespace tandem::aoti
