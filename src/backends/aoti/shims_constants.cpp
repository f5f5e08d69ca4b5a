#include "backends/aoti/shim_table.h"
#include "backends/aoti/tensor_handle.h"

#include <cstddef>

namespace tandem::aoti {
namespace {

/// A shim that returns a number of PyTorch's.
template <std::int32_t kNumber>
std::int32_t constant() noexcept {
  return kNumber;
}

template <ScalarType kType>
std::int32_t dtype() noexcept {
  return static_cast<std::int32_t>(kType);
}

std::size_t dtype_element_size(std::int32_t number) noexcept {
  return is_scalar_type(number) ? item_bytes(static_cast<ScalarType>(number)) : 0;
}

/// The ABI's version word, "2.10.0" in its upper bytes: the release whose shim.h the table follows.
std::uint64_t abi_version() noexcept { return (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48); }

}  // namespace

void add_constant_shims(std::vector<Shim>& shims) {
  shims.insert(shims.end(), {
                                {"aoti_torch_dtype_float8_e5m2", address_of(dtype<ScalarType::Float8E5M2>)},
                                {"aoti_torch_dtype_float8_e4m3fn", address_of(dtype<ScalarType::Float8E4M3FN>)},
                                {"aoti_torch_dtype_float8_e5m2fnuz", address_of(dtype<ScalarType::Float8E5M2FNUZ>)},
                                {"aoti_torch_dtype_float8_e4m3fnuz", address_of(dtype<ScalarType::Float8E4M3FNUZ>)},
                                {"aoti_torch_dtype_bfloat16", address_of(dtype<ScalarType::BFloat16>)},
                                {"aoti_torch_dtype_float16", address_of(dtype<ScalarType::Half>)},
                                {"aoti_torch_dtype_float32", address_of(dtype<ScalarType::Float>)},
                                {"aoti_torch_dtype_float64", address_of(dtype<ScalarType::Double>)},
                                {"aoti_torch_dtype_uint8", address_of(dtype<ScalarType::Byte>)},
                                {"aoti_torch_dtype_uint16", address_of(dtype<ScalarType::UInt16>)},
                                {"aoti_torch_dtype_uint32", address_of(dtype<ScalarType::UInt32>)},
                                {"aoti_torch_dtype_uint64", address_of(dtype<ScalarType::UInt64>)},
                                {"aoti_torch_dtype_int8", address_of(dtype<ScalarType::Char>)},
                                {"aoti_torch_dtype_int16", address_of(dtype<ScalarType::Short>)},
                                {"aoti_torch_dtype_int32", address_of(dtype<ScalarType::Int>)},
                                {"aoti_torch_dtype_int64", address_of(dtype<ScalarType::Long>)},
                                {"aoti_torch_dtype_bool", address_of(dtype<ScalarType::Bool>)},
                                {"aoti_torch_dtype_complex32", address_of(dtype<ScalarType::ComplexHalf>)},
                                {"aoti_torch_dtype_complex64", address_of(dtype<ScalarType::ComplexFloat>)},
                                {"aoti_torch_dtype_complex128", address_of(dtype<ScalarType::ComplexDouble>)},
                                {"aoti_torch_dtype_element_size", address_of(dtype_element_size)},
                                // c10/core/DeviceType.h
                                {"aoti_torch_device_type_cpu", address_of(constant<kAtenCpu>)},
                                {"aoti_torch_device_type_cuda", address_of(constant<kAtenCuda>)},
                                {"aoti_torch_device_type_xpu", address_of(constant<12>)},
                                {"aoti_torch_device_type_mps", address_of(constant<13>)},
                                {"aoti_torch_device_type_meta", address_of(constant<14>)},
                                {"aoti_torch_device_type_privateuse1", address_of(constant<20>)},
                                // c10/core/Layout.h
                                {"aoti_torch_layout_strided", address_of(constant<0>)},
                                {"aoti_torch_layout_sparse_coo", address_of(constant<1>)},
                                {"aoti_torch_layout_sparse_csr", address_of(constant<2>)},
                                {"aoti_torch_layout__mkldnn", address_of(constant<3>)},
                                {"aoti_torch_layout_sparse_csc", address_of(constant<4>)},
                                {"aoti_torch_layout_sparse_bsr", address_of(constant<5>)},
                                {"aoti_torch_layout_sparse_bsc", address_of(constant<6>)},
                                {"aoti_torch_layout_jagged", address_of(constant<7>)},
                                // c10/core/MemoryFormat.h
                                {"aoti_torch_memory_format_contiguous_format", address_of(constant<0>)},
                                {"aoti_torch_memory_format_preserve_format", address_of(constant<1>)},
                                {"aoti_torch_memory_format_channels_last", address_of(constant<2>)},
                                {"aoti_torch_memory_format_channels_last_3d", address_of(constant<3>)},
                                {"aoti_torch_abi_version", address_of(abi_version)},
                            });
}

}  // namespace tandem::aoti
