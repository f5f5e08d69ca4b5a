#include "support/delegate_runner.h"

#include "base/strided_copy.h"
#include "device/host/host_device.h"
#include "support/context_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace tandem::testing {
namespace {

constexpr std::size_t kAlignment = 64;

std::byte* aligned(std::vector<std::byte>& bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return bytes.data() + (kAlignment - address % kAlignment) % kAlignment;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

double to_double(ScalarType dtype, const void* data) {
  const auto read = [data](auto value) {
    std::memcpy(&value, data, sizeof value);
    return value;
  };
  switch (dtype) {
    case ScalarType::Float:
      return static_cast<double>(read(float{}));
    case ScalarType::Double:
      return read(double{});
    case ScalarType::Long:
      return static_cast<double>(read(std::int64_t{}));
    case ScalarType::Int:
      return read(std::int32_t{});
    case ScalarType::Short:
      return read(std::int16_t{});
    case ScalarType::Char:
      return read(std::int8_t{});
    case ScalarType::Byte:
    case ScalarType::Bool:
      return read(std::uint8_t{});
    case ScalarType::BFloat16: {
      const std::uint32_t bits = std::uint32_t{read(std::uint16_t{})} << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<double>(value);
    }
    case ScalarType::Half: {
      const unsigned bits = read(std::uint16_t{});
      const int exponent = static_cast<int>((bits >> 10) & 31U);
      const int fraction = static_cast<int>(bits & 1023U);
      const double value = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(fraction + 1024, exponent - 25);
      return (bits & 0x8000U) != 0 ? -value : value;
    }
    default:
      ADD_FAILURE() << "no comparison for " << name_of(dtype);
      return 0;
  }
}

}  // namespace

void ArgumentMemory::make_tensor(ScalarType dtype, std::vector<std::int64_t> bounds, std::vector<std::uint8_t> order) {
  sizes = std::move(bounds);
  strides.resize(sizes.size());
  dim_order = std::move(order);
  if (dim_order.empty()) {
    dim_order.resize(sizes.size());
    std::iota(dim_order.begin(), dim_order.end(), std::uint8_t{0});
  }
  argument.kind = Argument::Kind::Tensor;
  TensorArg& tensor = argument.tensor;
  tensor.dtype = dtype;
  tensor.rank = static_cast<std::uint8_t>(sizes.size());
  tensor.sizes = sizes.data();
  tensor.strides = strides.data();
  tensor.dim_order = dim_order.data();
  tensor.capacity_bytes = tensor.nbytes();
  bytes.resize(tensor.capacity_bytes + kAlignment);
  tensor.data = aligned(bytes);
  strides_from_dim_order(sizes, dim_order, strides);
}

void ArgumentMemory::resize(std::span<const std::int64_t> to) {
  ASSERT_EQ(to.size(), sizes.size());
  std::copy(to.begin(), to.end(), sizes.begin());
  strides_from_dim_order(sizes, dim_order, strides);
  ASSERT_LE(argument.tensor.nbytes(), argument.tensor.capacity_bytes);
}

DelegateRunner::DelegateRunner(std::unique_ptr<DelegateContext> context, std::vector<ArgumentMemory*> arguments,
                               std::size_t output_count)
    : context_{std::move(context)}, memory_{std::move(arguments)}, results_(output_count), bound_(memory_.size()) {
  for (ArgumentMemory* memory : memory_) arguments_.push_back(&memory->argument);
}

Status DelegateRunner::bind_if_needed() {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (i < memory_.size() - results_.size() && bound_[i] != memory_[i]->sizes) bind_ = true;
  }
  if (!bind_) return {};
  for (std::size_t i = 0; i < memory_.size(); ++i) bound_[i] = memory_[i]->sizes;
  const std::vector<const Argument*> arguments{arguments_.begin(), arguments_.end()};
  TANDEM_TRY(const BoundLayout layout, context_->bind(arguments));
  scratch_.assign(layout.scratch_bytes == 0 ? 0 : layout.scratch_bytes + kAlignment, std::byte{0xA5});
  bind_ = false;
  return {};
}

EnqueueArgs DelegateRunner::enqueue_args() {
  EnqueueArgs args{StreamRef{device::HostDevice::instance().thread_stream()}};
  args.arguments = arguments_;
  args.outputs = results_;
  if (!scratch_.empty()) args.scratch = {aligned(scratch_), scratch_.size() - kAlignment};
  return args;
}

Status DelegateRunner::record(Recorder& recorder, bool is_captured) {
  TANDEM_CHECK_OK(bind_if_needed());
  EnqueueArgs args = enqueue_args();
  args.recorder = &recorder;
  args.is_captured = is_captured;
  return context_->enqueue(args);
}

Status DelegateRunner::run() {
  TANDEM_CHECK_OK(bind_if_needed());
  EnqueueArgs args = enqueue_args();
  TANDEM_CHECK_OK(context_->enqueue(args));
  bind_ = args.rebind;
  for (std::size_t i = 0; i < results_.size(); ++i) take(results_[i], *memory_[memory_.size() - results_.size() + i]);
  return {};
}

void DelegateRunner::take(const OutputResult& result, ArgumentMemory& memory) {
  if (result.kind == OutputResult::Kind::Number) {
    memory.argument.integer = result.number;
    memory.argument.number = result.real;
    memory.argument.flag = result.number != 0;
    return;
  }
  if (!memory.argument.is_tensor()) return;
  ASSERT_EQ(result.dtype, memory.argument.tensor.dtype);
  if (result.sizes != nullptr) memory.resize({result.sizes, result.rank});
  if (result.kind == OutputResult::Kind::InPlace) return;
  base::copy_strided(memory.argument.tensor.data, memory.strides, result.data, {result.strides, result.rank},
                     memory.sizes, item_bytes(result.dtype));
}

FixtureMethod::FixtureMethod(const FixtureFolder& folder, std::string_view method, const Backend& backend) {
  const auto& plan = folder.plan(method);
  for (const auto& spec : plan.at("values")) {
    auto& value = values_.emplace_back(std::make_unique<ArgumentMemory>());
    const std::string type = spec.at("type");
    if (type == "Tensor") {
      value->make_tensor(static_cast<ScalarType>(spec.at("scalar_type").at("number").get<int>()), spec.at("sizes"),
                         spec.at("dim_order"));
      value->dynamic = spec.at("shape_dynamism").at("number") != 0;
    } else if (type == "Int") {
      value->argument.kind = Argument::Kind::Int;
    }
  }
  input_ids_ = plan.at("inputs").get<std::vector<std::size_t>>();
  output_ids_ = plan.at("outputs").get<std::vector<std::size_t>>();
  std::vector<std::vector<std::size_t>> arguments_of(plan.at("delegates").size());
  for (const auto& chain : plan.at("chains")) {
    for (const auto& instruction : chain.at("instructions")) {
      if (instruction.at("type") != "DelegateCall") {
        ADD_FAILURE() << "not a delegate call: " << instruction.dump();
        continue;
      }
      calls_.push_back(instruction.at("delegate_index"));
      arguments_of[calls_.back()] = instruction.at("args").get<std::vector<std::size_t>>();
    }
  }
  const std::vector<std::string> payloads = folder.payloads(method);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    std::vector<ArgumentMemory*> arguments;
    std::vector<ArgumentSpec> specs;
    for (const std::size_t id : arguments_of[i]) {
      ArgumentMemory& memory = *values_[id];
      arguments.push_back(&memory);
      specs.push_back({memory.argument.kind, memory.argument.tensor.dtype, memory.sizes, memory.dim_order,
                       memory.dynamic, nullptr, 0, nullptr});
    }
    LoadContext context;
    context.method = method;
    context.delegate = static_cast<int>(i);
    context.arguments = specs;
    context.named_data = &folder;
    load(payloads[i], context, backend, std::move(arguments));
  }
}

void FixtureMethod::load(const std::string& payload, const LoadContext& context, const Backend& backend,
                         std::vector<ArgumentMemory*> arguments) {
  auto delegate = backend.prepare(std::as_bytes(std::span{payload}), context);
  ASSERT_TRUE(delegate.ok()) << delegate.error().to_string();
  auto instance = ContextWithMemory::create(**delegate);
  ASSERT_TRUE(instance.ok()) << instance.error().to_string();
  runners_.push_back(std::make_unique<DelegateRunner>(std::move(*instance), arguments, (*delegate)->output_count()));
  delegates_.push_back(std::move(*delegate));
}

void FixtureMethod::set_input(std::size_t index, const FixtureValue& value) {
  ArgumentMemory& memory = *values_.at(input_ids_.at(index));
  if (value.kind == Argument::Kind::Tensor) {
    memory.resize(value.sizes);
    base::copy_strided(memory.argument.tensor.data, memory.strides, value.bytes.data(), contiguous_strides(value.sizes),
                       memory.sizes, item_bytes(value.dtype));
  } else {
    memory.argument.integer = value.integer;
    memory.argument.number = value.number;
    memory.argument.flag = value.flag;
  }
}

Status FixtureMethod::run() {
  for (const std::size_t call : calls_) TANDEM_CHECK_OK(runners_[call]->run());
  return {};
}

double element(const ArgumentMemory& memory, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t d = memory.sizes.size(); d-- > 0;) {
    offset += index % memory.sizes[d] * memory.strides[d];
    index /= memory.sizes[d];
  }
  const std::size_t item = item_bytes(memory.argument.tensor.dtype);
  return to_double(memory.argument.tensor.dtype, static_cast<const std::byte*>(memory.argument.tensor.data) +
                                                     offset * static_cast<std::int64_t>(item));
}

namespace {

/// Call `index` of an array whose first axis counts calls.
FixtureValue slice(const FixtureValue& value, std::size_t index) {
  FixtureValue part = value;
  part.sizes.erase(part.sizes.begin());
  const std::size_t bytes = value.bytes.size() / static_cast<std::size_t>(value.sizes.at(0));
  part.bytes.assign(value.bytes.begin() + static_cast<std::ptrdiff_t>(index * bytes),
                    value.bytes.begin() + static_cast<std::ptrdiff_t>((index + 1) * bytes));
  return part;
}

void compare(const ArgumentMemory& found, const FixtureValue& expected, double rtol, double atol,
             const std::string& where) {
  ASSERT_EQ(found.sizes, expected.sizes) << where;
  const std::size_t item = item_bytes(expected.dtype);
  int differences = 0;
  for (std::size_t i = 0; i < expected.bytes.size() / item && differences < 3; ++i) {
    const double want = to_double(expected.dtype, expected.bytes.data() + i * item);
    const double got = element(found, static_cast<std::int64_t>(i));
    const bool equal =
        got == want || (std::isnan(got) && std::isnan(want)) || std::fabs(got - want) <= atol + rtol * std::fabs(want);
    if (equal) continue;
    ++differences;
    ADD_FAILURE() << where << " element " << i << ": expected " << want << ", found " << got;
  }
}

}  // namespace

std::size_t replay(const FixtureFolder& folder, std::string_view method, const Backend& backend) {
  std::unique_ptr<FixtureMethod> loaded;
  std::size_t runs = 0;
  std::size_t number = 0;
  for (const auto& entry : folder.meta().at("methods").at(std::string{method}).at("cases")) {
    if (loaded == nullptr || entry.value("reload", false)) {
      loaded = std::make_unique<FixtureMethod>(folder, method, backend);
      if (::testing::Test::HasFatalFailure()) return runs;
    }
    std::vector<FixtureValue> inputs;
    std::vector<FixtureValue> outputs;
    for (const auto& input : entry.at("inputs")) inputs.push_back(folder.read(input));
    for (const auto& output : entry.at("outputs")) outputs.push_back(folder.read(output));
    const std::size_t repeat = entry.value("repeat", std::size_t{0});
    for (std::size_t r = 0; r < std::max<std::size_t>(repeat, 1); ++r) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        loaded->set_input(i, repeat == 0 ? inputs[i] : slice(inputs[i], r));
      }
      const Status ran = loaded->run();
      if (!ran.ok()) {
        ADD_FAILURE() << ran.error().to_string();
        return runs;
      }
      ++runs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        compare(loaded->output(i), repeat == 0 ? outputs[i] : slice(outputs[i], r), entry.at("rtol"), entry.at("atol"),
                "case " + std::to_string(number) + " call " + std::to_string(r) + " output " + std::to_string(i));
      }
    }
    ++number;
  }
  return runs;
}

}  // namespace tandem::testing
