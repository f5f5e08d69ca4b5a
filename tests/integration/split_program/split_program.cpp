#include "split_program.h"

#include "format/pte/pte.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

namespace tandem::split {

using testing::ReferenceEngine;

namespace {

TensorSpec spec_of(const std::vector<std::int64_t>& sizes, DeviceId device = {}) {
  TensorSpec spec;
  spec.sizes = sizes;
  spec.device = device;
  return spec;
}

}  // namespace

std::filesystem::path folder_for(const std::string& name) {
  std::filesystem::path folder = std::filesystem::path{TANDEM_SPLIT_FOLDER} / name;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return folder;
  folder = std::filesystem::temp_directory_path() / "tandem_split_program" / name;
  std::filesystem::create_directories(folder, failed);  // writing says what is wrong
  return folder;
}

Writer::Writer(const std::vector<std::int64_t>& sizes, DeviceId io)
    : method_{program_.method("forward")}, io_{io}, x_{method_.tensor(spec_of(sizes, io))}, last_sizes_{sizes} {
  method_.inputs({x_});
}

TensorHandle Writer::write_pending(DeviceId device) {
  const TensorHandle y = method_.tensor(spec_of(last_sizes_, device));
  std::vector<ValueHandle> arguments = pending_->inputs;
  arguments.push_back(y);
  method_.call(pending_->delegate, arguments);
  pending_.reset();
  return y;
}

TensorHandle Writer::last_value() { return pending_ ? write_pending({}) : x_; }

void Writer::call_cuda(DelegateHandle delegate, const std::vector<std::int64_t>& sizes) {
  ++calls_.cuda;
  pending_ = Pending{delegate, {last_value()}};
  if (!sizes.empty()) last_sizes_ = sizes;
}

void Writer::call(const EngineWork& work, ReferenceEngine engine, std::vector<ValueHandle> inputs) {
  ++calls_.engines;
  engine.scale = work.scale;
  engine.amount = work.amount;
  engine.spin_cycles = work.spin_cycles;
  engine.auxiliary_streams = work.has_auxiliary_stream ? 1 : 0;
  const std::string blob = testing::blob_of(engine);
  pending_ = Pending{delegate({.id = kTensorRt, .payload = std::as_bytes(std::span{blob})}), std::move(inputs)};
}

void Writer::call_affine(const EngineWork& work) {
  call(work, ReferenceEngine::affine(last_sizes_, 1, 0), {last_value()});
}

void Writer::call_add_input(const EngineWork& work) {
  call(work, ReferenceEngine::add(last_sizes_), {last_value(), x_});
}

void Writer::call_engine(std::span<const std::byte> payload) {
  ++calls_.engines;
  const TensorHandle last = last_value();
  pending_ = Pending{delegate({.id = kTensorRt, .payload = payload}), {last}};
}

Result<Files> Writer::save(const std::filesystem::path& folder) {
  method_.outputs({write_pending(io_)});
  TANDEM_TRY(const BuiltProgram built, program_.build());
  Files files{folder / "split_program.pte", {}};
  if (!built.ptd.empty()) files.ptd.push_back(folder / "split_program.ptd");
  // Tests run in processes next to each other: one has the file mapped while another writes the same.
  const std::string mine = "." + std::to_string(::getpid());
  const auto beside = [&mine](const std::filesystem::path& file) {
    return std::filesystem::path{file.string() + mine};
  };
  TANDEM_CHECK_OK(
      program_.save(beside(files.pte), files.ptd.empty() ? std::filesystem::path{} : beside(files.ptd.front())));
  for (const std::filesystem::path& file : files.ptd) std::filesystem::rename(beside(file), file);
  std::filesystem::rename(beside(files.pte), files.pte);
  return files;
}

Calls count_calls(const Program& program) {
  Calls calls;
  for (const format::Method& method : program.file().methods) {
    if (method.name != "forward") continue;
    for (const format::Chain& chain : method.chains) {
      for (const format::Instruction& instruction : chain.instructions) {
        const auto* call = std::get_if<format::DelegateCall>(&instruction);
        if (call == nullptr) continue;
        const std::string_view id = method.delegates[call->delegate].id;
        if (id == kCuda) ++calls.cuda;
        if (id == kTensorRt) ++calls.engines;
      }
    }
  }
  return calls;
}

// The scales' product is 1 or -1, so that a wrong bit anywhere shows in the output.
Link engine_link(std::size_t pair) {
  static constexpr float kScales[] = {2.0F, -0.5F, 1.0F, 4.0F, 0.25F};
  return {kScales[pair % 5], 0.25F * static_cast<float>(pair), pair % 4 == 3};
}

void call_engine_link(Writer& writer, std::size_t pair) {
  const Link link = engine_link(pair);
  const EngineWork work{link.scale, link.amount, pair % 2 == 0 ? kLongCycles : kShortCycles, pair % 3 == 1};
  link.adds_input ? writer.call_add_input(work) : writer.call_affine(work);
}

double value_after(const std::vector<Link>& links, double x) {
  double value = x;
  for (const Link& link : links) {
    value = static_cast<double>(link.scale) * value + static_cast<double>(link.amount) + (link.adds_input ? x : 0.0);
  }
  return value;
}

bool is_close(double found, double expected) { return std::fabs(found - expected) <= 1e-4 * (1 + std::fabs(expected)); }

}  // namespace tandem::split
