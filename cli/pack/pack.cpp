#include "cli/pack/pack.h"

#include "cli/pack/check_operators.h"
#include "cli/pack/state_memory.h"
#include "cli/text.h"

#include <tandem/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace tandem::cli {
namespace {

/// Where the manifest has what a built method numbers.
struct MethodSpots {
  std::vector<const ManifestSpot*> values{};
  std::vector<const ManifestStep*> steps{};  ///< By instruction.
};

class Packer {
 public:
  Packer(const Manifest& manifest, const ReadFile& files) : manifest_{manifest}, files_{files} {}

  Result<PackedProgram> run() {
    for (const ManifestMethod& method : manifest_.methods) TANDEM_CHECK_OK(add_method(method));
    for (const ManifestData& data : manifest_.data) TANDEM_CHECK_OK(add_manifest_data(data));
    Result<BuiltProgram> built = program_.build();
    if (!built.ok()) return located(built.error());
    out_.files = *std::move(built);
    TANDEM_CHECK_OK(read_back());
    return std::move(out_);
  }

 private:
  // ---- data -------------------------------------------------------------------------------------------------------

  Status add_data(EncodedData data, const ManifestSpot& spot) {
    const auto known = data_.find(data.key);
    if (known != data_.end()) {
      if (known->second.bytes == data.bytes) return {};
      return spot.error(ErrorCode::InvalidArgument,
                        fmt::format("two different data of the key '{}', the other one at {}", printable(data.key),
                                    known->second.spot->key));
    }
    if (data.external) {
      program_.external_data(data.key, data.bytes, data.alignment);
    } else {
      program_.named_data(data.key, data.bytes, data.alignment);
    }
    out_.data.push_back({data.key, data.bytes.size(), data.external});
    std::string key = data.key;
    data_.emplace(std::move(key), KnownData{std::move(data.bytes), &spot});
    return {};
  }

  /// An array in a file gives its elements to the tensor that names the data; without one the file goes in as it is.
  Status add_manifest_data(const ManifestData& data) {
    EncodedData encoded{data.key, {}, data.alignment, data.external};
    const auto index = static_cast<std::size_t>(&data - manifest_.data.data());
    if (const auto user = data_users_.find(index); user != data_users_.end()) {
      TANDEM_TRY(encoded.bytes, load_array(data.file, user->second->array, files_));
    } else {
      TANDEM_TRY(const std::span<const std::byte> bytes, load_bytes(data.file, files_));
      encoded.bytes.assign(bytes.begin(), bytes.end());
    }
    return add_data(std::move(encoded), data.spot);
  }

  // ---- methods ----------------------------------------------------------------------------------------------------

  Status add_method(const ManifestMethod& method) {
    MethodBuilder& m = program_.method(method.name);
    PackedMethod packed{.name = method.name, .values = method.values.size()};
    memory_.start_method();
    handles_.assign(method.values.size(), {});
    spots_.emplace_back();
    // A list comes behind its items in the file.
    for (const bool lists : {false, true}) {
      for (std::size_t i = 0; i < method.values.size(); ++i) {
        const ManifestContent& content = method.values[i].content;
        const bool is_list =
            std::holds_alternative<ManifestIntList>(content) || std::holds_alternative<ManifestTensorList>(content);
        if (is_list != lists) continue;
        TANDEM_TRY(handles_[i], add_value(m, method.values[i]));
        spots_.back().values.push_back(&method.values[i].spot);
      }
    }
    for (const auto& [arena, device] : memory_.device_arenas()) m.arena(arena, device);

    std::vector<DelegateHandle> delegates;
    for (const ManifestDelegate& delegate : method.delegates) {
      TANDEM_TRY(EncodedDelegate encoded, delegate.source->encode(files_));
      delegates.push_back(m.delegate({.id = delegate.backend,
                                      .payload = encoded.payload,
                                      .inline_payload = delegate.inline_payload,
                                      .compile_specs = delegate.compile_specs}));
      for (EncodedData& data : encoded.data) TANDEM_CHECK_OK(add_data(std::move(data), delegate.spot));
      packed.delegates.push_back({delegate.name, delegate.backend, std::string{delegate.kind}, encoded.payload.size()});
    }

    m.inputs(handles_of(method.inputs)).outputs(handles_of(method.outputs));
    std::vector<LabelHandle> labels;
    for (std::size_t i = 0; i < method.label_count; ++i) labels.push_back(m.label());
    for (const ManifestStep& step : method.steps) {
      add_step(m, step, delegates, labels);
      if (step.kind != ManifestStep::Kind::Label) spots_.back().steps.push_back(&step);
    }
    packed.instructions = spots_.back().steps.size();
    out_.methods.push_back(std::move(packed));
    return {};
  }

  Result<ValueHandle> add_value(MethodBuilder& m, const ManifestValue& value) {
    const auto add = [&]<class T>(const T& content) -> Result<ValueHandle> {
      if constexpr (std::is_same_v<T, std::monostate>) {
        return m.none();
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return m.number(content);
      } else if constexpr (std::is_same_v<T, bool>) {
        return m.flag(content);
      } else if constexpr (std::is_same_v<T, double>) {
        return m.real(content);
      } else if constexpr (std::is_same_v<T, std::string>) {
        return m.text(content);
      } else if constexpr (std::is_same_v<T, std::vector<double>>) {
        return m.double_list(content);
      } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
        return m.bool_list(content);
      } else if constexpr (std::is_same_v<T, ManifestIntList>) {
        std::vector<IntHandle> items;
        for (const std::size_t item : content.items) items.push_back(IntHandle{handles_[item]});
        return m.int_list_of(items);
      } else if constexpr (std::is_same_v<T, ManifestTensorList>) {
        return add_tensor_list(m, content);
      } else {
        return add_tensor(m, value, content);
      }
    };
    return std::visit(add, value.content);
  }

  ValueHandle add_tensor_list(MethodBuilder& m, const ManifestTensorList& list) const {
    std::vector<std::optional<TensorHandle>> optionals;
    std::vector<TensorHandle> tensors;
    for (const std::optional<std::size_t> item : list.items) {
      optionals.emplace_back();
      if (item) optionals.back() = tensors.emplace_back(TensorHandle{handles_[*item]});
    }
    return list.optional ? m.optional_tensor_list(optionals) : m.tensor_list(tensors);
  }

  Result<ValueHandle> add_tensor(MethodBuilder& m, const ManifestValue& value, const ManifestTensor& tensor) {
    TensorSpec spec{.sizes = tensor.array.sizes,
                    .dtype = tensor.array.dtype,
                    .dim_order = tensor.array.dim_order,
                    .dynamic = tensor.dynamic,
                    .device = tensor.device,
                    .name = tensor.name};
    if (tensor.role == ManifestTensor::Role::Mutable) {
      spec.memory = memory_.place(tensor);
      if (!spec.memory) return value.spot.error(ErrorCode::InvalidArgument, "the sizes of mutable tensors overflow");
    }
    if (const auto* data = std::get_if<std::size_t>(&tensor.contents)) {
      data_users_.emplace(*data, &tensor);
      spec.name = manifest_.data[*data].key;
      return m.external(std::move(spec));
    }
    std::vector<std::byte> bytes;
    if (const auto* file = std::get_if<FileReference>(&tensor.contents)) {
      TANDEM_TRY(bytes, load_array(*file, tensor.array, files_));
    } else if (const auto* numbers = std::get_if<std::vector<std::byte>>(&tensor.contents)) {
      bytes = *numbers;
    }
    switch (tensor.role) {
      case ManifestTensor::Role::Constant:
        return m.constant(std::move(spec), bytes);
      case ManifestTensor::Role::Mutable:
        return m.state(std::move(spec), bytes);
      case ManifestTensor::Role::Plain:
        break;
    }
    return m.tensor(std::move(spec));
  }

  [[nodiscard]] std::vector<ValueHandle> handles_of(const std::vector<ManifestArg>& args) const {
    std::vector<ValueHandle> handles;
    handles.reserve(args.size());
    for (const ManifestArg& arg : args) handles.push_back(handles_[arg.value]);
    return handles;
  }

  void add_step(MethodBuilder& m, const ManifestStep& step, const std::vector<DelegateHandle>& delegates,
                const std::vector<LabelHandle>& labels) const {
    const std::vector<ValueHandle> args = handles_of(step.args);
    switch (step.kind) {
      case ManifestStep::Kind::Op:
        m.kernel(step.op, args);
        break;
      case ManifestStep::Kind::Delegate:
        m.call(delegates[step.target], args);
        break;
      case ManifestStep::Kind::Move:
        m.move(args[0], args[1]);
        break;
      case ManifestStep::Kind::JumpIfFalse:
        m.jump_if_false(args[0], labels[step.target]);
        break;
      case ManifestStep::Kind::Free:
        m.free(TensorHandle{args[0]});
        break;
      case ManifestStep::Kind::Label:
        m.place(labels[step.target]);
        break;
    }
  }

  // ---- errors -----------------------------------------------------------------------------------------------------

  /// What the builder or the reader says, at the place of the manifest that it means.
  [[nodiscard]] Error located(const Error& error) const {
    const ErrorSite& site = error.site();
    if (const auto data = data_.find(site.key); data != data_.end()) return data->second.spot->error(error);
    for (std::size_t i = 0; i < manifest_.methods.size(); ++i) {
      if (manifest_.methods[i].name == site.method) return spot_of(site, i).error(error);
    }
    return manifest_.methods.front().spot.error(error);
  }

  [[nodiscard]] const ManifestSpot& spot_of(const ErrorSite& site, std::size_t method) const {
    const MethodSpots& spots = spots_[method];
    const auto at = [](const auto& list, int index) {
      return index >= 0 && static_cast<std::size_t>(index) < list.size() ? &list[static_cast<std::size_t>(index)]
                                                                         : nullptr;
    };
    if (const auto* step = at(spots.steps, site.instruction)) {
      const ManifestArg* arg = at((*step)->args, site.argument);
      return arg != nullptr ? arg->spot : (*step)->spot;
    }
    if (const auto* value = at(spots.values, site.value)) return **value;
    return manifest_.methods[method].spot;
  }

  Status read_back() const {
    std::vector<std::span<const std::byte>> data;
    if (!out_.files.ptd.empty()) data.emplace_back(out_.files.ptd);
    const auto program = Program::from_bytes(out_.files.pte, data, "the packed program");
    if (!program.ok()) return located(program.error());
    for (const ManifestMethod& method : manifest_.methods) {
      Status checked = check_operators(**program, method.name);
      if (!checked.ok()) return located(std::move(checked).error().with_method(method.name));
    }
    return {};
  }

  struct KnownData {
    std::vector<std::byte> bytes{};
    const ManifestSpot* spot = nullptr;
  };

  const Manifest& manifest_;
  const ReadFile& files_;
  ProgramBuilder program_{};
  PackedProgram out_{};
  StateMemory memory_{};
  std::vector<ValueHandle> handles_{};  // of the method under way
  std::vector<MethodSpots> spots_{};    // by method
  std::map<std::string, KnownData, std::less<>> data_{};
  std::map<std::size_t, const ManifestTensor*> data_users_{};  // the first tensor that names the data
};

}  // namespace

Result<PackedProgram> pack(const Manifest& manifest, const ReadFile& files) { return Packer{manifest, files}.run(); }

}  // namespace tandem::cli
