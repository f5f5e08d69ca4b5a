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

/// Whether the run may use the caller's memory as it is: the layout is the planned one and no step writes to it.
[[nodiscard]] bool can_adopt(const Schedule& schedule, const Tensor& tensor, std::size_t index);

/// Gives the instance its inputs: in place where can_adopt(), else copied, those on the device in the order of
/// `stream`, which is null on the host device. `must_copy(tensor)` tells that the caller's memory may not be used in
/// place.
///
/// Precondition: check_inputs(). Errors: OutOfMemory; NotSupported, an input on the device is not dense.
template <class MustCopy>
[[nodiscard]] Status set_inputs(Instance& instance, std::span<const Value> values, MustCopy&& must_copy,
                                device::Stream* stream);

/// Sets one tensor input. Errors: as set_inputs().
[[nodiscard]] Status set_tensor_input(Instance& instance, const Tensor& tensor, std::size_t index, bool must_copy,
                                      device::Stream* stream);

template <class MustCopy>
Status set_inputs(Instance& instance, std::span<const Value> values, MustCopy&& must_copy, device::Stream* stream) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_tensor()) continue;  // numbers equal the stored ones
    const Tensor& tensor = values[i].tensor();
    TANDEM_CHECK_OK(set_tensor_input(instance, tensor, i, must_copy(tensor), stream));
  }
  return {};
}

}  // namespace tandem::runtime
