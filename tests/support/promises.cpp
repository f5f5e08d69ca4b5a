#include "support/promises.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace tandem::testing {
namespace {

/// Collects the first promise that does not hold.
class Checker {
 public:
  explicit Checker(format::Bytes file) : file_{file} {}

  void that(bool holds, std::string_view promise) {
    if (!holds && broken_.empty()) broken_ = promise;
  }

  void within_file(format::Bytes view) {
    if (view.empty()) return;
    const std::less_equal<> no_later;
    const bool inside =
        no_later(file_.data(), view.data()) && no_later(view.data() + view.size(), file_.data() + file_.size());
    that(inside, "a view lies within the file");
    if (!inside) return;
    const volatile std::byte& first = view.front();  // A read that the compiler may not leave out.
    const volatile std::byte& last = view.back();
    static_cast<void>(std::byte{first});
    static_cast<void>(std::byte{last});
  }
  void within_file(std::string_view text) { within_file(std::as_bytes(std::span{text})); }

  void segments(const std::vector<format::Segment>& list) {
    for (const format::Segment& segment : list) {
      that(segment.offset <= file_.size() && segment.bytes <= file_.size() - segment.offset,
           "a segment lies within the file");
    }
  }

  void layout(ScalarType dtype, const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& dim_order,
              std::uint64_t bytes) {
    that(is_scalar_type(static_cast<int>(dtype)), "a tensor's dtype is known");
    that(sizes.size() <= 16, "a tensor's rank is at most 16");
    std::vector<std::uint8_t> axes = dim_order;
    std::sort(axes.begin(), axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i) that(axes[i] == i, "a tensor's dim_order is a permutation");
    that(axes.size() == sizes.size(), "a tensor's dim_order is as long as its sizes");
    std::uint64_t product = item_bytes(dtype);
    bool overflows = false;
    for (const std::int64_t size : sizes) {
      that(size >= 0 && size <= INT32_MAX, "a tensor's size is not negative");
      overflows |= __builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product);
    }
    that(!overflows && bytes == product, "a tensor's byte count is the product of its sizes");
  }

  [[nodiscard]] std::string take() { return std::move(broken_); }

 private:
  format::Bytes file_;
  std::string broken_{};
};

class MethodChecker {
 public:
  MethodChecker(Checker& check, const format::Program& program, const format::Method& method)
      : check_{check}, program_{program}, method_{method} {}

  void run() {
    check_.within_file(method_.name);
    check_.within_file(method_.encoded_inputs);
    check_.within_file(method_.encoded_outputs);
    check_.that(!method_.arenas.empty(), "arena 0 is there");
    for (std::size_t i = 0; i < method_.values.size(); ++i) {
      own_ = i;
      std::visit([this](const auto& value) { check(value); }, method_.values[i]);
    }
    values(method_.inputs);
    values(method_.outputs);
    for (const format::Operator& op : method_.operators) {
      check_.within_file(op.name);
      check_.within_file(op.overload);
    }
    for (const format::Delegate& delegate : method_.delegates) this->delegate(delegate);
    check_.that(!method_.chains.empty(), "a method has a chain");
    for (const format::Chain& chain : method_.chains) {
      values(chain.inputs);
      values(chain.outputs);
      length_ = chain.instructions.size();
      for (const format::Instruction& instruction : chain.instructions) {
        std::visit([this](const auto& call) { check(call); }, instruction);
      }
    }
  }

 private:
  bool value(std::int64_t index) {
    const bool inside = index >= 0 && static_cast<std::size_t>(index) < method_.values.size();
    check_.that(inside, "a value index is in range");
    return inside;
  }
  void values(const std::vector<std::int32_t>& list) {
    for (const std::int32_t index : list) value(index);
  }
  template <class Kind>
  bool is(std::int64_t index) {
    return value(index) && std::holds_alternative<Kind>(method_.values[static_cast<std::size_t>(index)]);
  }

  void check(std::monostate) {}
  void check(std::int64_t) {}
  void check(bool) {}
  void check(double) {}
  void check(std::string_view text) { check_.within_file(text); }
  void check(const format::Tensor& tensor) {
    using Source = format::DataSource;
    check_.layout(tensor.dtype, tensor.sizes, tensor.dim_order, tensor.bytes);
    check_.that(tensor.dynamism != format::ShapeDynamism::DynamicUnbound, "a shape is bounded");
    check_.within_file(tensor.name);
    check_.within_file(tensor.data);
    if (tensor.allocation) {
      const std::size_t id = tensor.allocation->memory_id;
      const bool known = id >= 1 && id < method_.arenas.size();
      check_.that(known, "a planned tensor names an arena");
      const std::uint64_t limit = known ? method_.arenas[id].bytes : 0;
      check_.that(tensor.allocation->offset <= limit && tensor.bytes <= limit - tensor.allocation->offset,
                  "a planned tensor lies within its arena");
    }
    const bool stored = tensor.source == Source::Constant || tensor.source == Source::Initial;
    check_.that(tensor.data.size() == (stored ? tensor.bytes : 0), "stored data is as long as its tensor");
    check_.that(tensor.source != Source::Constant || !tensor.allocation, "a constant is not planned");
    check_.that(tensor.source != Source::Initial || tensor.allocation, "initial values are for planned memory");
    check_.that(tensor.source != Source::External || !tensor.name.empty(), "external data has a name");
  }
  void check(const format::IntList& list) {
    for (const std::int32_t item : list.items) check_.that(is<std::int64_t>(item), "an int list names Ints");
  }
  void check(const format::DoubleList&) {}
  void check(const format::BoolList& list) {
    for (const std::uint8_t item : list.items) check_.that(item <= 1, "a bool is 0 or 1");
  }
  void check(const format::TensorList& list) {
    for (const std::int32_t item : list.items) earlier_tensor(item);
  }
  void check(const format::OptionalTensorList& list) {
    for (const std::int32_t item : list.items) {
      if (item != -1) earlier_tensor(item);
    }
  }
  void earlier_tensor(std::int32_t item) {
    check_.that(is<format::Tensor>(item) && static_cast<std::size_t>(item) < own_, "a list names tensors before it");
  }

  void check(const format::KernelCall& call) {
    check_.that(call.op < method_.operators.size(), "an operator index is in range");
    values(call.args);
  }
  void check(const format::DelegateCall& call) {
    check_.that(call.delegate < method_.delegates.size(), "a delegate index is in range");
    values(call.args);
  }
  void check(const format::MoveCall& call) {
    value(call.from);
    value(call.to);
  }
  void check(const format::JumpFalseCall& call) {
    const bool is_bool_tensor =
        is<format::Tensor>(call.condition) &&
        std::get<format::Tensor>(method_.values[static_cast<std::size_t>(call.condition)]).dtype == ScalarType::Bool;
    check_.that(is_bool_tensor || is<bool>(call.condition), "a condition is a bool");
    check_.that(call.destination <= length_, "a jump stays in its chain");
  }
  void check(const format::FreeCall& call) { check_.that(is<format::Tensor>(call.value), "only tensors are freed"); }

  void delegate(const format::Delegate& delegate) {
    check_.within_file(delegate.id);
    check_.within_file(delegate.payload);
    const std::size_t places =
        delegate.inline_payload ? program_.inline_delegate_data.size() : program_.segments.size();
    check_.that(delegate.payload_index < places, "a payload index is in range");
    for (const format::CompileSpec& spec : delegate.compile_specs) {
      check_.within_file(spec.key);
      check_.within_file(spec.value);
    }
  }

  Checker& check_;
  const format::Program& program_;
  const format::Method& method_;
  std::size_t own_ = 0;
  std::size_t length_ = 0;
};

}  // namespace

std::string broken_promise(const format::Program& program, format::Bytes file) {
  Checker check{file};
  check.segments(program.segments);
  for (const format::Bytes data : program.inline_delegate_data) check.within_file(data);
  std::unordered_set<std::string_view> keys;
  for (const format::NamedDataEntry& entry : program.named_data) {
    check.within_file(entry.key);
    check.within_file(entry.data);
    check.that(entry.segment < program.segments.size(), "a segment index is in range");
    check.that(keys.insert(entry.key).second, "keys are unique");
  }
  std::unordered_set<std::string_view> names;
  for (const format::Method& method : program.methods) {
    check.that(names.insert(method.name).second, "method names are unique");
    MethodChecker{check, program, method}.run();
  }
  return check.take();
}

std::string broken_promise(const format::DataFile& data, format::Bytes file) {
  Checker check{file};
  check.segments(data.segments);
  std::unordered_set<std::string_view> keys;
  for (const format::DataEntry& entry : data.entries) {
    check.within_file(entry.key);
    check.within_file(entry.data);
    check.that(entry.segment < data.segments.size(), "a segment index is in range");
    check.that(keys.insert(entry.key).second, "keys are unique");
    if (!entry.layout) continue;
    check.layout(entry.layout->dtype, entry.layout->sizes, entry.layout->dim_order, entry.layout->bytes);
    check.that(entry.layout->bytes <= entry.data.size(), "an entry is as long as its layout needs");
  }
  return check.take();
}

}  // namespace tandem::testing
