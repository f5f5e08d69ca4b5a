// Writes a program that is split over kernels from a shared library, and runs it.
//
//   custom_kernel KERNEL.so PROGRAM.pte [DEVICE]       kernel.so, or kernel_cuda.so with the device cuda:0
//
// `tandem inspect PROGRAM.pte` shows what is in it, `tandem run PROGRAM.pte --random 1` runs it too.
#include <tandem/custom_payload.h>
#include <tandem/module.h>
#include <tandem/program_builder.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSize = 5;

tandem::Result<std::vector<std::byte>> read_file(const fs::path& path) {
  std::ifstream file{path, std::ios::binary | std::ios::ate};
  std::vector<std::byte> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0).read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return tandem::Error{tandem::ErrorCode::AccessFailed, "cannot be read"}.with_file(path.string());
  return bytes;
}

/// y = squash(2 * squash(x, gain 3), gain 1): a delegate, an operator, a delegate.
tandem::Status write_program(const fs::path& library, const fs::path& pte) {
  TANDEM_TRY(const auto kernel, read_file(library));
  tandem::ProgramBuilder program;
  program.named_data("squash.so", kernel);
  tandem::MethodBuilder& forward = program.method("forward");
  const auto squash = [&forward](float gain) -> tandem::Result<tandem::DelegateHandle> {
    const auto blob = std::as_bytes(std::span{&gain, 1});
    TANDEM_TRY(const auto payload, tandem::encode_custom_payload({.key = "squash.so", .blob = blob}));
    return forward.delegate({.id = "CustomBackend", .payload = payload});
  };
  TANDEM_TRY(const auto first, squash(3));
  TANDEM_TRY(const auto last, squash(1));
  const auto x = forward.tensor({kSize});
  const auto a = forward.tensor({kSize});
  const auto b = forward.tensor({kSize});
  const auto y = forward.tensor({kSize});
  forward.call(first, {x, a})
      .kernel("aten::add.out", {a, a, forward.number(1), b, b})
      .call(last, {b, y})
      .inputs({x})
      .outputs({y});
  return program.save(pte);
}

tandem::Status run(const fs::path& library, const fs::path& pte, const char* device) {
  TANDEM_CHECK_OK(write_program(library, pte));
  TANDEM_TRY(const auto program, tandem::Program::load(pte));
  TANDEM_TRY(const tandem::DeviceId id, tandem::parse_device(device));
  TANDEM_TRY(const auto method, tandem::Method::load(program, "forward", {.device = id}));
  std::array<float, kSize> numbers = {-2, -0.5F, 0, 1, 4};
  TANDEM_TRY(const tandem::Tensor x, tandem::Tensor::from_blob(numbers.data(), tandem::ScalarType::Float, {{kSize}}));
  const std::array<tandem::Value, 1> inputs = {x};
  TANDEM_TRY(const auto outputs, method->execute(inputs));
  const auto* y = outputs.at(0).tensor().data_as<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float b = 2 * 3 * numbers[i] / (1 + std::fabs(numbers[i]));
    const float expected = b / (1 + std::fabs(b));
    std::printf("x %5.2f  y %8.5f\n", numbers[i], y[i]);
    if (std::fabs(y[i] - expected) > 1e-6F) return tandem::Error{tandem::ErrorCode::Internal, "that is wrong"};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: custom_kernel KERNEL.so PROGRAM.pte [DEVICE]\n");
    return 2;
  }
  const tandem::Status status = run(argv[1], argv[2], argc == 4 ? argv[3] : "host");
  if (!status.ok()) std::fprintf(stderr, "custom_kernel: %s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
