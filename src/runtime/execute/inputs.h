#pragma once

#include "device/tensor_impl.h"
#include "runtime/bind/instance.h"

#include <tandem/result.h>
#include <tandem/value.h>

#include <cstddef>
#include <span>

namespace tandem::runtime {

/// Whether one value may be input `index`.
/// Errors: InvalidArgument (undefined tensor, rank, size, another device, a number other than the traced one);
///   InvalidType (kind, dtype); each with index, expected and found.
[[nodiscard]] Status check_input(const Schedule& schedule, const Value& value, std::size_t index);

/// Checks the count and every value. Errors: as check_input(); InvalidArgument, another count.
[[nodiscard]] Status check_inputs(const Schedule& schedule, std::span<const Value> values);

/// Gives the instance its inputs: in place where the layout is the planned one and no step writes to it, else copied.
/// `must_copy(data, bytes)` tells that the caller's memory will change during the run.
///
/// Precondition: check_inputs(). Errors: OutOfMemory.
template <class MustCopy>
[[nodiscard]] Status set_inputs(Instance& instance, std::span<const Value> values, MustCopy&& must_copy);

/// Sets one tensor input. Errors: OutOfMemory.
[[nodiscard]] Status set_tensor_input(Instance& instance, const Tensor& tensor, std::size_t index, bool must_copy);

template <class MustCopy>
Status set_inputs(Instance& instance, std::span<const Value> values, MustCopy&& must_copy) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_tensor()) continue;  // numbers equal the stored ones
    const Tensor& tensor = values[i].tensor();
    TANDEM_CHECK_OK(set_tensor_input(instance, tensor, i, must_copy(tensor.data(), tensor.impl()->capacity_bytes)));
  }
  return {};
}

}  // namespace tandem::runtime
