// What is made of the numbers of a bench: text, JSON, picture, comparison.
#include "cli/bench/report.h"
#include "cli/bench/bench_svg.h"
#include "cli/bench/compare_benches.h"
#include "support/temporary_folder.h"
#include "unit/cli/picture/xml_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tandem::cli::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::occurrences;
using testing::xml_fault;

Times microseconds(std::initializer_list<int> all) {
  Times made;
  for (const int one : all) made.emplace_back(std::chrono::microseconds{one});
  return made;
}

ModeResult mode(const char* name, std::initializer_list<int> times) {
  ModeResult made{.name = name};
  made.samples.results = microseconds(times);
  made.blocks = microseconds(times);
  return made;
}

/// eager 10 us, again within 10 % of it, graph half of it, threads:2 with overlap.
BenchReport report() {
  BenchReport made{.file = "models/program.pte",
                   .program_sha256 = "abc",
                   .data = {{.file = "weights.ptd", .bytes = 100}},
                   .method = "forward",
                   .machine = {.cpu = "Fast CPU", .threads = 8, .compiler = "GCC", .version = "1.2.3", .command = "x"},
                   .inputs = {Value{3}},
                   .runs = 4,
                   .warmup = 1};
  BenchResult& result = made.result;
  result.modes = {mode("eager", {10, 10, 10, 10}), mode("again", {10, 11, 10, 10}), mode("graph", {5, 5, 4, 5}),
                  mode("threads:2", {20, 20, 21, 20})};
  result.modes[0].samples.enqueues = microseconds({3, 3, 3, 4});
  result.modes[3].drive = Drive::Threads;
  result.modes[3].blocks = microseconds({12, 12, 12, 12});
  for (ModeResult& one : result.modes) one.ratio = ratio_of(one.blocks, result.modes[0].blocks);
  result.resolution = resolution_of(result.modes[0].blocks, result.modes[1].blocks);
  result.first_digest = 0x1234;
  result.work = {.steps = 25, .delegates = 25, .to_device = {.count = 1, .bytes = 4096}};
  result.left_out = {{.name = "raw", .reason = "no CUDA"}};
  return made;
}

BenchReport void_report() {
  BenchReport made = report();
  made.result.difference = Difference{.mode = "graph", .run = 7, .reason = "fingerprint 1, and run 0 of eager gave 2"};
  for (ModeResult& one : made.result.modes) one.ratio.reset();
  return made;
}

TEST(BenchTextTest, HasARowForEachMode) {
  const std::string text = bench_text(report());
  EXPECT_THAT(text, HasSubstr("models/program.pte forward on host: 4 runs of each mode\n"));
  EXPECT_THAT(text, HasSubstr("a run     25 steps, 25 delegates, 0 operators, 1 copied to the device (4096 bytes)\n"));
  EXPECT_THAT(text, HasSubstr("results   the same in every run, the first has fingerprint 0000000000001234\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("eager +10.0 +10.0 +10.0 +10.0 +10.0  1 "));
  EXPECT_THAT(text, ::testing::ContainsRegex("again +10.0 +11.0 +11.0 +11.0 +10.0  same \\[1.00..1.10\\]"));
  EXPECT_THAT(text, ::testing::ContainsRegex("graph +5.0 +5.0 +5.0 +5.0 +5.0  0.50 \\[0.40..0.50\\]"));
  EXPECT_THAT(text, ::testing::ContainsRegex("threads:2 +20.0 +21.0 +21.0 +21.0 +12.0  1.20 "));
  EXPECT_THAT(text, HasSubstr("resolution: 10.0 %"));
  EXPECT_THAT(text, HasSubstr("graph: step by step: the host has no graphs\n"));
  EXPECT_THAT(text, HasSubstr("raw: left out, no CUDA\n"));
}

TEST(BenchTextTest, ShowsColumnsThatSomeModeHas) {
  BenchReport with = report();
  EXPECT_THAT(bench_text(with), Not(HasSubstr("launches")));
  EXPECT_THAT(bench_text(with), Not(HasSubstr("GPU p50")));
  EXPECT_THAT(bench_text(with), HasSubstr("call p50"));
  with.result.modes[2].samples.gpu = microseconds({4});
  with.result.modes[2].driver_calls = {{"cuGraphLaunch", 1}};
  const std::string text = bench_text(with);
  EXPECT_THAT(text, HasSubstr("GPU p50"));
  EXPECT_THAT(text, HasSubstr("launches"));
}

TEST(BenchTextTest, AVoidTableSaysSoAndHasNoRatios) {
  const std::string text = bench_text(void_report());
  EXPECT_THAT(text, HasSubstr("VOID      a wrong result: graph, run 7: fingerprint 1, and run 0 of eager gave 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("[")));
  EXPECT_THAT(text, Not(HasSubstr("same")));
  EXPECT_THAT(text, Not(HasSubstr("resolution")));
}

TEST(BenchTextTest, TellsOfAnInterruptionBeforeAnythingRan) {
  BenchReport empty{.file = "x.pte", .method = "forward", .runs = 10};
  empty.result.interrupted = true;
  const std::string text = bench_text(empty);
  EXPECT_THAT(text, HasSubstr("10 runs of each mode, interrupted"));
  EXPECT_THAT(text, HasSubstr("results   none"));
}

TEST(BenchTextTest, EscapesNamesOfFiles) {
  BenchReport hostile = report();
  hostile.file = "a\x1b[31m.pte";
  EXPECT_THAT(bench_text(hostile), HasSubstr("a\\x1b[31m.pte"));
}

TEST(GraphsTextTest, TellsWhatBecameOfEachStretch) {
  ModeResult one;
  EXPECT_EQ(graphs_text(one, true), "step by step: the host has no graphs");
  EXPECT_EQ(graphs_text(one, false), "step by step: no steps that may be a graph");
  one.graphs = {{.first_instruction = 0, .last_instruction = 2, .nodes = 5, .in_use = true},
                {.first_instruction = 4, .last_instruction = 5, .nodes = 1},
                {.first_instruction = 7, .last_instruction = 8, .refusal = "it waits"},
                {.first_instruction = 9, .last_instruction = 9}};
  EXPECT_EQ(graphs_text(one, false),
            "instructions 0 to 2: a graph of 5 nodes; instructions 4 to 5: step by step is faster than a graph of 1 "
            "node; instructions 7 to 8: step by step, it waits; instructions 9 to 9: no graph yet");
}

TEST(BenchJsonTest, HasWhatWasMeasured) {
  const Json json = bench_json(report(), false);
  EXPECT_EQ(json["tandem_bench"], kSchema);
  EXPECT_EQ(json["machine"]["cpu"], "Fast CPU");
  EXPECT_TRUE(json["machine"]["gpu"].is_null());
  EXPECT_EQ(json["data"][0]["bytes"], 100);
  EXPECT_EQ(json["work"]["copies_to_device"]["bytes"], 4096);
  EXPECT_EQ(json["fingerprint"], "0000000000001234");
  EXPECT_TRUE(json["expected"].is_null());
  EXPECT_TRUE(json["void"].is_null());
  EXPECT_NEAR(json["resolution"].get<double>(), 0.1, 1e-9);
  const Json& graph = json["modes"][2];
  EXPECT_EQ(graph["mode"], "graph");
  EXPECT_EQ(graph["time_us"], 5.0);
  EXPECT_EQ(graph["result_us"]["runs"], 4);
  EXPECT_EQ(graph["result_us"]["min"], 4.0);
  EXPECT_EQ(graph["ratio"]["median"], 0.5);
  EXPECT_EQ(graph["ratio"]["same"], false);
  EXPECT_EQ(graph["blocks_us"].size(), 4U);
  EXPECT_TRUE(graph["enqueue_us"].is_null());
  EXPECT_TRUE(graph["driver"].is_null());
  EXPECT_FALSE(graph.contains("samples"));
  EXPECT_EQ(json["modes"][1]["ratio"]["same"], true);
  EXPECT_EQ(json["modes"][3]["time_us"], 12.0);
  EXPECT_EQ(json["left_out"][0]["mode"], "raw");
}

TEST(BenchJsonTest, HasTheTimesOfAllRunsIfAsked) {
  const Json json = bench_json(report(), true);
  EXPECT_THAT(json["modes"][0]["samples"]["enqueue_us"], ElementsAre(3.0, 3.0, 3.0, 4.0));
}

TEST(BenchJsonTest, SortsTheDriversCalls) {
  BenchReport with = report();
  with.result.modes[0].driver_calls = {{"cuLaunchKernel", 25}, {"cuEventRecord", 1}};
  const Json driver = bench_json(with, false)["modes"][0]["driver"];
  EXPECT_EQ(driver["launches"], 25.0);
  EXPECT_EQ(driver["calls"]["cuEventRecord"], 1.0);
}

TEST(BenchJsonTest, AVoidTableSaysWhere) {
  BenchReport wrong = void_report();
  wrong.result.was_checked = true;
  const Json json = bench_json(wrong, false);
  EXPECT_EQ(json["void"]["mode"], "graph");
  EXPECT_EQ(json["void"]["run"], 7);
  EXPECT_EQ(json["expected"], false);
  EXPECT_TRUE(json["modes"][2]["ratio"].is_null());
}

TEST(DescribeFilesTest, TellsProgramsApart) {
  const testing::TemporaryFolder folder;
  const auto program = folder.write("a.pte", "abc");
  const auto data = folder.write("a.ptd", "12345");
  BenchReport made;
  ASSERT_TRUE(describe_files(program, {data}, made).ok());
  EXPECT_EQ(made.program_sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(made.data[0].bytes, 5U);
  EXPECT_EQ(describe_files(folder.path() / "none", {}, made).error().code(), ErrorCode::NotFound);
}

// ---- the picture ----

TEST(BenchSvgTest, HasABarAndACurveForEachMode) {
  const std::string svg = bench_svg(report()).value();
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(occurrences(svg, "data-mode='"), 4U);
  EXPECT_EQ(occurrences(svg, "data-curve='"), 4U);
  EXPECT_EQ(occurrences(svg, "the call of execute_async alone"), 1U);
  EXPECT_EQ(occurrences(svg, "stroke-dasharray='5 3'"), 1U) << "again";
  EXPECT_THAT(svg, HasSubstr("<title>bench of models/program.pte, forward</title>"));
  EXPECT_THAT(svg, HasSubstr("<desc>Median times from the call to the result: eager 10 us (p99 10), again 10 us"));
  EXPECT_THAT(svg, HasSubstr("what a run takes where several overlap"));
}

TEST(BenchSvgTest, EscapesHostileNames) {
  BenchReport hostile = report();
  hostile.file = "</svg><script>&\x01.pte";
  hostile.machine.cpu = "<b>'\"";
  const std::string svg = bench_svg(hostile).value();
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(occurrences(svg, "</svg>"), 1U);
}

TEST(BenchSvgTest, DrawsManyModesAndTimesOfNothing) {
  BenchReport many = report();
  for (int i = 0; i < 20; ++i) many.result.modes.push_back(mode("threads:1024", {0, 1'000'000}));
  const std::string svg = bench_svg(many).value();
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf'")));
}

TEST(BenchSvgTest, RefusesWhatSaysNothing) {
  EXPECT_EQ(bench_svg(void_report()).error().code(), ErrorCode::InvalidState);
  EXPECT_EQ(bench_svg(BenchReport{}).error().code(), ErrorCode::InvalidState);
}

TEST(AxisTest, HasRoundMarks) {
  EXPECT_THAT(axis_marks(17), ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(axis_marks(100), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_GE(axis_marks(0).size(), 2U);
  EXPECT_THAT(log_marks(3, 40), ElementsAre(2, 5, 10, 20, 50));
  EXPECT_THAT(log_marks(2, 2), ElementsAre(2, 5));
}

// ---- the comparison ----

class CompareBenchesTest : public ::testing::Test {
 protected:
  static Json json(const BenchReport& made) { return bench_json(made, false); }
  static std::string error_of(const Json& before, const Json& now) {
    const auto compared = compare_benches(before, now);
    return compared.ok() ? "" : compared.error().to_string();
  }
  Json old_bench = json(report());
  Json new_bench = json(report());
};

TEST_F(CompareBenchesTest, DividesNewByOldAndKnowsWhatIsTheSame) {
  BenchReport faster = report();
  faster.result.modes[0].blocks = microseconds({9, 9, 9, 9});
  faster.result.modes[2].blocks = microseconds({2, 2, 2, 2});
  const auto compared = compare_benches(old_bench, json(faster));
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  EXPECT_NEAR((*compared)["resolution"].get<double>(), 0.2, 1e-9) << "of both together";
  const Json& modes = (*compared)["modes"];
  EXPECT_NEAR(modes[0]["ratio"].get<double>(), 0.9, 1e-9);
  EXPECT_EQ(modes[0]["same"], true);
  EXPECT_NEAR(modes[2]["ratio"].get<double>(), 0.4, 1e-9);
  EXPECT_EQ(modes[2]["same"], false);
  EXPECT_EQ((*compared)["same_results"], true);
  const std::string text = comparison_text(*compared);
  EXPECT_THAT(text, HasSubstr("same (0.90)"));
  EXPECT_THAT(text, HasSubstr("resolution of both together: 20.0 %"));
}

TEST_F(CompareBenchesTest, ComparesModesThatBothHave) {
  BenchReport other = report();
  other.result.modes.erase(other.result.modes.begin() + 1, other.result.modes.end());
  other.result.resolution.reset();
  other.result.first_digest = 5;
  const auto compared = compare_benches(old_bench, json(other));
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  EXPECT_EQ((*compared)["modes"].size(), 1U);
  EXPECT_EQ((*compared)["modes"][0]["same"], false) << "without a resolution nobody knows";
  EXPECT_THAT(comparison_text(*compared), HasSubstr("the results are others than the old ones"));
  EXPECT_THAT(comparison_text(*compared), HasSubstr("resolution: unknown"));
}

TEST_F(CompareBenchesTest, RefusesWhatDoesNotCompare) {
  const auto refused = [&](const char* field, const Json& value, const char* words) {
    Json before = old_bench;
    before[Json::json_pointer{field}] = value;
    EXPECT_THAT(error_of(before, new_bench), HasSubstr(words)) << field;
    EXPECT_THAT(error_of(before, new_bench), HasSubstr("InvalidArgument")) << field;
  };
  refused("/tandem_bench", 2, "no bench of this form");
  refused("/program_sha256", "abd", "another program");
  refused("/method", "backward", "another method; expected \"forward\"");
  refused("/device", "cuda:0", "another device");
  refused("/machine/gpu", "Some GPU", "another device");
  refused("/machine/cpu", "Slow CPU", "another processor");
  refused("/inputs", Json::array(), "other inputs");
  refused("/data/0/bytes", 7, "other data files");
  refused("/void", Json{{"mode", "eager"}}, "the old table is void");
  refused("/modes", 3, "modes");
  refused("/resolution", "big", "field resolution");
  refused("/modes/0/time_us", "long", "field time_us");
}

TEST_F(CompareBenchesTest, AFileMayLieElsewhereAndADeviceHaveAnotherNumber) {
  old_bench["file"] = "elsewhere/program.pte";
  old_bench["data"][0]["file"] = "elsewhere/weights.ptd";
  old_bench["device"] = "cuda:1";
  new_bench["device"] = "cuda:0";
  EXPECT_EQ(error_of(old_bench, new_bench), "");
}

TEST_F(CompareBenchesTest, RefusesWhatIsNoBench) {
  for (const Json& other : {Json{}, Json(3), Json::array(), Json::object(), Json{{"error", "x"}}}) {
    EXPECT_THAT(error_of(other, new_bench), HasSubstr("no bench of this form"));
  }
}

TEST(ReadBenchTest, NamesTheFileAndThePlace) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(read_bench((folder.path() / "none.json").string()).error().code(), ErrorCode::NotFound);
  const auto bad = read_bench(folder.write("bad.json", "{\"a\": }").string());
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(bad.error().to_string(), HasSubstr("bad.json"));
  EXPECT_TRUE(bad.error().site().offset.has_value());
  EXPECT_EQ(*read_bench(folder.write("good.json", "{\"a\": 1}").string()), (Json{{"a", 1}}));
}

}  // namespace
}  // namespace tandem::cli::bench
