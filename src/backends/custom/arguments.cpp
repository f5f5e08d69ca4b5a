#include "backends/custom/arguments.h"

#include <tandem/tensor.h>

#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace tandem::custom {
namespace {

/// Nothing for kinds that libraries cannot take.
std::optional<std::int32_t> kind_of(Argument::Kind kind) noexcept {
  switch (kind) {
    case Argument::Kind::None:
      return TANDEM_CUSTOM_NONE;
    case Argument::Kind::Tensor:
      return TANDEM_CUSTOM_TENSOR;
    case Argument::Kind::Int:
      return TANDEM_CUSTOM_INT;
    case Argument::Kind::Double:
      return TANDEM_CUSTOM_DOUBLE;
    case Argument::Kind::Bool:
      return TANDEM_CUSTOM_BOOL;
    default:
      return std::nullopt;
  }
}

void set_number(TandemCustomArgument& item, const Argument& argument) noexcept {
  item.integer = argument.kind == Argument::Kind::Bool ? (argument.flag ? 1 : 0) : argument.integer;
  item.real = argument.number;
}

std::string describe(std::int32_t kind, std::int32_t dtype, std::int32_t rank) {
  switch (kind) {
    case TANDEM_CUSTOM_NONE:
      return "none";
    case TANDEM_CUSTOM_INT:
      return "int";
    case TANDEM_CUSTOM_DOUBLE:
      return "double";
    case TANDEM_CUSTOM_BOOL:
      return "bool";
    default:
      return std::string{name_of(static_cast<ScalarType>(dtype))} + " of rank " + std::to_string(rank);
  }
}

}  // namespace

Result<ArgumentTable> ArgumentTable::of_program(std::span<const ArgumentSpec> specs) {
  ArgumentTable table;
  for (const ArgumentSpec& spec : specs) {
    const std::optional<std::int32_t> kind = kind_of(spec.kind);
    if (!kind) {
      return Error{ErrorCode::InvalidType, "a custom delegate takes tensors, numbers and None"}.with_argument(
          static_cast<int>(table.items_.size()));
    }
    TandemCustomArgument& item = table.items_.emplace_back();
    item.struct_size = sizeof item;
    item.kind = *kind;
    auto& strides = table.strides_.emplace_back(spec.sizes.size());
    if (spec.kind == Argument::Kind::Tensor) {
      strides_from_dim_order(spec.sizes, spec.dim_order, strides);
      item.sizes = spec.sizes.data();
      item.rank = static_cast<std::int32_t>(spec.sizes.size());
      item.dtype = static_cast<std::int32_t>(spec.dtype);
    } else if (spec.stored != nullptr) {
      set_number(item, *spec.stored);
    }
  }
  table.connect();
  return table;
}

void ArgumentTable::connect() {
  pointers_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind == TANDEM_CUSTOM_TENSOR) items_[i].strides = strides_[i].data();
    pointers_.push_back(&items_[i]);
  }
}

Status ArgumentTable::check(std::span<const Argument* const> arguments) const {
  if (arguments.size() != items_.size()) {
    return Error{ErrorCode::InvalidArgument, "wrong number of delegate arguments"}.with_expected(
        std::to_string(items_.size()), std::to_string(arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TandemCustomArgument& item = items_[i];
    const Argument& argument = *arguments[i];
    const bool is_tensor = argument.is_tensor();
    const std::optional<std::int32_t> kind = kind_of(argument.kind);
    const std::int32_t rank = is_tensor ? argument.tensor.rank : item.rank;
    const std::int32_t dtype = is_tensor ? static_cast<std::int32_t>(argument.tensor.dtype) : item.dtype;
    if (kind == item.kind && rank == item.rank && dtype == item.dtype) continue;
    return Error{ErrorCode::InvalidType, "the delegate was made for another argument"}
        .with_expected(describe(item.kind, item.dtype, item.rank),
                       kind ? describe(*kind, dtype, rank) : "a text or a list")
        .with_argument(static_cast<int>(i));
  }
  return {};
}

void ArgumentTable::set(std::size_t index, const Argument& argument, void* data) noexcept {
  TandemCustomArgument& item = items_[index];
  if (!argument.is_tensor()) {
    set_number(item, argument);
    return;
  }
  item.data = data;
  item.sizes = argument.tensor.sizes;
  item.strides = argument.tensor.strides;
}

std::uint64_t number_bits(const Argument& argument) noexcept {
  switch (argument.kind) {
    case Argument::Kind::Int:
      return static_cast<std::uint64_t>(argument.integer);
    case Argument::Kind::Double:
      return std::bit_cast<std::uint64_t>(argument.number);
    case Argument::Kind::Bool:
      return argument.flag ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace tandem::custom
