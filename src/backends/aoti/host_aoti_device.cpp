#include "backends/aoti/aoti_device.h"
#include "backends/aoti/copy_elements.h"
#include "backends/aoti/tensor_handle.h"

#include <cstring>
#include <string>

namespace tandem::aoti {
namespace {

/// Compiled host code assumes no more of a tensor.
constexpr std::size_t kConstantAlignment = 16;

class HostAotiDevice final : public AotiDevice {
 public:
  std::byte* allocate(std::size_t bytes) noexcept override { return host_memory().allocate(bytes); }
  void release(std::byte* data) noexcept override { host_memory().release(data); }
  bool copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept override {
    return host_memory().copy(to, from, bytes);
  }

  const char* name() const noexcept override { return "cpu"; }
  std::int32_t aten_type() const noexcept override { return kAtenCpu; }
  std::int32_t aten_index() const noexcept override { return -1; }
  const ShimTable& shims() const override { return shim_table_host(); }
  bool runs_on_host() const noexcept override { return true; }

  Result<std::shared_ptr<AotiDevice>> for_container() override { return host_device(); }
  Result<std::shared_ptr<std::byte>> place(std::span<const std::byte> bytes) override {
    auto* data = const_cast<std::byte*>(bytes.data());  // the ABI knows no const; parameters are read
    if (reinterpret_cast<std::uintptr_t>(data) % kConstantAlignment == 0) {
      return std::shared_ptr<std::byte>{std::shared_ptr<void>{}, data};
    }
    TANDEM_TRY(DeviceBytes copied, aoti::allocate(*this, bytes.size()));
    ignore(upload(copied.get(), bytes), "does not fail on the host");
    return std::shared_ptr<std::byte>{std::move(copied)};
  }
  Status upload(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return {};
  }

  void* native(device::Stream& /*stream*/) const noexcept override { return nullptr; }
  void begin(void* /*stream*/) noexcept override {}
  void end() noexcept override {}
  void* stream() const noexcept override { return nullptr; }
  void set_mode(Mode /*mode*/, Recorder* /*recorder*/) noexcept override {}
  Status finish() override { return {}; }
  void unload() noexcept override {}

  const char* copy_elements(const AtenTensor& target, const AtenTensor& source) noexcept override {
    return aoti::copy_elements(target, source);
  }
  bool clear(std::byte* data, std::size_t bytes) noexcept override {
    if (bytes != 0) std::memset(data, 0, bytes);
    return true;
  }
  bool read(void* to, const std::byte* from, std::size_t bytes) noexcept override {
    std::memcpy(to, from, bytes);
    return true;
  }
};

}  // namespace

const std::shared_ptr<AotiDevice>& host_device() {
  // Never destroyed: handles may be dropped while the process ends.
  static const auto* instance = new std::shared_ptr<AotiDevice>{std::make_shared<HostAotiDevice>()};
  return *instance;
}

Result<DeviceBytes> allocate(AotiDevice& device, std::size_t bytes) {
  if (std::byte* data = device.allocate(bytes); data != nullptr) return DeviceBytes{data, ReleaseTo{&device}};
  return Error{ErrorCode::OutOfMemory, "memory for a delegate"}
      .with_expected(std::to_string(bytes) + " bytes", "none left")
      .with_device(device.name());
}

}  // namespace tandem::aoti
