#include "support/cuda_program.h"

#include "backends/aoti/cuda_backend.h"
#include "format/pte/pte.h"

#include <tandem/tensor.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

namespace tandem::testing {

/// A delegate's call, or the copy of a value to another.
struct CudaMethod::Call {
  std::unique_ptr<DelegateContext> context{};
  std::vector<std::size_t> values{};
  std::vector<Argument*> arguments{};
  std::vector<OutputResult> results{};
  std::vector<std::vector<std::int64_t>> bound{};
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  bool bind = true;
};

CudaMethod::CudaMethod(const aoti::CudaFunctions& functions, device::Stream& stream,
                       std::shared_ptr<const Program> program, std::size_t method)
    : functions_{functions}, stream_{stream}, program_{std::move(program)}, method_{method}, status_{load()} {}

CudaMethod::~CudaMethod() {
  ignore(check(functions_.stream_synchronize(functions_.native(stream_)), "wait"), "the memory goes anyway");
  calls_.clear();
  delegates_.clear();
  for (void* data : memory_) functions_.free(data);
}

Status CudaMethod::check(cudaError_t code, const char* what) const {
  return code == cudaSuccess ? Status{} : Status{functions_.error(code, what)};
}

void* CudaMethod::allocate(std::size_t bytes) {
  void* data = nullptr;
  if (functions_.allocate(&data, std::max<std::size_t>(bytes, 1)) != cudaSuccess) return nullptr;
  memory_.push_back(data);
  return data;
}

Status CudaMethod::load() {
  TANDEM_TRY(aoti::CudaGpu* const gpu, aoti::CudaGpu::find(functions_, 0));
  current_.emplace(*gpu);
  TANDEM_CHECK_OK(allocate_values());
  return load_calls();
}

Status CudaMethod::allocate_values() {
  for (const format::ValueSpec& spec : program_->file().methods[method_].values) {
    ArgumentMemory& memory = *values_.emplace_back(std::make_unique<ArgumentMemory>());
    if (std::holds_alternative<std::int64_t>(spec)) memory.argument.kind = Argument::Kind::Int;
    const auto* tensor = std::get_if<format::Tensor>(&spec);
    if (tensor == nullptr) continue;
    memory.make_tensor(tensor->dtype, tensor->sizes, tensor->dim_order);
    memory.dynamic = tensor->dynamism != format::ShapeDynamism::Static;
    memory.argument.tensor.data = allocate(memory.argument.tensor.capacity_bytes);
    if (memory.argument.tensor.data == nullptr) return Error{ErrorCode::OutOfMemory, "a value"};
  }
  return {};
}

Status CudaMethod::load_calls() {
  const format::Method& method = program_->file().methods[method_];
  const auto backend = aoti::make_cuda_backend(functions_);
  for (const format::Instruction& instruction : method.chains.at(0).instructions) {
    auto call = std::make_unique<Call>();
    if (const auto* kernel = std::get_if<format::KernelCall>(&instruction); kernel != nullptr) {
      if (method.operators[kernel->op].name.starts_with("et_copy::")) {
        call->values = {static_cast<std::size_t>(kernel->args.front()), static_cast<std::size_t>(kernel->args.back())};
      }
      calls_.push_back(std::move(call));
      continue;
    }
    const auto* step = std::get_if<format::DelegateCall>(&instruction);
    if (step == nullptr) continue;
    std::vector<ArgumentSpec> specs;
    for (const std::int32_t id : step->args) {
      ArgumentMemory& memory = *values_.at(static_cast<std::size_t>(id));
      call->values.push_back(static_cast<std::size_t>(id));
      call->arguments.push_back(&memory.argument);
      specs.push_back({memory.argument.kind, memory.argument.tensor.dtype, memory.sizes, memory.dim_order,
                       memory.dynamic, nullptr, 0, nullptr});
    }
    const format::Delegate& delegate = method.delegates[step->delegate];
    std::vector<tandem::CompileSpec> compile_specs;
    for (const format::CompileSpec& spec : delegate.compile_specs) compile_specs.push_back({spec.key, spec.value});
    LoadContext context;
    context.backend_id = delegate.id;
    context.method = method.name;
    context.delegate = static_cast<int>(step->delegate);
    context.device = {DeviceType::Cuda, 0};
    context.arguments = specs;
    context.compile_specs = compile_specs;
    context.named_data = &program_->named_data();
    TANDEM_TRY(auto prepared, backend->prepare(delegate.payload, context));
    std::vector<std::byte*> buffers;
    for (const MutableBuffer& buffer : prepared->buffers()) {
      if (buffer.on_host) {
        auto& memory = host_memory_.emplace_back(std::make_unique<std::byte[]>(buffer.initial.size()));
        std::ranges::copy(buffer.initial, memory.get());
        buffers.push_back(memory.get());
        continue;
      }
      buffers.push_back(static_cast<std::byte*>(allocate(buffer.initial.size())));
      if (buffers.back() == nullptr) return Error{ErrorCode::OutOfMemory, "a buffer"};
      TANDEM_CHECK_OK(functions_.upload(0, buffers.back(), buffer.initial));
    }
    TANDEM_TRY(call->context, prepared->new_context_on(buffers));
    call->results.resize(prepared->output_count());
    delegates_.push_back(std::move(prepared));
    calls_.push_back(std::move(call));
  }
  return {};
}

Status CudaMethod::call(Call& call) {
  const cudaStream_t stream = functions_.native(stream_);
  if (call.context == nullptr && call.values.empty()) return Error{ErrorCode::NotSupported, "an operator"};
  if (call.context == nullptr) {
    const ArgumentMemory& from = *values_[call.values[0]];
    ArgumentMemory& to = *values_[call.values[1]];
    to.resize(from.sizes);
    return check(functions_.copy(to.argument.tensor.data, from.argument.tensor.data, from.argument.tensor.nbytes(),
                                 cudaMemcpyDeviceToDevice, stream),
                 "copy");
  }
  std::vector<std::vector<std::int64_t>> sizes;
  for (std::size_t i = 0; i + call.results.size() < call.values.size(); ++i) {
    sizes.push_back(values_[call.values[i]]->sizes);
  }
  if (std::exchange(call.bind, false) || sizes != call.bound) {
    call.bound = sizes;
    const std::vector<const Argument*> arguments{call.arguments.begin(), call.arguments.end()};
    TANDEM_TRY(const BoundLayout layout, call.context->bind(arguments));
    if (layout.scratch_bytes > call.scratch_bytes) {
      call.scratch = allocate(layout.scratch_bytes);
      call.scratch_bytes = layout.scratch_bytes;
    }
  }
  EnqueueArgs args{StreamRef{stream_}};
  args.arguments = call.arguments;
  args.outputs = call.results;
  args.scratch = {static_cast<std::byte*>(call.scratch), call.scratch_bytes};
  TANDEM_CHECK_OK(call.context->enqueue(args));
  call.bind = args.rebind;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const OutputResult& result = call.results[i];
    ArgumentMemory& memory = *values_[call.values[call.values.size() - call.results.size() + i]];
    if (result.kind == OutputResult::Kind::Number) memory.argument.integer = result.number;
    if (result.kind == OutputResult::Kind::View && memory.argument.is_tensor()) {
      return Error{ErrorCode::Internal, "the delegate left a result elsewhere"};
    }
    if (memory.argument.is_tensor()) memory.resize({result.sizes, result.rank});
  }
  return {};
}

Status CudaMethod::run(const std::vector<std::vector<std::byte>>& inputs,
                       const std::vector<std::vector<std::int64_t>>& sizes,
                       std::vector<std::vector<std::byte>>& outputs) {
  const format::Method& method = program_->file().methods[method_];
  const cudaStream_t stream = functions_.native(stream_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ArgumentMemory& memory = *values_.at(static_cast<std::size_t>(method.inputs.at(i)));
    if (!memory.argument.is_tensor()) continue;
    memory.resize(sizes[i]);
    TANDEM_CHECK_OK(functions_.upload(0, memory.argument.tensor.data, inputs[i]));
  }
  for (const auto& step : calls_) TANDEM_CHECK_OK(call(*step));
  outputs.clear();
  for (const std::int32_t id : method.outputs) {
    const ArgumentMemory& memory = *values_.at(static_cast<std::size_t>(id));
    std::vector<std::byte>& bytes = outputs.emplace_back();
    if (!memory.argument.is_tensor()) continue;
    bytes.resize(memory.argument.tensor.nbytes());
    TANDEM_CHECK_OK(
        check(functions_.copy(bytes.data(), memory.argument.tensor.data, bytes.size(), cudaMemcpyDeviceToHost, stream),
              "copy"));
  }
  return check(functions_.stream_synchronize(stream), "wait");
}

Result<std::shared_ptr<const Program>> load_program(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> data_files;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() == ".ptd") data_files.push_back(entry.path());
  }
  return Program::load(folder / "program.pte", data_files);
}

}  // namespace tandem::testing
