#pragma once

#include <tandem/device.h>
#include <tandem/event.h>
#include <tandem/export.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>
#include <tandem/stream_ref.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tandem {

/// Largest rank that the file format allows.
inline constexpr std::size_t kMaxRank = 16;

/// A strided array in memory: a cheap handle, copies share the bytes.
///
/// Shapes: sizes and strides in elements; strides may be any non-negative numbers. Elements may overlap (a stride of 0
///   repeats them) in what is read, not in what an execution writes to.
/// Lifetime: an owning tensor's bytes live until the last handle is gone; a borrowing one's (`from_blob`) until then
///   too, unless a release function was given, which is called once at that point.
/// Thread-safety: handles may be copied and dropped from any thread; the bytes are the caller's to guard.
class TANDEM_EXPORT Tensor {
 public:
  Tensor() noexcept = default;  ///< Empty: defined() is false.
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  /// New uninitialised host memory, 64-byte aligned.
  ///
  /// Shapes: `dim_order` lists the axes from outermost to innermost; empty means 0..n-1.
  /// Errors: InvalidArgument (rank above kMaxRank, negative size, bad order, bytes overflow); OutOfMemory.
  [[nodiscard]] static Result<Tensor> empty(ScalarType dtype, std::span<const std::int64_t> sizes,
                                            std::span<const std::uint8_t> dim_order = {});
  /// A tensor over memory of the caller's.
  ///
  /// Shapes: `strides` empty means contiguous.
  /// Lifetime: `release`, if set, is called when the last handle is gone; it must not throw.
  /// Errors: InvalidArgument (as `empty`; null data for a tensor with bytes; negative stride; wrong stride count; more
  ///   bytes than there are behind the address).
  [[nodiscard]] static Result<Tensor> from_blob(void* data, ScalarType dtype, std::span<const std::int64_t> sizes,
                                                std::span<const std::int64_t> strides = {},
                                                std::function<void()> release = {}, DeviceId device = {});

  [[nodiscard]] bool defined() const noexcept { return impl_ != nullptr; }
  /// All below: precondition defined().
  [[nodiscard]] ScalarType dtype() const noexcept;
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept;
  [[nodiscard]] std::span<const std::int64_t> strides() const noexcept;
  [[nodiscard]] std::size_t rank() const noexcept { return sizes().size(); }
  [[nodiscard]] std::int64_t numel() const noexcept;
  /// Units: bytes of the elements, without gaps between them.
  [[nodiscard]] std::size_t nbytes() const noexcept;
  [[nodiscard]] DeviceId device() const noexcept;
  [[nodiscard]] void* data() const noexcept;
  template <class T>
  [[nodiscard]] T* data_as() const noexcept {
    return static_cast<T*>(data());
  }
  /// Whether the elements lie in row-major order without gaps.
  [[nodiscard]] bool is_contiguous() const noexcept;

  /// The same elements on `device`: this tensor if it is there, else a copy, dense in the order of its axes in memory.
  /// Blocks until the copy is done; work on streams that writes the tensor is waited for.
  /// Errors: NotSupported, this build or machine has no such device, or neither side is the host; OutOfMemory.
  [[nodiscard]] Result<Tensor> to(DeviceId device) const;

  /// Announces that what is enqueued on `stream` so far still uses the bytes, though the handle may be dropped now:
  /// they are neither written by a later execution nor given back before that is done (they are given back when
  /// another tensor goes after that).
  /// Errors: OutOfMemory; DeviceFault.
  [[nodiscard]] Status record_use(StreamRef stream) const;
  /// The same with an event of the caller's, recorded after the use.
  void release_after(const Event& event) const;

  /// Shared state of the handles; defined by the implementation.
  struct Impl;
  /// Takes over one reference of `impl`.
  explicit Tensor(Impl* impl) noexcept : impl_{impl} {}
  [[nodiscard]] Impl* impl() const noexcept { return impl_; }

 private:
  Impl* impl_ = nullptr;
};

/// Row-major strides for an axis order; an extent of 0 repeats the outer stride.
/// Source: dim_order_to_stride in ExecuTorch's runtime/core/exec_aten/util/dim_order_util.h.
/// Shapes: the three spans have equal length.
TANDEM_EXPORT void strides_from_dim_order(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> dim_order,
                                          std::span<std::int64_t> strides) noexcept;

}  // namespace tandem
