#include "runtime/execute/outputs.h"

#include "base/checked.h"
#include "base/strided_copy.h"
#include "base/strided_overlap.h"
#include "base/text.h"
#include "device/tensor_impl.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tandem::runtime {
namespace {

/// Callers that hold on to more results than this pay an allocation for each further one.
constexpr std::size_t kMaxPooled = 16;

/// Whether a run may write the value straight into `tensor`: dense in the planned order, with room for the bound.
bool takes_directly(const Tensor& tensor, const ArgumentSpec& spec, std::size_t capacity_bytes) {
  std::array<std::int64_t, kMaxRank> strides{};
  const std::span<std::int64_t> planned{strides.data(), tensor.rank()};
  strides_from_dim_order(tensor.sizes(), spec.dim_order, planned);
  return tensor.nbytes() >= capacity_bytes && base::same_layout(tensor.sizes(), tensor.strides(), planned);
}

bool meets(const Tensor& tensor, const void* data, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto at = reinterpret_cast<std::uintptr_t>(tensor.data());
  return at < begin + bytes && begin < at + tensor.impl()->capacity_bytes;
}

base::StridedArray array_of(const Tensor& tensor) noexcept {
  return {tensor.data(), tensor.sizes(), tensor.strides(), item_bytes(tensor.dtype())};
}

/// Leaves a shape alone that is right already: the caller may be reading it.
void set_shape(Tensor::Impl& impl, std::span<const std::int64_t> sizes,
               std::span<const std::int64_t> strides) noexcept {
  if (std::ranges::equal(sizes, std::span{impl.sizes.data(), impl.rank}) &&
      std::ranges::equal(strides, std::span{impl.strides.data(), impl.rank})) {
    return;
  }
  std::copy(sizes.begin(), sizes.end(), impl.sizes.begin());
  std::copy(strides.begin(), strides.end(), impl.strides.begin());
}

/// `bound` with the sizes that the run produced.
Result<Tensor> shaped(const Tensor& bound, const TensorArg& value) {
  if (std::ranges::equal(bound.sizes(), value.size_span())) return bound;
  return Tensor::from_blob(
      bound.data(), value.dtype, value.size_span(), value.stride_span(), [keep = bound] {}, bound.device());
}

}  // namespace

Result<Tensor> OutputPool::take(std::size_t output) {
  for (const Tensor& tensor : pool_[output]) {
    if (tensor.impl()->unique()) return tensor;
  }
  TANDEM_TRY(Tensor fresh, make(schedule_.values[schedule_.outputs[output]]));
  if (pool_[output].size() < kMaxPooled) pool_[output].push_back(fresh);
  return fresh;
}

Result<Tensor> OutputPool::slot(std::size_t output) {
  if (slots_.empty()) slots_.resize(schedule_.outputs.size());
  if (!slots_[output].defined()) {
    TANDEM_TRY(slots_[output], make(schedule_.values[schedule_.outputs[output]]));
  }
  return slots_[output];
}

/// Where the value lives; on the host, where the device reaches it.
Result<Tensor> OutputPool::make(const ValuePlan& value) {
  const ArgumentSpec& spec = value.spec;
  if (schedule_.device == DeviceId{}) return Tensor::empty(spec.dtype, spec.sizes, spec.dim_order);
  const bool on_device = value.device == schedule_.device;
  auto memory = std::make_shared<device::Buffer>();
  TANDEM_TRY(*memory, on_device ? device_.allocate(value.place.bytes) : device_.allocate_staging(value.place.bytes));
  std::vector<std::int64_t> strides(spec.sizes.size());
  strides_from_dim_order(spec.sizes, spec.dim_order, strides);
  return Tensor::from_blob(
      memory->data(), spec.dtype, spec.sizes, strides, [memory] {}, value.device);
}

Outputs::Outputs(const Schedule& schedule)
    : schedule_{schedule}, memory_(2 * schedule.outputs.size()), targets_(schedule.outputs.size()) {
  for (std::size_t i = 0; i < schedule.outputs.size(); ++i) {
    const auto at = std::find(schedule.outputs.begin(), schedule.outputs.end(), schedule.outputs[i]);
    const std::uint32_t buffer = schedule.values[schedule.outputs[i]].place.buffer;
    Target& target = targets_[i];
    target.first = static_cast<std::size_t>(at - schedule.outputs.begin());
    target.is_tensor = schedule.stored[schedule.outputs[i]].is_tensor();
    target.is_planned =
        target.first == i && buffer != kNone && schedule.buffers[buffer].kind == BufferPlan::Kind::Output;
  }
}

Status Outputs::check_bound(const Schedule& schedule, std::span<const Tensor> bound) {
  if (bound.empty()) return {};
  if (bound.size() != schedule.outputs.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong number of bound outputs"}
        .with_expected(std::to_string(schedule.outputs.size()), std::to_string(bound.size()))
        .with_method(std::string{schedule.method});
  }
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const Tensor& tensor = bound[i];
    if (!tensor.defined()) continue;
    const std::uint32_t index = schedule.outputs[i];
    const ArgumentSpec& spec = schedule.values[index].spec;
    const auto refuse = [&](ErrorCode code, std::string message) {
      const std::string expected = spec.kind == Argument::Kind::Tensor
                                       ? std::string{name_of(spec.dtype)} + base::text_of(spec.sizes)
                                       : "no tensor";
      return Error{code, std::move(message)}
          .with_expected(expected, std::string{name_of(tensor.dtype())} + base::text_of(tensor.sizes()))
          .with_method(std::string{schedule.method})
          .with_field("output " + std::to_string(i))
          .with_argument(static_cast<int>(i));
    };
    if (spec.kind != Argument::Kind::Tensor) return refuse(ErrorCode::InvalidType, "the output is no tensor");
    if (tensor.dtype() != spec.dtype) return refuse(ErrorCode::InvalidType, "wrong dtype");
    if (tensor.rank() != spec.sizes.size()) return refuse(ErrorCode::InvalidArgument, "wrong rank");
    if (tensor.device() != schedule.values[index].device) {
      return refuse(ErrorCode::InvalidArgument, "tensor of another device");
    }
    const bool exact = std::ranges::equal(tensor.sizes(), spec.sizes);
    if (!spec.dynamic && !exact && !takes_directly(tensor, spec, schedule.values[index].place.bytes)) {
      return refuse(ErrorCode::InvalidArgument, "wrong size");
    }
    if (const base::Overlap own = base::overlaps_itself(tensor.sizes(), tensor.strides()); own != base::Overlap::None) {
      return refuse(ErrorCode::InvalidArgument, own == base::Overlap::Some
                                                    ? "elements of the bound tensor overlap"
                                                    : "elements of the bound tensor may overlap: its strides are too "
                                                      "irregular to tell")
          .with_expected("strides that give each element a place of its own",
                         base::text_of(tensor.strides()) + " for sizes " + base::text_of(tensor.sizes()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!bound[j].defined()) continue;
      const base::Overlap both = base::overlap(array_of(tensor), array_of(bound[j]));
      if (both == base::Overlap::None) continue;
      return refuse(ErrorCode::InvalidArgument,
                    both == base::Overlap::Some ? "two outputs are bound to the same memory"
                                                : "two bound outputs may share memory: their strides are too irregular "
                                                  "to tell")
          .with_expected("memory that output " + std::to_string(j) + " does not use",
                         "strides " + base::text_of(tensor.strides()) + " and " + base::text_of(bound[j].strides()));
    }
  }
  return {};
}

Status Outputs::begin(OutputPool& pool, std::span<const Tensor> bound, bool at_slots) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    Target& target = targets_[i];
    target.is_bound = !bound.empty() && bound[i].defined();
    target.is_staged = false;
    if (target.is_bound) {
      const ValuePlan& value = schedule_.values[schedule_.outputs[i]];
      memory_[i] = bound[i];
      // A device copies to the host in its order only where it reaches the memory, which the caller's may not be.
      const bool reached = schedule_.device == DeviceId{} || value.device == schedule_.device;
      target.is_staged = target.is_planned && !(reached && takes_directly(memory_[i], value.spec, value.place.bytes));
      if (target.is_staged) {
        TANDEM_TRY(staging(i), pool.take(i));
      }
    } else if (target.is_tensor && target.first == i) {
      TANDEM_TRY(memory_[i], pool.take(i));
    }
    target.is_at_slot = at_slots && may_be_at_slot(i);
    if (target.is_at_slot) {
      TANDEM_TRY(staging(i), pool.slot(i));
    }
  }
  return {};
}

/// Where it ends up takes it as a run would write it.
bool Outputs::may_be_at_slot(std::size_t output) const {
  return targets_[output].is_planned && !targets_[output].is_staged && schedule_.device != DeviceId{} &&
         schedule_.values[schedule_.outputs[output]].device == schedule_.device;
}

void Outputs::announce(std::span<Value> values) const {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Tensor& tensor = memory_[i].defined() ? memory_[i] : memory_[targets_[i].first];
    if (tensor.defined()) values[i] = tensor;
  }
}

void Outputs::begin(Instance& instance) noexcept {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].is_planned) instance.value(schedule_.outputs[i]).tensor.data = written(i).data();
  }
}

bool Outputs::writes_to(const void* data, std::size_t bytes) const noexcept {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].is_planned && meets(written(i), data, bytes)) return true;
    // collect() writes it, before it reads what later outputs are views of.
    if (targets_[i].is_bound && meets(memory_[i], data, bytes)) return true;
  }
  return false;
}

void Outputs::abandon() noexcept {
  for (Tensor& tensor : memory_) tensor = {};
}

bool Outputs::copies_on_host() const noexcept {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const bool copied = memory_[i].defined() && (!targets_[i].is_planned || targets_[i].is_staged);
    if (copied && schedule_.values[schedule_.outputs[i]].device == DeviceId{}) return true;
  }
  return false;
}

Status Outputs::collect(Instance& instance, std::span<Value> values, device::Stream* stream) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (targets_[i].first != i && !targets_[i].is_bound) {
      values[i] = values[targets_[i].first];
      continue;
    }
    Result<Value> taken = take(instance, i, stream);
    if (!taken.ok()) {
      return std::move(taken)
          .error()
          .with_method(std::string{schedule_.method})
          .with_field("output " + std::to_string(i))
          .with_argument(static_cast<int>(i));
    }
    values[i] = *std::move(taken);
  }
  return {};
}

Result<Value> Outputs::take(Instance& instance, std::size_t output, device::Stream* stream) {
  const Argument& value = instance.value(schedule_.outputs[output]);
  switch (value.kind) {
    case Argument::Kind::Tensor:
      return take_tensor(value.tensor, output, stream);
    case Argument::Kind::Int:
      return Value{value.integer};
    case Argument::Kind::Double:
      return Value{value.number};
    case Argument::Kind::Bool:
      return Value{value.flag};
    case Argument::Kind::String:
      return Value{std::string{value.text}};
    default:
      return Value{};
  }
}

Result<Value> Outputs::take_from_slot(const TensorArg& value, std::size_t output, device::Stream& stream) {
  Tensor target = memory_[output];
  if (targets_[output].is_bound) {
    TANDEM_TRY(target, shaped(target, value));
  } else {
    set_shape(*target.impl(), value.size_span(), value.stride_span());
  }
  TANDEM_CHECK_OK(stream.copy(target.data(), value.data, value.nbytes()));
  return Value{std::move(target)};
}

Result<Value> Outputs::take_tensor(const TensorArg& value, std::size_t output, device::Stream* stream) {
  if (targets_[output].is_at_slot) return take_from_slot(value, output, *stream);
  const Tensor& target = memory_[output];
  const bool there = targets_[output].is_planned && !targets_[output].is_staged;
  if (there && targets_[output].is_bound) {
    TANDEM_TRY(Tensor result, shaped(target, value));
    return Value{std::move(result)};
  }
  if (there) {
    set_shape(*target.impl(), value.size_span(), value.stride_span());
    return Value{target};
  }
  if (!targets_[output].is_bound) {
    std::array<std::int64_t, kMaxRank> strides{};
    const std::span<std::int64_t> planned{strides.data(), value.rank};
    strides_from_dim_order(value.size_span(), value.order_span(), planned);
    set_shape(*target.impl(), value.size_span(), planned);
  } else if (!std::ranges::equal(target.sizes(), value.size_span())) {
    return Error{ErrorCode::InvalidArgument, "the bound tensor has other sizes than the run produced"}.with_expected(
        base::text_of(value.size_span()), base::text_of(target.sizes()));
  }
  if (target.device() == DeviceId{}) {
    base::copy_strided(target.data(), target.strides(), value.data, value.stride_span(), value.size_span(),
                       item_bytes(value.dtype));
    return Value{target};
  }
  // One copy takes what lies without gaps.
  const bool is_dense =
      base::extent_bytes(value.size_span(), value.stride_span(), item_bytes(value.dtype)) == value.nbytes();
  if (!is_dense || !base::same_layout(value.size_span(), value.stride_span(), target.strides())) {
    return Error{ErrorCode::NotSupported, "the output is a view on the device that is not dense in the planned layout"}
        .with_expected(base::text_of(target.strides()), base::text_of(value.stride_span()));
  }
  TANDEM_CHECK_OK(stream->copy(target.data(), value.data, value.nbytes()));
  return Value{target};
}

}  // namespace tandem::runtime
