#include "bench/suite/model.h"

#include "bench/suite/plan_backend.h"

#include <algorithm>
#include <utility>

namespace tandem::suite {

std::size_t ModelValue::row_bytes() const {
  std::size_t bytes = item_bytes(dtype);
  for (std::size_t d = 1; d < sizes.size(); ++d) bytes *= static_cast<std::size_t>(sizes[d]);
  return bytes;
}

std::size_t ModelValue::bytes() const { return row_bytes() * static_cast<std::size_t>(sizes.front()); }

std::size_t Model::add(ModelValue value) {
  values_.push_back(std::move(value));
  return values_.size() - 1;
}

void Model::call(std::vector<KernelSpec> kernels, std::vector<std::size_t> arguments, std::vector<float> weights,
                 std::size_t scratch_floats) {
  Plan plan{.kernels = std::move(kernels), .weights = std::move(weights), .scratch_floats = scratch_floats};
  for (const std::size_t value : arguments) {
    plan.accesses.push_back(values_[value].role == ModelValue::Role::State ? AccessMode::Update : AccessMode::Read);
  }
  plan.accesses.back() = AccessMode::Write;
  calls_.push_back({std::move(plan), std::move(arguments)});
}

std::vector<std::size_t> Model::of_role(ModelValue::Role role) const {
  std::vector<std::size_t> found;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].role == role) found.push_back(v);
  }
  return found;
}

Result<std::shared_ptr<const BuiltProgram>> write_program(const Model& model, DeviceId device) {
  ProgramBuilder program;
  MethodBuilder& forward = program.method("forward");
  std::vector<TensorHandle> handles;
  for (const ModelValue& value : model.values()) {
    TensorSpec spec{.sizes = value.sizes, .dtype = value.dtype, .dynamic = value.dynamic};
    if (!value.on_host) spec.device = device;
    handles.push_back(value.role == ModelValue::Role::State ? forward.state(std::move(spec))
                                                            : forward.tensor(std::move(spec)));
  }
  for (const ModelCall& call : model.calls()) {
    const std::vector<std::byte> payload = write_plan(call.plan);
    const DelegateHandle delegate = forward.delegate({.id = kBackendId, .payload = payload});
    std::vector<ValueHandle> arguments;
    for (const std::size_t value : call.arguments) arguments.push_back(handles[value]);
    forward.call(delegate, arguments);
  }
  std::vector<ValueHandle> inputs;
  for (const std::size_t value : model.inputs()) inputs.push_back(handles[value]);
  forward.inputs(inputs).outputs({handles[model.output()]});
  TANDEM_TRY(BuiltProgram built, program.build());
  return std::make_shared<const BuiltProgram>(std::move(built));
}

Result<std::shared_ptr<const Program>> read_program(std::shared_ptr<const BuiltProgram> file) {
  struct Both {
    std::shared_ptr<const BuiltProgram> file{};
    std::shared_ptr<const Program> program{};  // goes first
  };
  const auto both = std::make_shared<Both>();
  both->file = std::move(file);
  TANDEM_TRY(both->program, Program::from_bytes(both->file->pte));
  return std::shared_ptr<const Program>{both, both->program.get()};
}

KernelSpec exact_kernel(std::int64_t width, std::int32_t repeats, float amount) {
  KernelSpec spec;
  spec.call.columns = width;
  spec.call.blocks = 4;
  spec.call.repeats = repeats | 1;
  spec.call.scale = -1;
  spec.call.amount = amount;
  spec.in[0] = argument(0);
  spec.out = argument(1);
  return spec;
}

Model chain_of(int links, std::int32_t repeats, float amount) {
  constexpr std::int64_t kWidth = 512;
  Model model;
  std::size_t last = model.add({.role = ModelValue::Role::Input, .sizes = {1, kWidth}});
  for (int i = 0; i < links; ++i) {
    const auto role = i + 1 == links ? ModelValue::Role::Output : ModelValue::Role::Between;
    const std::size_t next = model.add({.role = role, .sizes = {1, kWidth}});
    model.call({exact_kernel(kWidth, repeats, amount + static_cast<float>(i * i))}, {last, next});
    last = next;
  }
  return model;
}

std::vector<float> some_floats(std::size_t count, std::uint32_t salt) {
  std::vector<float> floats(count);
  std::uint32_t state = 2654435761U * (salt + 1);
  for (float& number : floats) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<std::int32_t>(state >> 24U) - 128) / 256;
  }
  return floats;
}

}  // namespace tandem::suite
