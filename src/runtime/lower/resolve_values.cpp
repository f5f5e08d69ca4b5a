#include "runtime/lower/lower.h"

#include "base/checked.h"
#include "base/text.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

namespace tandem::runtime {
namespace {

std::string describe_tensor(ScalarType dtype, std::span<const std::int64_t> sizes,
                            std::span<const std::uint8_t> dim_order) {
  return std::string{name_of(dtype)} + base::text_of(sizes) + ", order " + base::text_of(dim_order);
}

/// The bytes of an external constant or of an external initial value; its layout must be the program's exactly.
Result<format::Bytes> external_bytes(const LowerInput& input, const format::Tensor& tensor) {
  TANDEM_TRY(const format::DataMap::Item* const item, input.data.find(tensor.name));
  const format::DataEntry* entry = &item->entry;
  if (!entry->layout) {
    return Error{ErrorCode::InvalidExternalData, "the entry is an opaque blob, but the program wants a tensor"};
  }
  const format::TensorLayout& layout = *entry->layout;
  if (layout.dtype != tensor.dtype || layout.sizes != tensor.sizes || layout.dim_order != tensor.dim_order) {
    return Error{ErrorCode::InvalidExternalData, "the entry is another tensor than the program wants"}.with_expected(
        describe_tensor(tensor.dtype, tensor.sizes, tensor.dim_order),
        describe_tensor(layout.dtype, layout.sizes, layout.dim_order));
  }
  return entry->data.first(tensor.bytes);
}

class ValueResolver {
 public:
  ValueResolver(const LowerInput& input, Schedule& schedule) : input_{input}, schedule_{schedule} {}

  Status run() {
    const std::vector<format::ValueSpec>& values = input_.method.values;
    // Lists and specs point into these, and assign_devices() may add a second home for every value.
    const std::size_t most = values.size() * (schedule_.device == DeviceId{} ? 1 : 2);
    schedule_.values.reserve(most);
    schedule_.stored.reserve(most);
    schedule_.values.resize(values.size());
    schedule_.stored.resize(values.size());
    reserve_lists(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      index_ = i;
      TANDEM_CHECK_OK(std::visit([this](const auto& value) { return add(value); }, values[i]));
      plan().spec.kind = stored().kind;
      if (!stored().is_tensor()) plan().spec.stored = &stored();
    }
    return {};
  }

 private:
  /// Lists point into one vector each, which must not move while it grows.
  void reserve_lists(const std::vector<format::ValueSpec>& values) {
    std::size_t count = 0;
    for (const format::ValueSpec& value : values) {
      if (const auto* list = std::get_if<format::IntList>(&value)) count += list->items.size();
      if (const auto* list = std::get_if<format::TensorList>(&value)) count += list->items.size();
      if (const auto* list = std::get_if<format::OptionalTensorList>(&value)) count += list->items.size();
    }
    schedule_.list_items.reserve(count);
    schedule_.list_specs.reserve(count);
  }

  ValuePlan& plan() { return schedule_.values[index_]; }
  Argument& stored() { return schedule_.stored[index_]; }

  Status add(std::monostate /*none*/) { return {}; }
  Status add(std::int64_t number) {
    stored().kind = Argument::Kind::Int;
    stored().integer = number;
    return {};
  }
  Status add(bool flag) {
    stored().kind = Argument::Kind::Bool;
    stored().flag = flag;
    return {};
  }
  Status add(double number) {
    stored().kind = Argument::Kind::Double;
    stored().number = number;
    return {};
  }
  Status add(std::string_view text) {
    stored().kind = Argument::Kind::String;
    stored().text = text;
    return {};
  }
  Status add(const format::DoubleList& list) {
    stored().kind = Argument::Kind::DoubleList;
    stored().doubles = list.items;
    return {};
  }
  Status add(const format::BoolList& list) {
    stored().kind = Argument::Kind::BoolList;
    stored().bools = list.items;
    return {};
  }
  Status add(const format::IntList& list) { return add_list(Argument::Kind::IntList, list.items); }
  Status add(const format::TensorList& list) { return add_list(Argument::Kind::TensorList, list.items); }
  Status add(const format::OptionalTensorList& list) {
    return add_list(Argument::Kind::OptionalTensorList, list.items);
  }

  Status add_list(Argument::Kind kind, std::span<const std::int32_t> items) {
    const std::size_t first = schedule_.list_items.size();
    for (const std::int32_t item : items) {
      const bool none = item < 0;
      const auto value = static_cast<std::size_t>(item);
      schedule_.list_items.push_back(none ? nullptr : &schedule_.stored[value]);
      schedule_.list_specs.push_back(none ? nullptr : &schedule_.values[value].spec);
    }
    stored().kind = kind;
    stored().items = {schedule_.list_items.data() + first, items.size()};
    plan().spec.items = schedule_.list_specs.data() + first;
    plan().spec.item_count = items.size();
    return {};
  }

  Status add(const format::Tensor& tensor) {
    Argument& argument = stored();
    argument.kind = Argument::Kind::Tensor;
    argument.tensor.dtype = tensor.dtype;
    argument.tensor.rank = static_cast<std::uint8_t>(tensor.sizes.size());
    argument.tensor.dim_order = tensor.dim_order.data();
    argument.tensor.capacity_bytes = tensor.bytes;
    argument.tensor.resizable = tensor.dynamism != format::ShapeDynamism::Static;
    ArgumentSpec& spec = plan().spec;
    spec.dtype = tensor.dtype;
    spec.sizes = tensor.sizes;
    spec.dim_order = tensor.dim_order;
    spec.dynamic = argument.tensor.resizable;
    plan().name = tensor.name;
    if (tensor.device.type != DeviceType::Host) plan().device = schedule_.device;  // whatever ordinal the file names
    plan().place.bytes = tensor.bytes;
    if (tensor.allocation) {
      plan().planned_memory_id = tensor.allocation->memory_id;
      plan().planned_offset = tensor.allocation->offset;
    }
    if (tensor.source == format::DataSource::None) return {};
    format::Bytes bytes = tensor.data;
    if (tensor.source == format::DataSource::External) {
      TANDEM_TRY(bytes, named(external_bytes(input_, tensor), tensor));
    }
    if (tensor.allocation) {
      plan().initial = bytes;
      return {};
    }
    plan().constant = aligned(bytes, item_bytes(tensor.dtype));
    return {};
  }

  template <class T>
  Result<T> named(Result<T> result, const format::Tensor& tensor) const {
    if (result.ok()) return result;
    return std::move(result)
        .error()
        .with_key(std::string{tensor.name})
        .with_method(std::string{input_.method.name})
        .with_value(static_cast<int>(index_));
  }

  /// Files align constants to 16 bytes, data files may align them to 1. Operators need whole elements.
  const std::byte* aligned(format::Bytes bytes, std::size_t alignment) {
    static constexpr std::byte kEmpty{};
    if (bytes.empty()) return &kEmpty;
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) return bytes.data();
    return schedule_.owned_bytes.emplace_back(bytes.begin(), bytes.end()).data();
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::size_t index_ = 0;
};

}  // namespace

Status resolve_values(const LowerInput& input, Schedule& schedule) { return ValueResolver{input, schedule}.run(); }

}  // namespace tandem::runtime
