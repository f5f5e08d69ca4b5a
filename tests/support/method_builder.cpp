#include "support/method_builder.h"

#include "base/checked.h"
#include "base/strided_copy.h"
#include "device/host/host_device.h"
#include "runtime/execute/dispatcher.h"
#include "runtime/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::testing {
namespace {

format::Tensor describe(std::vector<std::int64_t> sizes, bool dynamic, ScalarType dtype) {
  format::Tensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = std::move(sizes);
  tensor.dim_order.resize(tensor.sizes.size());
  std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), std::uint8_t{0});
  tensor.dynamism = dynamic ? format::ShapeDynamism::DynamicBound : format::ShapeDynamism::Static;
  tensor.bytes = *base::checked_bytes(std::span<const std::int64_t>{tensor.sizes}, item_bytes(dtype));
  return tensor;
}

}  // namespace

MethodBuilder::MethodBuilder() {
  format::Method method;
  method.name = "forward";
  method.chains.emplace_back();
  method.arenas.resize(3);
  for (format::Arena& arena : method.arenas) arena.bytes = 1 << 16;
  program.methods.push_back(std::move(method));
}

std::int32_t MethodBuilder::add(format::ValueSpec value) {
  method().values.push_back(std::move(value));
  return static_cast<std::int32_t>(method().values.size() - 1);
}

std::int32_t MethodBuilder::tensor(std::vector<std::int64_t> sizes, std::int64_t offset, bool dynamic, ScalarType dtype,
                                   std::uint32_t memory_id) {
  format::Tensor tensor = describe(std::move(sizes), dynamic, dtype);
  if (offset != kUnplanned) tensor.allocation = {memory_id, static_cast<std::uint64_t>(offset)};
  return add(std::move(tensor));
}

std::int32_t MethodBuilder::constant(const std::vector<float>& values) {
  format::Tensor tensor = describe({static_cast<std::int64_t>(values.size())}, false, ScalarType::Float);
  tensor.source = format::DataSource::Constant;
  tensor.data = std::as_bytes(std::span{floats_.emplace_back(values)});
  return add(std::move(tensor));
}

std::int32_t MethodBuilder::state(std::vector<std::int64_t> sizes, std::int64_t offset,
                                  const std::vector<float>& initial, std::uint32_t memory_id) {
  format::Tensor tensor = describe(std::move(sizes), false, ScalarType::Float);
  tensor.allocation = {memory_id, static_cast<std::uint64_t>(offset)};
  tensor.source = format::DataSource::Initial;
  tensor.data = std::as_bytes(std::span{floats_.emplace_back(initial)});
  return add(std::move(tensor));
}

std::int32_t MethodBuilder::number(std::int64_t value) { return add(value); }
std::int32_t MethodBuilder::flag(bool value) { return add(value); }
std::int32_t MethodBuilder::numbers(std::vector<std::int32_t> items) { return add(format::IntList{std::move(items)}); }
std::int32_t MethodBuilder::tensors(std::vector<std::int32_t> items) {
  return add(format::TensorList{std::move(items)});
}

MethodBuilder& MethodBuilder::inputs(std::vector<std::int32_t> values) {
  method().inputs = std::move(values);
  return *this;
}
MethodBuilder& MethodBuilder::outputs(std::vector<std::int32_t> values) {
  method().outputs = std::move(values);
  return *this;
}

MethodBuilder& MethodBuilder::instruction(format::Instruction instruction) {
  method().chains.back().instructions.push_back(std::move(instruction));
  return *this;
}

std::string_view MethodBuilder::keep(std::string text) { return texts_.emplace_back(std::move(text)); }

MethodBuilder& MethodBuilder::kernel(const std::string& name, std::vector<std::int32_t> args) {
  const std::size_t dot = name.find('.');
  const std::string_view kept = keep(name);
  method().operators.push_back(
      {kept.substr(0, dot), dot == std::string::npos ? std::string_view{} : kept.substr(dot + 1)});
  return instruction(format::KernelCall{static_cast<std::uint32_t>(method().operators.size() - 1), std::move(args)});
}

MethodBuilder& MethodBuilder::delegate(const std::string& id, std::vector<std::int32_t> args) {
  method().delegates.push_back({.id = keep(id)});
  return call(static_cast<std::uint32_t>(method().delegates.size() - 1), std::move(args));
}

MethodBuilder& MethodBuilder::call(std::uint32_t index, std::vector<std::int32_t> args) {
  return instruction(format::DelegateCall{index, std::move(args)});
}
MethodBuilder& MethodBuilder::move(std::int32_t from, std::int32_t to) {
  return instruction(format::MoveCall{from, to});
}
MethodBuilder& MethodBuilder::jump_if_false(std::int32_t condition, std::uint32_t destination) {
  return instruction(format::JumpFalseCall{condition, destination});
}
MethodBuilder& MethodBuilder::free(std::int32_t value) { return instruction(format::FreeCall{value}); }
MethodBuilder& MethodBuilder::next_chain() {
  method().chains.emplace_back();
  return *this;
}

runtime::LowerInput MethodBuilder::lower_input() {
  return {.file = program,
          .method = method(),
          .data = data,
          .named_data = named_data,
          .operators = runtime::OperatorRegistry::builtin(),
          .backends = backends};
}

struct TestRun::Parts {
  std::shared_ptr<const runtime::Schedule> schedule;
  std::shared_ptr<runtime::Dispatcher> dispatcher;

  Status load(MethodBuilder& builder) {
    TANDEM_TRY(schedule, builder.lower());
    device::Device& device = device::HostDevice::instance();
    std::shared_ptr<runtime::State> state;
    if (runtime::State::is_needed(*schedule)) {
      TANDEM_TRY(state, runtime::State::create(schedule, device, nullptr));
    }
    TANDEM_TRY(dispatcher, runtime::Dispatcher::create(schedule, device, std::move(state), {}));
    return {};
  }
};

TestRun::TestRun(MethodBuilder& builder) : parts_{std::make_unique<Parts>()}, loaded_{parts_->load(builder)} {}
TestRun::~TestRun() = default;

const runtime::Schedule& TestRun::schedule() const { return *parts_->schedule; }

Result<std::vector<Value>> TestRun::run(const std::vector<Value>& inputs, const std::vector<Tensor>& bound) {
  std::vector<Value> values(parts_->schedule->outputs.size());
  TANDEM_CHECK_OK(run_into(inputs, values, bound));
  return values;
}

Status TestRun::run_into(const std::vector<Value>& inputs, std::vector<Value>& outputs,
                         const std::vector<Tensor>& bound) {
  ExecuteOptions options;
  options.outputs = bound;
  return parts_->dispatcher->execute(inputs, outputs, options);
}

std::vector<float> TestRun::floats(const std::vector<Value>& inputs, std::size_t index) {
  const auto values = run(inputs);
  EXPECT_TRUE(values.ok()) << values.error().to_string();
  return values.ok() ? to_floats((*values)[index]) : std::vector<float>{};
}

Value floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  auto tensor = Tensor::empty(ScalarType::Float, sizes);
  EXPECT_TRUE(tensor.ok());
  EXPECT_EQ(static_cast<std::size_t>(tensor->numel()), values.size());
  std::copy(values.begin(), values.end(), tensor->data_as<float>());
  return *std::move(tensor);
}

std::vector<float> to_floats(const Value& value) {
  const Tensor& tensor = value.tensor();
  std::vector<std::uint8_t> order(tensor.rank());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::vector<std::int64_t> strides(tensor.rank());
  strides_from_dim_order(tensor.sizes(), order, strides);
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  base::copy_strided(values.data(), strides, tensor.data(), tensor.strides(), tensor.sizes(), sizeof(float));
  return values;
}

}  // namespace tandem::testing
