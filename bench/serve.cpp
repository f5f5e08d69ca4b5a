// One recorded program, called on demand: the Tandem side of bench/alternate.py.
//
//   tandem_serve FOLDER [--device cuda:0]
//
// Prints a line of JSON when it is ready, with the time of loading. Then answers each "run K" on its input with one
// line: the times of K calls, each with the next recorded inputs, from host tensors to host tensors, and how many
// results were wrong. Comparing is not in the times. "quit" ends it.
#include "cli/case_folder.h"
#include "cli/compare.h"
#include "cli/device_values.h"
#include "cli/json.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

double us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

struct Call {
  std::vector<Value> inputs{};
  std::vector<Value> expected{};
  cli::Tolerance tolerance{};
};

Result<std::vector<Call>> recorded_calls(const cli::CaseFolder& folder, const MethodMeta& meta, DeviceId device) {
  std::vector<Call> calls;
  for (const cli::Case& one : folder.methods.front().cases) {
    TANDEM_TRY(const auto inputs, cli::load_values(folder.folder, one.inputs));
    TANDEM_TRY(const auto outputs, cli::load_values(folder.folder, one.outputs));
    for (std::int64_t k = 0; k < std::max<std::int64_t>(one.repeat, 1); ++k) {
      Call& call = calls.emplace_back();
      TANDEM_TRY(call.inputs, cli::values_of_call(inputs, one.inputs, one.repeat != 0, k));
      TANDEM_TRY(call.inputs, cli::to_device(call.inputs, meta, device));
      TANDEM_TRY(call.expected, cli::values_of_call(outputs, one.outputs, one.repeat != 0, k));
      call.tolerance = one.tolerance;
    }
  }
  return calls;
}

Result<bool> is_right(const Call& call, const std::vector<Value>& outputs) {
  TANDEM_TRY(const auto found, cli::to_host(outputs));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!cli::compare(found[i], call.expected[i], call.tolerance).matched) return false;
  }
  return true;
}

Status serve(const std::string& path, DeviceId device) {
  TANDEM_TRY(const cli::CaseFolder folder, cli::read_case_folder(path));
  MethodOptions options;
  options.device = device;
  const std::string& name = folder.methods.front().name;
  const auto load = [&]() -> Result<std::shared_ptr<Method>> {
    TANDEM_TRY(const auto program, Program::load(folder.program, folder.data_files));
    return Method::load(program, name, options);
  };
  TANDEM_CHECK_OK(load());  // starts the driver, and brings in the files' pages
  const auto begin = Clock::now();
  TANDEM_TRY(const auto method, load());
  const double load_ms = us(Clock::now() - begin) / 1000;
  TANDEM_TRY(const std::vector<Call> calls, recorded_calls(folder, method->meta(), device));
  std::vector<Value> outputs(method->meta().outputs.size());
  for (int i = 0; i < 20; ++i) TANDEM_CHECK_OK(method->execute_into(calls.front().inputs, outputs));
  fmt::print("{}\n", cli::Json{{"folder", path}, {"device", to_string(device)}, {"load_ms", load_ms}}.dump());
  std::fflush(stdout);
  std::size_t next = 0;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    const int count = line.starts_with("run ") ? std::atoi(line.c_str() + 4) : 0;
    std::vector<double> times;
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      const Call& call = calls[next++ % calls.size()];
      const auto start = Clock::now();
      TANDEM_CHECK_OK(method->execute_into(call.inputs, outputs));
      times.push_back(us(Clock::now() - start));
      TANDEM_TRY(const bool right, is_right(call, outputs));
      wrong += right ? 0 : 1;
    }
    fmt::print("{}\n", cli::Json{{"times_us", times}, {"wrong", wrong}}.dump());
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  std::string path;
  tandem::DeviceId device{};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument != "--device" || i + 1 == argc) {
      path = argument;
    } else if (const auto named = tandem::parse_device(argv[++i]); named.ok()) {
      device = *named;
    } else {
      fmt::print(stderr, "tandem_serve: {}\n", named.error().to_string());
      return 2;
    }
  }
  const tandem::Status served = tandem::serve(path, device);
  if (!served.ok()) fmt::print(stderr, "tandem_serve: {}\n", served.error().to_string());
  return served.ok() ? 0 : 1;
}
