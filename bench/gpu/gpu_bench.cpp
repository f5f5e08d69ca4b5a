// Recorded programs on a GPU, beside the same kernels launched without Tandem, alternating in one process.
//
//   tandem_gpu_bench [--device N] [--rounds N] FOLDER...
//
// A folder is a recorded program (docs/case-folder.md). Prints one block per program and one for what several programs
// do to each other, if folders called split25, heavy and narrow are among them. Results are compared with the recorded
// ones before anything is timed.
#include "bench/gpu/bench_tools.h"
#include "bench/gpu/driver_calls.h"
#include "cli/bench/cuda/launches.h"
#include "cli/case_folder.h"
#include "cli/compare.h"
#include "cli/device_values.h"
#include "cli/timing.h"

#include <tandem/cuda.h>
#include <tandem/method.h>
#include <tandem/program.h>
#include <tandem/stream.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tandem {
namespace {

using bench::Clock;
using bench::must;
using bench::stop;
using bench::Times;
using bench::us;
using cli::bench::cuda::Launch;
using cli::bench::cuda::launch_all;
using cli::bench::cuda::make_graph;
using cli::bench::cuda::record_launches;

// ---- programs ----

DeviceId device{DeviceType::Cuda, 0};
int rounds = 1000;

struct Loaded {
  std::string name{};
  std::shared_ptr<const Program> program{};
  std::shared_ptr<Method> method{};
  std::vector<Value> inputs{};
};

std::size_t free_device_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  must(cudaMemGetInfo(&free, &total));
  return free;
}

std::shared_ptr<Method> load(const std::shared_ptr<const Program>& program, const std::string& name,
                             StreamPolicy streams = StreamPolicy::PerThread, GraphPolicy graphs = GraphPolicy::Auto) {
  MethodOptions options;
  options.graphs = graphs;
  options.device = device;
  options.backends = &cli::bench::cuda::recording_backends();
  options.streams = streams;
  return must(Method::load(program, name, options));
}

struct Files {
  cli::CaseFolder folder{};
  std::filesystem::path root{};
};

std::vector<Value> inputs_of(const Files& files, const MethodMeta& meta) {
  const cli::Case& first = files.folder.methods.front().cases.front();
  auto loaded = must(cli::load_values(files.root, first.inputs));
  auto row = must(cli::values_of_call(loaded, first.inputs, first.repeat != 0, 0));
  return must(cli::to_device(row, meta, device));
}

void check_result(const Files& files, Method& method, const std::vector<Value>& inputs) {
  const cli::Case& first = files.folder.methods.front().cases.front();
  auto loaded = must(cli::load_values(files.root, first.outputs));
  auto expected = must(cli::values_of_call(loaded, first.outputs, first.repeat != 0, 0));
  const auto found = must(cli::to_host(must(method.execute(inputs))));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto compared = cli::compare(found[i], expected[i], first.tolerance);
    if (!compared.matched) stop(fmt::format("{}: output {} is wrong: {}", files.root.string(), i, compared.reason));
  }
}

Loaded bench_program(const std::filesystem::path& path) {
  Files files{must(cli::read_case_folder(path)), path};
  Loaded loaded;
  loaded.name = path.filename().string();
  const std::string method = files.folder.methods.front().name;
  std::vector<std::filesystem::path> data = files.folder.data_files;
  // Once to bring the driver and the files' pages in; then what loading costs.
  loaded.program = must(Program::load(files.folder.program, data));
  load(loaded.program, method).reset();
  must(cudaDeviceSynchronize());
  const std::size_t free_before = free_device_bytes();
  const auto begin = Clock::now();
  loaded.program = must(Program::load(files.folder.program, data));
  loaded.method = load(loaded.program, method);
  const auto load_time = Clock::now() - begin;
  loaded.inputs = inputs_of(files, loaded.method->meta());
  check_result(files, *loaded.method, loaded.inputs);
  const std::size_t used = free_before - free_device_bytes();
  fmt::print("\n{}\n  load {:.1f} ms, GPU memory of the loaded program {:.1f} MiB\n", path.string(),
             us(load_time) / 1000, static_cast<double>(used) / (1 << 20));

  std::vector<Value> outputs(loaded.method->meta().outputs.size());
  const auto steps = load(loaded.program, method, StreamPolicy::PerThread, GraphPolicy::Off);
  const auto graph = load(loaded.program, method, StreamPolicy::PerThread, GraphPolicy::On);
  for (const auto& one : {steps, graph, loaded.method}) {
    for (int i = 0; i < 30; ++i) must(one->execute_into(loaded.inputs, outputs));
  }
  const std::vector<Launch> launches =
      must(record_launches([&] { return steps->execute_into(loaded.inputs, outputs); }));
  fmt::print("  launches in a run: {}\n", launches.size());
  const auto raw = must(make_graph(launches));

  // Host inputs and outputs; beside it the same kernels with one copy for each input and output and one wait.
  std::size_t in_bytes = 0;
  std::size_t out_bytes = 0;
  for (const Value& value : loaded.inputs) in_bytes += value.is_tensor() ? value.tensor().nbytes() : 0;
  for (const Value& value : outputs) out_bytes += value.is_tensor() ? value.tensor().nbytes() : 0;
  void* host = nullptr;
  void* gpu = nullptr;
  must(cudaMallocHost(&host, in_bytes + out_bytes + 1));
  must(cudaMalloc(&gpu, in_bytes + out_bytes + 1));
  cudaStream_t stream{};
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const bool copies = !loaded.inputs.empty() && loaded.inputs.front().tensor().device() == DeviceId{};
  const auto own = must(Stream::create(device));
  ExecuteOptions on_own;
  on_own.stream = own;
  struct Way {
    const char* name;
    std::shared_ptr<Method> method;
    Times whole{};
    Times call{};
  };
  std::array<Way, 3> ways{Way{"step by step", steps}, Way{"one graph", graph}, Way{"auto", loaded.method}};
  Times raw_steps;
  Times raw_launches;
  Times raw_whole;
  Times raw_launch;
  const auto raw_run = [&](Times& whole, Times& enqueue, const auto& work) {
    const auto start = Clock::now();
    if (copies) must(cudaMemcpyAsync(gpu, host, in_bytes, cudaMemcpyHostToDevice, stream));
    const auto first_launch = Clock::now();
    work();
    enqueue.add(Clock::now() - first_launch);
    if (copies) must(cudaMemcpyAsync(host, gpu, out_bytes, cudaMemcpyDeviceToHost, stream));
    must(cudaStreamSynchronize(stream));
    must(cudaDeviceSynchronize());
    whole.add(Clock::now() - start);
  };
  const int count = loaded.name == "heavy" ? std::min(rounds, 100) : rounds;
  for (int i = 0; i < count; ++i) {
    for (Way& way : ways) {
      const auto start = Clock::now();
      must(way.method->execute_into(loaded.inputs, outputs));
      must(cudaDeviceSynchronize());
      way.whole.add(Clock::now() - start);
    }
    raw_run(raw_steps, raw_launches, [&] { must(launch_all(launches, stream)); });
    raw_run(raw_whole, raw_launch, [&] { must(cudaGraphLaunch(raw.get(), stream)); });
    if (!loaded.method->meta().is_fully_async()) continue;
    for (Way& way : ways) {
      const auto start = Clock::now();
      const auto execution = must(way.method->execute_async(loaded.inputs, on_own));
      way.call.add(Clock::now() - start);
      must(execution.done().synchronize());
    }
  }
  for (Way& way : ways) {
    fmt::print("  {:<24} {}", way.name, way.whole.text());
    if (!way.call.all.empty()) fmt::print("; the call alone p50 {:.1f}", way.call.at(50));
    fmt::print("\n");
  }
  fmt::print("  raw launches             {}; the launches alone p50 {:.1f}\n", raw_steps.text(), raw_launches.at(50));
  fmt::print("  raw graph                {}; the launch alone p50 {:.1f}\n", raw_whole.text(), raw_launch.at(50));
  fmt::print("  ratios of the medians    step by step {:.3f}, graph {:.3f}\n", ways[0].whole.at(50) / raw_steps.at(50),
             ways[1].whole.at(50) / raw_whole.at(50));
  for (const GraphInfo& info : loaded.method->graphs()) {
    fmt::print("  auto: instructions {} to {}: {}\n", info.first_instruction, info.last_instruction,
               !info.refusal.empty() ? info.refusal
                                     : fmt::format("{} of {} nodes, {:.1f} us against {:.1f} step by step",
                                                   info.in_use ? "a graph" : "no graph, though there is one",
                                                   info.nodes, us(info.graph_time), us(info.steps_time)));
  }
  for (Way& way : ways) {
    fmt::print("  driver calls a run, {}: {}\n", way.name,
               bench::driver_calls_text(100, [&] { must(way.method->execute_into(loaded.inputs, outputs)); }));
  }
  must(cudaStreamDestroy(stream));
  must(cudaFree(gpu));
  must(cudaFreeHost(host));

  // Threads of a pool on one method.
  const auto own_stream = load(loaded.program, method, StreamPolicy::PerMethod);
  for (const auto& [threads, on, what] : {std::tuple{1, loaded.method, "one method        "},
                                          {8, loaded.method, "one method        "},
                                          {8, own_stream, "stream of the method"}}) {
    std::vector<Times> of(static_cast<std::size_t>(threads));
    const auto from = Clock::now();
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t, threads = threads, on = on] {
        std::vector<Value> mine(on->meta().outputs.size());
        for (int i = 0; i < count / threads; ++i) {
          const auto start = Clock::now();
          must(on->execute_into(loaded.inputs, mine));
          of[static_cast<std::size_t>(t)].add(Clock::now() - start);
        }
      });
    }
    for (std::thread& thread : pool) thread.join();
    const double wall = us(Clock::now() - from) / (count / threads * threads);
    Times merged;
    for (const Times& one : of) merged.all.insert(merged.all.end(), one.all.begin(), one.all.end());
    fmt::print("  {} thread{}, {} {}, {:.1f} us of wall time a run\n", threads, threads == 1 ? " " : "s", what,
               merged.text(), wall);
  }
  return loaded;
}

/// A program's times, on a stream of the caller's if there is one, while another runs on a second thread all the time.
void beside(Loaded& small, Loaded& big, StreamPolicy policy, const char* what, cudaStream_t stream = nullptr) {
  const auto mine = load(small.program, small.method->meta().name, policy);
  const auto theirs = load(big.program, big.method->meta().name, policy);
  std::atomic<bool> ends{false};
  std::thread other{[&] {
    std::vector<Value> outputs(theirs->meta().outputs.size());
    while (!ends) must(theirs->execute_into(big.inputs, outputs));
  }};
  Times times;
  std::optional<Stream> callers;
  ExecuteOptions options;
  if (stream != nullptr) options.stream = callers.emplace(must(cuda::borrow_stream(stream)));
  std::vector<Value> outputs(mine->meta().outputs.size());
  for (int i = 0; i < 20; ++i) must(mine->execute_into(small.inputs, outputs, options));
  for (int i = 0; i < 300; ++i) {
    const auto start = Clock::now();
    must(mine->execute_into(small.inputs, outputs, options));
    times.add(Clock::now() - start);
  }
  ends = true;
  other.join();
  fmt::print("  {} beside {}, {:<22} {}\n", small.name, big.name, what, times.text());
}

/// Two programs at once against one after the other.
void makespan(Loaded& program, StreamPolicy policy, const char* what) {
  std::array<std::shared_ptr<Method>, 2> methods{load(program.program, program.method->meta().name, policy),
                                                 load(program.program, program.method->meta().name, policy)};
  constexpr int kRuns = 200;
  const auto run = [&](int which) {
    std::vector<Value> outputs(methods[0]->meta().outputs.size());
    for (int i = 0; i < kRuns; ++i)
      must(methods[static_cast<std::size_t>(which)]->execute_into(program.inputs, outputs));
  };
  run(0);
  run(1);
  auto start = Clock::now();
  run(0);
  run(1);
  const double serial = us(Clock::now() - start);
  start = Clock::now();
  std::thread other{[&] { run(1); }};
  run(0);
  other.join();
  const double both = us(Clock::now() - start);
  fmt::print("  two of {}, {:<18} makespan {:.1f} us a pair, {:.2f} of the serial sum\n", program.name, what,
             both / kRuns, both / serial);
}

std::size_t count_entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{folder}) ++count;
  return count;
}

void cycles(Loaded& program) {
  std::size_t free_at_2 = 0;
  std::size_t fds_at_2 = 0;
  for (int i = 1; i <= 100; ++i) {
    {
      const auto method = load(program.program, program.method->meta().name);
      std::vector<Value> outputs(method->meta().outputs.size());
      for (int k = 0; k < 2; ++k) must(method->execute_into(program.inputs, outputs));
    }
    must(cudaDeviceSynchronize());
    if (i == 2) {
      free_at_2 = free_device_bytes();
      fds_at_2 = count_entries("/proc/self/fd");
    }
  }
  fmt::print(
      "  100 cycles of loading, running, unloading {}: free GPU memory {:+.2f} MiB, descriptors {:+d} since the "
      "second\n",
      program.name, (static_cast<double>(free_device_bytes()) - static_cast<double>(free_at_2)) / (1 << 20),
      static_cast<int>(count_entries("/proc/self/fd")) - static_cast<int>(fds_at_2));
}

int run(int argc, char** argv) {
  std::vector<std::filesystem::path> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--device" && i + 1 < argc) {
      device.index = static_cast<std::int16_t>(std::atoi(argv[++i]));
    } else if (option == "--rounds" && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else {
      folders.emplace_back(option);
    }
  }
  must(cudaSetDevice(device.index));
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, device.index));
  int driver = 0;
  must(cudaDriverGetVersion(&driver));
  fmt::print("{}, CUDA driver {}.{}, {} rounds\n", properties.name, driver / 1000, driver % 1000 / 10, rounds);
  std::map<std::string, Loaded> programs;
  for (const auto& folder : folders) {
    Loaded loaded = bench_program(folder);
    programs.emplace(loaded.name, std::move(loaded));
  }
  fmt::print("\nseveral programs\n");
  if (programs.contains("split25") && programs.contains("heavy")) {
    beside(programs.at("split25"), programs.at("heavy"), StreamPolicy::PerThread, "streams of the threads");
    beside(programs.at("split25"), programs.at("heavy"), StreamPolicy::PerMethod, "streams of the methods");
    int least = 0;
    int greatest = 0;
    must(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t first{};
    must(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, greatest));
    beside(programs.at("split25"), programs.at("heavy"), StreamPolicy::PerThread, "high-priority stream", first);
    must(cudaStreamDestroy(first));
  }
  for (const char* name : {"narrow", "split25"}) {
    if (!programs.contains(name)) continue;
    makespan(programs.at(name), StreamPolicy::PerThread, "thread's streams");
    makespan(programs.at(name), StreamPolicy::PerMethod, "own streams");
  }
  for (const char* name : {"mlp", "split25"}) {
    if (programs.contains(name)) cycles(programs.at(name));
  }
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) { return tandem::run(argc, argv); }
