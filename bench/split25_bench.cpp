#include "backends/aoti/container.h"
#include "backends/aoti/library.h"
#include "backends/aoti/payload.h"
#include "backends/aoti/weights.h"
#include "cli/case_folder.h"
#include "format/pte/pte.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// 25 real delegates in a row: a whole execution, beside nothing but the 25 calls of RunSingleThreaded.

namespace tandem {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result.ok()) std::abort();
  return *std::move(result);
}

struct Split25 {
  cli::CaseFolder folder = must(cli::read_case_folder(std::filesystem::path{TANDEM_FIXTURES} / "split25"));
  std::shared_ptr<const Program> program = must(Program::load(folder.program, folder.data_files));
  std::vector<Value> inputs = must(cli::load_values(folder.folder, folder.methods.front().cases.front().inputs));
};

void set_counter(benchmark::State& state, std::size_t delegates) {
  state.counters["per_delegate"] = benchmark::Counter(
      static_cast<double>(delegates), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void split25_method(benchmark::State& state) {
  const Split25 split;
  const auto method = must(Method::load(split.program, "forward"));
  std::vector<Value> outputs(1);
  for (auto _ : state) {
    if (!method->execute_into(split.inputs, outputs).ok()) std::abort();
  }
  set_counter(state, 25);
}
BENCHMARK(split25_method);

/// The same libraries and weights; every call makes its input handle and deletes its output, as any caller must.
void split25_direct(benchmark::State& state) {
  const Split25 split;
  const format::Method& method = split.program->file().methods.front();
  std::vector<std::shared_ptr<const aoti::Weights>> weights;
  std::vector<aoti::ReadyContainer> ready;
  for (const format::Delegate& delegate : method.delegates) {
    const aoti::Payload payload = must(aoti::parse_payload(delegate.payload, method.name));
    const aoti::FoundBytes code = must(aoti::find_first(split.program->named_data(), payload.library_keys));
    auto library = must(aoti::open_shared(code.bytes, code.key, aoti::shim_table_host()));
    weights.push_back(must(aoti::Weights::load(std::move(library), payload, split.program->named_data())));
    ready.push_back(must(weights.back()->make_container()));
  }
  const Tensor& input = split.inputs.front().tensor();
  for (auto _ : state) {
    aoti::AtenTensor* previous = nullptr;
    for (aoti::ReadyContainer& each : ready) {
      const aoti::CallScope scope{each.container->state()};
      aoti::AtenTensor& handle = each.container->state().handles.take();
      handle.defined = true;
      handle.dtype = input.dtype();
      handle.rank = static_cast<std::uint8_t>(input.rank());
      std::ranges::copy(input.sizes(), handle.sizes);
      std::ranges::copy(input.strides(), handle.strides);
      handle.storage_bytes = input.nbytes();
      handle.base = previous != nullptr ? previous->data() : static_cast<std::byte*>(input.data());
      aoti::AtenTensor* in = &handle;
      aoti::AtenTensor* out = nullptr;
      if (!each.container->run({&in, 1}, {&out, 1}, nullptr).ok()) std::abort();
      if (previous != nullptr) aoti::delete_handle(*previous);
      previous = out;
    }
    aoti::delete_handle(*previous);
  }
  set_counter(state, method.delegates.size());
}
BENCHMARK(split25_direct);

}  // namespace
}  // namespace tandem
