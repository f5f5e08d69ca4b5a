#include <tandem/module.h>

#include "base/strided_copy.h"
#include "device/tensor_impl.h"
#include "runtime/execute/inputs.h"
#include "runtime/execute/outputs.h"
#include "runtime/schedule.h"
#include "runtime/state.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace tandem {
namespace {

/// One loaded method and what its callers left for later calls.
struct Loaded {
  std::shared_ptr<Method> method;
  std::mutex mutex;                          // guards the rest
  std::vector<std::optional<Value>> inputs;  // copies of what was set
  std::vector<Tensor> bound;
  std::optional<std::vector<Value>> outputs;

  explicit Loaded(std::shared_ptr<Method> loaded)
      : method{std::move(loaded)}, inputs(method->meta().inputs.size()), bound(method->meta().outputs.size()) {}
};

/// Copies `value` to `kept`: into the memory that is there where it fits and nobody else holds it.
Status keep(std::optional<Value>& kept, const Value& value, std::span<const std::uint8_t> dim_order) {
  if (!value.is_tensor()) {
    kept = value;
    return {};
  }
  const Tensor& tensor = value.tensor();
  if (tensor.device() != DeviceId{}) {  // the host cannot copy it
    kept = value;
    return {};
  }
  const bool reusable = kept && kept->tensor().device() == DeviceId{} && kept->tensor().impl()->unique() &&
                        std::ranges::equal(kept->tensor().sizes(), tensor.sizes());
  if (!reusable) {
    TANDEM_TRY(Tensor fresh, Tensor::empty(tensor.dtype(), tensor.sizes(), dim_order));
    kept = Value{std::move(fresh)};
  }
  const Tensor& copy = kept->tensor();
  base::copy_strided(copy.data(), copy.strides(), tensor.data(), tensor.strides(), tensor.sizes(),
                     item_bytes(tensor.dtype()));
  return {};
}

}  // namespace

struct Module::Impl {
  std::filesystem::path file;
  std::vector<std::filesystem::path> data_files;
  MethodOptions options;
  LoadBackendOptionsMap backend_options;
  std::shared_ptr<runtime::StateStore> states = std::make_shared<runtime::StateStore>();

  mutable std::mutex mutex;  // guards program and methods; held while loading
  std::shared_ptr<const Program> program;
  std::map<std::string, std::shared_ptr<Loaded>, std::less<>> methods;

  Status load_locked() {
    if (program != nullptr) return {};
    TANDEM_TRY(program, Program::load(file, data_files));
    return {};
  }

  Result<std::shared_ptr<Loaded>> obtain(const std::string& name, const LoadBackendOptionsMap* overrides = nullptr) {
    const std::scoped_lock lock{mutex};
    if (const auto found = methods.find(name); found != methods.end()) return found->second;
    TANDEM_CHECK_OK(load_locked());
    MethodOptions load = options;
    load.states = states;
    load.backend_options = overrides != nullptr ? overrides : &backend_options;
    TANDEM_TRY(auto method, Method::load(program, name, load));
    auto loaded = std::make_shared<Loaded>(std::move(method));
    methods.emplace(name, loaded);
    return loaded;
  }

  /// Sets inputs first, first + 1, ...; all or none. Precondition: loaded.mutex is held.
  static Status set_inputs(Loaded& loaded, std::span<const Value> values, std::size_t first) {
    const runtime::Schedule& schedule = loaded.method->schedule();
    if (values.size() > loaded.inputs.size() || first > loaded.inputs.size() - values.size()) {
      return Error{ErrorCode::InvalidArgument, "the method has no such input"}
          .with_expected("less than " + std::to_string(loaded.inputs.size()), std::to_string(first + values.size() - 1))
          .with_method(loaded.method->meta().name);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      TANDEM_CHECK_OK(runtime::check_input(schedule, values[i], first + i));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::span<const std::uint8_t> order = loaded.method->meta().inputs[first + i].tensor.dim_order;
      TANDEM_CHECK_OK(keep(loaded.inputs[first + i], values[i], order));
    }
    return {};
  }
};

Module::Module(std::filesystem::path file, std::vector<std::filesystem::path> data_files, MethodOptions options)
    : impl_{std::make_unique<Impl>()} {
  impl_->file = std::move(file);
  impl_->data_files = std::move(data_files);
  impl_->options = std::move(options);
}

Module::Module(std::shared_ptr<const Program> program, MethodOptions options) : impl_{std::make_unique<Impl>()} {
  impl_->program = std::move(program);
  impl_->options = std::move(options);
}

Module::~Module() = default;

Status Module::load() {
  const std::scoped_lock lock{impl_->mutex};
  return impl_->load_locked();
}

Status Module::load(LoadBackendOptionsMap options) {
  const std::scoped_lock lock{impl_->mutex};
  impl_->backend_options = std::move(options);
  return impl_->load_locked();
}

bool Module::is_loaded() const {
  const std::scoped_lock lock{impl_->mutex};
  return impl_->program != nullptr;
}

std::shared_ptr<const Program> Module::program() const {
  const std::scoped_lock lock{impl_->mutex};
  return impl_->program;
}

Result<std::size_t> Module::num_methods() {
  TANDEM_CHECK_OK(load());
  return program()->method_names().size();
}

Result<std::unordered_set<std::string>> Module::method_names() {
  TANDEM_CHECK_OK(load());
  const std::vector<std::string> names = program()->method_names();
  return std::unordered_set<std::string>{names.begin(), names.end()};
}

Result<MethodMeta> Module::method_meta(const std::string& method) {
  TANDEM_CHECK_OK(load());
  return program()->method_meta(method);
}

Status Module::load_method(const std::string& method, const LoadBackendOptionsMap* options) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method, options));
  return {};
}

bool Module::unload_method(const std::string& method) {
  std::shared_ptr<Loaded> dropped;  // destroyed outside the lock: closing libraries is slow
  const std::scoped_lock lock{impl_->mutex};
  const auto found = impl_->methods.find(method);
  if (found == impl_->methods.end()) return false;
  dropped = std::move(found->second);
  impl_->methods.erase(found);
  return true;
}

bool Module::is_method_loaded(const std::string& method) const {
  const std::scoped_lock lock{impl_->mutex};
  return impl_->methods.contains(method);
}

Result<std::shared_ptr<Method>> Module::method(const std::string& method) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  return loaded->method;
}

Status Module::reset_state(const std::string& method) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  const std::shared_ptr<State> state = loaded->method->state();
  return state != nullptr ? state->reset() : Status{};
}

Result<std::vector<Value>> Module::execute(const std::string& method, const std::vector<Value>& inputs) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  std::vector<Value> values;
  std::vector<Tensor> bound;
  {
    const std::scoped_lock lock{loaded->mutex};
    TANDEM_CHECK_OK(Impl::set_inputs(*loaded, inputs, 0));
    for (std::size_t i = 0; i < loaded->inputs.size(); ++i) {
      if (!loaded->inputs[i]) {
        return Error{ErrorCode::InvalidState, "the input was never set"}
            .with_method(method)
            .with_field("input " + std::to_string(i))
            .with_argument(static_cast<int>(i));
      }
      values.push_back(*loaded->inputs[i]);
    }
    bound = loaded->bound;
  }
  TANDEM_TRY(auto outputs, loaded->method->execute(values, {.outputs = bound}));
  const std::scoped_lock lock{loaded->mutex};
  loaded->outputs = outputs;
  return outputs;
}

Result<std::vector<Value>> Module::execute(const std::string& method, const Value& input) {
  return execute(method, std::vector<Value>{input});
}
Result<std::vector<Value>> Module::forward(const std::vector<Value>& inputs) { return execute("forward", inputs); }
Result<std::vector<Value>> Module::forward(const Value& input) { return execute("forward", input); }

Result<Value> Module::get(const std::string& method, const std::vector<Value>& inputs) {
  TANDEM_TRY(auto outputs, execute(method, inputs));
  if (outputs.empty()) return Error{ErrorCode::InvalidArgument, "the method has no outputs"}.with_method(method);
  return std::move(outputs.front());
}

Status Module::set_input(const std::string& method, const Value& value, std::size_t index) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  const std::scoped_lock lock{loaded->mutex};
  return Impl::set_inputs(*loaded, {&value, 1}, index);
}

Status Module::set_inputs(const std::string& method, const std::vector<Value>& values) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  TANDEM_CHECK_OK(runtime::check_inputs(loaded->method->schedule(), values));
  const std::scoped_lock lock{loaded->mutex};
  return Impl::set_inputs(*loaded, values, 0);
}

Status Module::set_output(const std::string& method, const Tensor& tensor, std::size_t index) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  const std::scoped_lock lock{loaded->mutex};
  if (index >= loaded->bound.size()) {
    return Error{ErrorCode::InvalidArgument, "the method has no such output"}
        .with_expected("less than " + std::to_string(loaded->bound.size()), std::to_string(index))
        .with_method(method)
        .with_argument(static_cast<int>(index));
  }
  std::vector<Tensor> bound = loaded->bound;
  bound[index] = tensor;
  TANDEM_CHECK_OK(runtime::Outputs::check_bound(loaded->method->schedule(), bound));
  loaded->bound = std::move(bound);
  return {};
}

Status Module::set_outputs(const std::string& method, const std::vector<Tensor>& tensors) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  const std::scoped_lock lock{loaded->mutex};
  TANDEM_CHECK_OK(runtime::Outputs::check_bound(loaded->method->schedule(), tensors));
  loaded->bound = tensors;
  loaded->bound.resize(loaded->method->meta().outputs.size());
  return {};
}

Result<std::vector<Value>> Module::get_outputs(const std::string& method) {
  TANDEM_TRY(const auto loaded, impl_->obtain(method));
  const std::scoped_lock lock{loaded->mutex};
  if (!loaded->outputs) return Error{ErrorCode::InvalidState, "the method has not run"}.with_method(method);
  return *loaded->outputs;
}

Result<Value> Module::get_output(const std::string& method, std::size_t index) {
  TANDEM_TRY(auto outputs, get_outputs(method));
  if (index >= outputs.size()) {
    return Error{ErrorCode::InvalidArgument, "the method has no such output"}
        .with_expected("less than " + std::to_string(outputs.size()), std::to_string(index))
        .with_method(method)
        .with_argument(static_cast<int>(index));
  }
  return std::move(outputs[index]);
}

}  // namespace tandem
