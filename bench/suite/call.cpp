#include "bench/suite/call.h"

#include "bench/suite/host_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::suite {
namespace {

/// Of one call: what is dynamic has `rows`.
std::size_t bytes_of(const ModelValue& value, std::int64_t rows) {
  return value.dynamic && rows != 0 ? value.row_bytes() * static_cast<std::size_t>(rows) : value.bytes();
}

std::vector<std::int64_t> sizes_of(const ModelValue& value, std::int64_t rows) {
  std::vector<std::int64_t> sizes = value.sizes;
  if (value.dynamic && rows != 0) sizes.front() = rows;
  return sizes;
}

/// Whether callers have inputs and output on the host, though the method runs elsewhere.
bool is_from_host(const Machine& machine, const Model& model) {
  return !machine.is_host() && model.values()[model.output()].on_host;
}

Result<Tensor> tensor_of(Machine& machine, const ModelValue& value, std::span<const std::int64_t> sizes) {
  if (value.on_host || machine.is_host()) return Tensor::empty(value.dtype, sizes);
  TANDEM_TRY(auto memory, machine.allocate(value.bytes()));
  void* const data = memory.get();
  return Tensor::from_blob(
      data, value.dtype, sizes, {}, [memory = std::move(memory)] {}, machine.device());
}

}  // namespace

Result<Bytes> Call::result() {
  TANDEM_CHECK_OK(spoil());
  TANDEM_CHECK_OK(enqueue());
  if (!waits_by_itself()) TANDEM_CHECK_OK(wait());
  return read();
}

Way way_of(std::string name, std::shared_ptr<Call> call, std::string against, Goal goal) {
  Way way;
  way.name = std::move(name);
  way.enqueue = [call] { return call->enqueue(); };
  if (!call->waits_by_itself()) way.wait = [call] { return call->wait(); };
  way.result = [call] { return call->result(); };
  way.calls = call->executions();
  way.against = std::move(against);
  way.goal = goal;
  return way;
}

Inputs some_inputs(const Model& model, std::uint32_t salt, std::int64_t rows) {
  Inputs inputs;
  for (const std::size_t value : model.inputs()) {
    Bytes& bytes = inputs.emplace_back(bytes_of(model.values()[value], rows));
    if (model.values()[value].dtype != ScalarType::Float) continue;
    const std::vector<float> floats = some_floats(bytes.size() / sizeof(float), salt);
    std::memcpy(bytes.data(), floats.data(), bytes.size());
  }
  return inputs;
}

Result<std::vector<float>> expected_of(const Model& model, const Inputs& inputs, std::int64_t rows) {
  const std::unique_ptr<Machine> host = make_host_machine();
  TANDEM_TRY(RawModel raw, RawModel::create(*host, model));
  const std::vector<std::size_t> values = model.inputs();
  for (std::size_t i = 0; i < values.size(); ++i) TANDEM_CHECK_OK(raw.set(values[i], inputs[i]));
  for (const KernelCall& call : raw.calls(rows)) run_on_host(call);
  const std::size_t output = model.output();
  std::vector<float> floats(bytes_of(model.values()[output], rows) / sizeof(float));
  std::memcpy(floats.data(), raw.memory(output), floats.size() * sizeof(float));
  return floats;
}

// ---- Tandem ---------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<TandemCall>> TandemCall::create(Machine& machine, std::shared_ptr<LoadedMethod> method,
                                                       const CallSpec& spec, const Stream* stream) {
  std::shared_ptr<TandemCall> made{new TandemCall{machine}};
  made->method_ = std::move(method);
  const std::vector<std::size_t> inputs = spec.model.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelValue& value = spec.model.values()[inputs[i]];
    TANDEM_TRY(Tensor tensor, tensor_of(machine, value, sizes_of(value, spec.rows)));
    if (tensor.device() == DeviceId{}) {
      std::memcpy(tensor.data(), spec.inputs[i].data(), spec.inputs[i].size());
    } else {
      TANDEM_CHECK_OK(machine.copy_now(tensor.data(), spec.inputs[i].data(), spec.inputs[i].size()));
    }
    made->inputs_.emplace_back(std::move(tensor));
  }
  const ModelValue& output = spec.model.values()[spec.model.output()];
  made->output_bytes_ = bytes_of(output, spec.rows);
  made->waits_ = machine.is_host() || is_from_host(machine, spec.model);
  made->outputs_.resize(1);
  if (!is_from_host(machine, spec.model)) {
    // The upper bound's bytes, or Tandem would have to copy.
    TANDEM_TRY(Tensor bound, tensor_of(machine, output, output.sizes));
    made->bound_.push_back(std::move(bound));
  }
  if (stream != nullptr) made->stream_ = stream->ref();
  return made;
}

ExecuteOptions TandemCall::options() const {
  ExecuteOptions options;
  options.outputs = bound_;
  options.stream = stream_;
  return options;
}

Status TandemCall::enqueue() {
  if (waits_) return method_->execute_into(inputs_, outputs_, options());
  TANDEM_TRY(last_, method_->execute_async(inputs_, options()));
  return {};
}

Status TandemCall::wait() {
  TANDEM_CHECK_OK(last_->done().synchronize());
  last_.reset();
  return {};
}

Status TandemCall::spoil() {
  const Bytes nothing = spoiled(output_bytes_);
  if (!bound_.empty()) return machine_.copy_now(bound_.front().data(), nothing.data(), nothing.size());
  if (outputs_.front().is_tensor()) {
    std::memcpy(outputs_.front().tensor().data(), nothing.data(), nothing.size());
    outputs_.front() = {};  // so that the next call may get the same memory
  }
  return {};
}

Result<Bytes> TandemCall::read() {
  Bytes bytes(output_bytes_);
  if (!bound_.empty()) {
    TANDEM_CHECK_OK(machine_.copy_now(bytes.data(), bound_.front().data(), bytes.size()));
  } else {
    std::memcpy(bytes.data(), outputs_.front().tensor().data(), bytes.size());
  }
  return bytes;
}

// ---- raw ------------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<RawCall>> RawCall::create(Machine& machine, std::shared_ptr<RawStream> stream,
                                                 std::shared_ptr<RawModel> raw, RawKind kind, const CallSpec& spec,
                                                 std::size_t mark) {
  std::shared_ptr<RawCall> made{new RawCall};
  made->stream_ = std::move(stream);
  made->raw_ = std::move(raw);
  made->mark_ = mark;
  made->output_ = spec.model.output();
  made->output_bytes_ = bytes_of(spec.model.values()[made->output_], spec.rows);
  made->waits_ = machine.is_host() || is_from_host(machine, spec.model);
  if (kind == RawKind::Launches) {
    made->calls_ = made->raw_->calls(spec.rows);
  } else {
    const std::vector<RawNode> nodes =
        kind == RawKind::Graph ? RawModel::chain(made->raw_->calls(spec.rows)) : made->raw_->nodes(spec.rows);
    TANDEM_TRY(made->graph_, made->stream_->make_graph(nodes));
  }
  const std::vector<std::size_t> inputs = spec.model.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TANDEM_CHECK_OK(made->raw_->set(inputs[i], spec.inputs[i]));
    if (!is_from_host(machine, spec.model) && !spec.brings_inputs) continue;
    HostCopy& copy = made->uploads_.emplace_back();
    TANDEM_TRY(copy.staging, machine.allocate_staging(spec.inputs[i].size()));
    std::memcpy(copy.staging.get(), spec.inputs[i].data(), spec.inputs[i].size());
    copy.to = made->raw_->memory(inputs[i]);
    copy.from = copy.staging.get();
    copy.bytes = spec.inputs[i].size();
  }
  if (is_from_host(machine, spec.model)) {
    HostCopy& copy = made->download_.emplace();
    TANDEM_TRY(copy.staging, machine.allocate_staging(made->output_bytes_));
    copy.to = copy.staging.get();
    copy.from = made->raw_->memory(made->output_);
    copy.bytes = made->output_bytes_;
  }
  return made;
}

Result<std::shared_ptr<RawCall>> RawCall::create(Machine& machine, RawKind kind, const CallSpec& spec) {
  TANDEM_TRY(std::unique_ptr<RawStream> stream, machine.make_raw_stream());
  TANDEM_TRY(RawModel raw, RawModel::create(machine, spec.model));
  return create(machine, std::move(stream), std::make_shared<RawModel>(std::move(raw)), kind, spec);
}

Status RawCall::enqueue() {
  for (const HostCopy& copy : uploads_) TANDEM_CHECK_OK(stream_->copy(copy.to, copy.from, copy.bytes));
  TANDEM_CHECK_OK(graph_ != nullptr ? stream_->launch(*graph_) : stream_->launch(calls_));
  if (download_) TANDEM_CHECK_OK(stream_->copy(download_->to, download_->from, download_->bytes));
  TANDEM_CHECK_OK(stream_->record(mark_));
  return waits_ ? stream_->wait(mark_) : Status{};
}

Status RawCall::spoil() {
  if (download_) std::memcpy(download_->to, spoiled(output_bytes_).data(), output_bytes_);
  return raw_->spoil_output();
}

Result<Bytes> RawCall::read() {
  if (!download_) return raw_->get(output_, output_bytes_);
  const auto* const bytes = static_cast<const std::byte*>(download_->to);
  return Bytes(bytes, bytes + output_bytes_);
}

}  // namespace tandem::suite
