#include "unit/ops/op_call.h"

#include "ops/portable/dtype.h"
#include "runtime/op.h"

#include <tandem/tensor.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::testing {
namespace {

namespace portable = ops::portable;
using Kind = Argument::Kind;

template <class To>
void write_element(std::byte* at, To value, ScalarType dtype) {
  const auto put = portable::for_dtype<portable::kReal>(dtype, []<class T>() -> void (*)(std::byte*, To) {
    return [](std::byte* to, To v) { *reinterpret_cast<T*>(to) = portable::convert<T>(v); };
  });
  put(at, value);
}

template <class To>
To read_element(const std::byte* at, ScalarType dtype) {
  const auto get = portable::for_dtype<portable::kReal>(dtype, []<class T>() -> To (*)(const std::byte*) {
    return [](const std::byte* from) { return portable::convert<To>(*reinterpret_cast<const T*>(from)); };
  });
  return get(at);
}

// `visit(address)` in row-major order.
template <class Visit>
void each_element(const TensorArg& tensor, Visit visit) {
  std::vector<std::int64_t> index(tensor.rank, 0);
  const std::int64_t count = tensor.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < tensor.rank; ++d) offset += index[d] * tensor.strides[d];
    visit(static_cast<std::byte*>(tensor.data) + offset * static_cast<std::int64_t>(item_bytes(tensor.dtype)));
    for (std::size_t d = tensor.rank; d-- > 0 && ++index[d] == tensor.sizes[d];) index[d] = 0;
  }
}

const runtime::Operator* find(std::string_view name) { return runtime::OperatorRegistry::builtin().find(name); }

std::vector<const ArgumentSpec*> specs_of(const std::vector<Value>& values) {
  std::vector<const ArgumentSpec*> specs;
  for (const Value& value : values) specs.push_back(&value.spec());
  return specs;
}

Error missing(std::string_view name) {
  return Error{ErrorCode::OperatorMissing, "no such operator"}.with_op(std::string{name});
}

}  // namespace

struct Value::State {
  Argument argument{};
  ArgumentSpec spec{};
  std::unique_ptr<std::byte[]> bytes{};
  std::vector<std::int64_t> sizes{}, strides{}, planned{};
  std::vector<std::uint8_t> order{};
  std::vector<Value> values{};
  std::vector<Argument*> items{};
  std::vector<const ArgumentSpec*> item_specs{};
  std::vector<double> doubles{};
  std::string text{};
};

Value::Value(Kind kind) : state_{std::make_shared<State>()} {
  state_->argument.kind = kind;
  state_->spec.kind = kind;
  state_->spec.stored = kind == Kind::Tensor ? nullptr : &state_->argument;
}
Value::Value(std::int64_t number) : Value{Kind::Int} { state_->argument.integer = number; }
Value::Value(double number) : Value{Kind::Double} { state_->argument.number = number; }
Value::Value(bool flag) : Value{Kind::Bool} { state_->argument.flag = flag; }
Value::Value(const char* text) : Value{Kind::String} {
  state_->text = text;
  state_->argument.text = state_->text;
}

Argument& Value::argument() const noexcept { return state_->argument; }
ArgumentSpec& Value::spec() const noexcept { return state_->spec; }

std::vector<std::int64_t> Value::sizes() const {
  const auto span = tensor().size_span();
  return {span.begin(), span.end()};
}
std::vector<std::int64_t> Value::strides() const {
  const auto span = tensor().stride_span();
  return {span.begin(), span.end()};
}
std::vector<double> Value::values() const {
  std::vector<double> all;
  each_element(tensor(), [&](const std::byte* at) { all.push_back(read_element<double>(at, tensor().dtype)); });
  return all;
}
std::vector<std::int64_t> Value::integers() const {
  std::vector<std::int64_t> all;
  each_element(tensor(), [&](const std::byte* at) { all.push_back(read_element<std::int64_t>(at, tensor().dtype)); });
  return all;
}

Value make_tensor(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<std::uint8_t> order, bool dynamic) {
  Value value{Kind::Tensor};
  Value::State& state = *value.state_;
  state.sizes = std::move(sizes);
  state.planned = state.sizes;
  state.order = std::move(order);
  if (state.order.empty()) {
    state.order.resize(state.sizes.size());
    std::iota(state.order.begin(), state.order.end(), std::uint8_t{0});
  }
  state.strides.resize(state.sizes.size());
  strides_from_dim_order(state.sizes, state.order, state.strides);
  TensorArg& tensor = state.argument.tensor;
  tensor.sizes = state.sizes.data();
  tensor.strides = state.strides.data();
  tensor.dim_order = state.order.data();
  tensor.dtype = dtype;
  tensor.rank = static_cast<std::uint8_t>(state.sizes.size());
  tensor.resizable = dynamic;
  tensor.capacity_bytes = tensor.nbytes();
  if (tensor.capacity_bytes > 0) {  // an empty tensor has no memory
    state.bytes = std::make_unique<std::byte[]>(tensor.capacity_bytes);
    std::fill_n(state.bytes.get(), tensor.capacity_bytes, std::byte{0xA5});
    tensor.data = state.bytes.get();
  }
  state.spec.dtype = dtype;
  state.spec.sizes = state.planned;
  state.spec.dim_order = state.order;
  state.spec.dynamic = dynamic;
  return value;
}

Value tensor(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<double> elements,
             std::vector<std::uint8_t> order) {
  Value value = make_tensor(dtype, std::move(sizes), std::move(order));
  std::size_t next = 0;
  each_element(value.tensor(), [&](std::byte* at) { write_element(at, elements.at(next++), dtype); });
  return value;
}

Value floats(std::vector<std::int64_t> sizes, std::vector<double> elements) {
  return tensor(ScalarType::Float, std::move(sizes), std::move(elements));
}
Value bools(std::vector<std::int64_t> sizes, std::vector<double> elements) {
  return tensor(ScalarType::Bool, std::move(sizes), std::move(elements));
}
Value longs(std::vector<std::int64_t> sizes, std::vector<std::int64_t> elements) {
  Value value = make_tensor(ScalarType::Long, std::move(sizes));
  std::size_t next = 0;
  each_element(value.tensor(), [&](std::byte* at) { write_element(at, elements.at(next++), ScalarType::Long); });
  return value;
}

Value strided(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
              std::vector<double> memory) {
  Value value = make_tensor(dtype, std::move(sizes));
  Value::State& state = *value.state_;
  const std::size_t bytes = item_bytes(dtype);
  state.strides = std::move(strides);
  state.argument.tensor.strides = state.strides.data();
  state.argument.tensor.capacity_bytes = memory.size() * bytes;
  state.bytes = std::make_unique<std::byte[]>(memory.size() * bytes);
  state.argument.tensor.data = state.bytes.get();
  for (std::size_t i = 0; i < memory.size(); ++i) write_element(state.bytes.get() + i * bytes, memory[i], dtype);
  return value;
}

Value iota(std::vector<std::int64_t> sizes, ScalarType dtype, std::vector<std::uint8_t> order) {
  Value value = make_tensor(dtype, std::move(sizes), std::move(order));
  double next = 0;
  each_element(value.tensor(), [&](std::byte* at) { write_element(at, next++, dtype); });
  return value;
}

Value boxed(Kind kind, std::vector<Value> items, std::vector<bool> present) {
  Value list{kind};
  Value::State& state = *list.state_;
  state.values = std::move(items);
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    state.items.push_back(present[i] ? &state.values[i].argument() : nullptr);
    state.item_specs.push_back(present[i] ? &state.values[i].spec() : nullptr);
  }
  state.argument.items = state.items;
  state.spec.items = state.item_specs.data();
  state.spec.item_count = state.items.size();
  if (kind != Kind::IntList) state.spec.stored = nullptr;
  return list;
}

Value ints(std::vector<Value> items) {
  const std::size_t count = items.size();
  return boxed(Kind::IntList, std::move(items), std::vector<bool>(count, true));
}
Value tensors(std::vector<Value> items) {
  const std::size_t count = items.size();
  return boxed(Kind::TensorList, std::move(items), std::vector<bool>(count, true));
}
Value optional_tensors(std::vector<Value> items) {
  std::vector<bool> present;
  for (const Value& item : items) present.push_back(item.argument().is_tensor());
  return boxed(Kind::OptionalTensorList, std::move(items), std::move(present));
}
Value doubles(std::vector<double> numbers) {
  Value list{Kind::DoubleList};
  list.state_->doubles = std::move(numbers);
  list.state_->argument.doubles = list.state_->doubles;
  return list;
}

Status accept(std::string_view name, const std::vector<Value>& arguments) {
  const runtime::Operator* op = find(name);
  return op == nullptr ? Status{missing(name)} : op->accept(specs_of(arguments));
}

Status run(std::string_view name, const std::vector<Value>& arguments) {
  const runtime::Operator* op = find(name);
  if (op == nullptr) return missing(name);
  if (op->accesses.size() != arguments.size()) return Error{ErrorCode::Internal, "access pattern has another length"};
  std::vector<Argument*> pointers;
  for (const Value& value : arguments) pointers.push_back(&value.argument());
  return op->run(pointers);
}

Status call(std::string_view name, const std::vector<Value>& arguments) {
  TANDEM_CHECK_OK(accept(name, arguments));
  return run(name, arguments);
}

}  // namespace tandem::testing
