#include "format/pte/pte.h"
#include "support/file_bytes.h"

#include <tandem/method.h>
#include <tandem/program.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

// What the reader accepts must be lowered or refused, and run or fail, without harm: programs without native code,
// inputs of zeros.

namespace {

using namespace tandem;

constexpr std::size_t kMaxInputBytes = 1 << 16;
constexpr std::size_t kMaxTensorBytes = 1 << 20;

/// Loops are legal and may be long, and a file may plan more memory than a fuzzer should touch.
bool is_small(const format::Method& method) {
  for (const format::Chain& chain : method.chains) {
    for (std::size_t i = 0; i < chain.instructions.size(); ++i) {
      const auto* jump = std::get_if<format::JumpFalseCall>(&chain.instructions[i]);
      if (jump != nullptr && jump->destination <= i) return false;
    }
  }
  for (const format::ValueSpec& value : method.values) {
    const auto* tensor = std::get_if<format::Tensor>(&value);
    if (tensor == nullptr) continue;
    const std::uint64_t end = tensor->allocation ? tensor->allocation->offset + tensor->bytes : tensor->bytes;
    if (end > kMaxTensorBytes) return false;
  }
  return true;
}

void run(const std::shared_ptr<const Program>& program, const format::Method& description) {
  const auto method = Method::load(program, description.name, {.allow_native_code = false});
  if (!method.ok()) return;
  std::vector<Value> inputs;
  for (const ValueInfo& input : (*method)->meta().inputs) {
    if (input.kind != Value::Kind::Tensor) {
      inputs.push_back(input.traced);
      continue;
    }
    if (input.tensor.nbytes > kMaxInputBytes) return;
    auto tensor = Tensor::empty(input.tensor.dtype, input.tensor.sizes, input.tensor.dim_order);
    if (!tensor.ok()) return;
    std::memset(tensor->data(), 0, tensor->nbytes());
    inputs.emplace_back(*std::move(tensor));
  }
  for (int i = 0; i < 2; ++i) static_cast<void>((*method)->execute(inputs).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tandem::testing::FileBytes file{std::as_bytes(std::span{data, size})};
  const auto program = tandem::Program::from_bytes(file.bytes());
  if (!program.ok()) return 0;
  for (const tandem::format::Method& method : (*program)->file().methods) {
    if (is_small(method)) run(*program, method);
  }
  return 0;
}
