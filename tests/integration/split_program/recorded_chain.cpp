#include "recorded_chain.h"

#include "backends/aoti/payload.h"
#include "format/pte/pte.h"

#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace tandem::split {
namespace {

/// AOTInductor libraries. A program written from them has them under the id CudaBackend.
bool is_aoti(std::string_view id) { return id == kCuda || id == "AotiHostBackend" || id == "AotiHostBackendB"; }

Error no_chain(std::string why) { return Error{ErrorCode::NotSupported, "the program is no chain: " + std::move(why)}; }

}  // namespace

Result<RecordedChain> RecordedChain::read(const std::filesystem::path& folder) {
  RecordedChain chain;
  TANDEM_TRY(chain.folder_, cli::read_case_folder(folder));
  TANDEM_TRY(chain.program_, Program::load(chain.folder_.program, chain.folder_.data_files));
  TANDEM_CHECK_OK(chain.find_links());
  return chain;
}

Status RecordedChain::find_links() {
  const format::Method& method = program_->file().methods.front();
  const auto tensor = [&method](std::int32_t value) {
    const auto* found = std::get_if<format::Tensor>(&method.values[static_cast<std::size_t>(value)]);
    return found != nullptr && found->dtype == ScalarType::Float && found->dynamism == format::ShapeDynamism::Static
               ? found
               : nullptr;
  };
  if (method.inputs.size() != 1 || method.outputs.size() != 1) return no_chain("more than one input or output");
  const format::Tensor* const input = tensor(method.inputs.front());
  if (input == nullptr || tensor(method.outputs.front()) == nullptr) return no_chain("an input or output is no tensor");
  sizes_.assign(input->sizes.begin(), input->sizes.end());
  std::int32_t last = -1;  // what the delegate before gave
  for (const format::Instruction& instruction : method.chains.front().instructions) {
    if (const auto* kernel = std::get_if<format::KernelCall>(&instruction); kernel != nullptr) {
      if (method.operators[kernel->op].name.starts_with("et_copy::")) continue;
      return no_chain("it has operators");
    }
    const auto* call = std::get_if<format::DelegateCall>(&instruction);
    if (call == nullptr) return no_chain("it has jumps or moves");
    if (!is_aoti(method.delegates[call->delegate].id)) return no_chain("it has other delegates");
    if (call->args.size() != 2 || tensor(call->args[0]) == nullptr || tensor(call->args[1]) == nullptr) {
      return no_chain("a delegate takes or gives more than one tensor");
    }
    if (last != -1 && call->args[0] != last)
      return no_chain("a delegate reads something else than the last one's output");
    last = call->args[1];
    const format::Tensor& output = *tensor(last);
    links_.push_back({call->delegate, {output.sizes.begin(), output.sizes.end()}});
  }
  if (links_.empty()) return no_chain("no delegates");
  if (links_.back().sizes != sizes_) return no_chain("its output has other sizes than its input");
  return {};
}

Result<std::vector<std::vector<Value>>> RecordedChain::recorded(bool outputs) const {
  std::vector<std::vector<Value>> all;
  for (const cli::Case& one : folder_.methods.front().cases) {
    const auto& described = outputs ? one.outputs : one.inputs;
    TANDEM_TRY(const auto loaded, cli::load_values(folder_.folder, described));
    TANDEM_TRY(auto values, cli::values_of_call(loaded, described, one.repeat != 0, 0));
    all.push_back(std::move(values));
  }
  return all;
}

Status RecordedChain::write_data(ProgramBuilder& program) const {
  const format::Method& method = program_->file().methods.front();
  std::set<std::string, std::less<>> written;
  const auto write = [&](const aoti::Keys& keys, bool is_weight) -> Status {
    auto found = aoti::find_first(program_->named_data(), keys);
    if (!found.ok() && is_weight) return {};  // a library without constants needs none
    TANDEM_TRY(const aoti::FoundBytes data, std::move(found));
    if (!written.emplace(data.key).second) return {};
    is_weight ? program.external_data(data.key, data.bytes, 64) : program.named_data(data.key, data.bytes, 64);
    return {};
  };
  for (const Link& link : links_) {
    TANDEM_TRY(const aoti::Payload payload, aoti::parse_payload(method.delegates[link.delegate].payload, method.name));
    TANDEM_CHECK_OK(write(payload.library_keys, false));
    if (const auto* keys = std::get_if<aoti::Keys>(&payload.weights); keys != nullptr) {
      TANDEM_CHECK_OK(write(*keys, true));
      continue;
    }
    for (const aoti::ConstantEntry& entry : std::get<std::vector<aoti::ConstantEntry>>(payload.weights)) {
      TANDEM_CHECK_OK(write({entry.storage_key}, true));
    }
  }
  return {};
}

DelegateHandle RecordedChain::write_delegate(Writer& writer, const Link& link) const {
  const format::Delegate& recorded = program_->file().methods.front().delegates[link.delegate];
  DelegateSpec spec{.id = kCuda, .payload = recorded.payload};
  for (const format::CompileSpec& one : recorded.compile_specs) {
    spec.compile_specs.emplace_back(one.key,
                                    std::string{reinterpret_cast<const char*>(one.value.data()), one.value.size()});
  }
  return writer.delegate(spec);
}

Status RecordedChain::write(Writer& writer, std::size_t passes, const WriteEngine& write_engine) const {
  TANDEM_CHECK_OK(write_data(writer.program()));
  std::vector<DelegateHandle> delegates;
  std::size_t pair = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    if (pass % 2 == 0) delegates.clear();
    for (std::size_t i = 0; i < links_.size(); ++i, ++pair) {
      if (pass % 2 == 0) delegates.push_back(write_delegate(writer, links_[i]));
      writer.call_cuda(delegates[i], links_[i].sizes);
      if (write_engine) write_engine(writer, pair, i + 1 == links_.size() && pass + 1 < passes);
    }
  }
  return {};
}

Status RecordedChain::write_first(Writer& writer) const {
  TANDEM_CHECK_OK(write_data(writer.program()));
  writer.call_cuda(write_delegate(writer, links_.front()), links_.front().sizes);
  return {};
}

void write_reference_engine(Writer& writer, std::size_t pair, bool ends_pass) {
  EngineWork work{1, 0, pair % 2 == 0 ? kLongCycles : kShortCycles, pair % 3 == 1};
  if (!ends_pass) return writer.call_affine(work);
  work.scale = 1.0F / 4096;
  writer.call_add_input(work);
}

}  // namespace tandem::split
