#include "cli/case_folder.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

// From a path to a method that is ready to run.

namespace tandem {
namespace {

void load(benchmark::State& state, const char* name) {
  const auto folder = cli::read_case_folder(std::filesystem::path{TANDEM_FIXTURES} / name);
  if (!folder.ok()) std::abort();
  for (auto _ : state) {
    const auto program = Program::load(folder->program, folder->data_files);
    if (!program.ok() || !Method::load(*program, "forward").ok()) std::abort();
  }
}
BENCHMARK_CAPTURE(load, plain, "plain")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load, mlp, "mlp")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load, split25, "split25")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tandem
