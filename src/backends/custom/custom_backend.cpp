#include "backends/custom/custom_backend.h"

#include "backends/custom/custom_context.h"
#include "backends/custom/instance.h"
#include "backends/custom/library.h"

#include <tandem/custom_payload.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

namespace tandem::custom {
namespace {

constexpr std::size_t kBlobAlignment = 16;
constexpr const char* kFolderOption = "library_folder";

class CustomDelegate final : public Delegate {
 public:
  /// `first` is what loading made; who asks first gets it.
  CustomDelegate(std::shared_ptr<const Setup> setup, std::unique_ptr<Instance> first)
      : setup_{std::move(setup)}, declaration_{first->declaration()}, first_{std::move(first)} {}

  DelegateCapabilities capabilities() const override {
    const std::uint32_t flags = setup_->library->table().flags;
    DelegateCapabilities capabilities;
    capabilities.runs_on_host = setup_->device == DeviceId{};
    capabilities.capturable = !capabilities.runs_on_host && (flags & TANDEM_CUSTOM_CAPTURABLE) != 0;
    capabilities.stateful = (flags & TANDEM_CUSTOM_STATEFUL) != 0;
    capabilities.warmup_runs = capabilities.capturable ? 1 : 0;  // drivers load kernels when they are first launched
    return capabilities;
  }

  std::size_t output_count() const override { return declaration_.output_count; }
  std::vector<AccessMode> accesses(std::size_t /*argument_count*/) const override { return declaration_.accesses; }

  Result<std::unique_ptr<DelegateContext>> new_context() const override {
    std::unique_ptr<Instance> instance = take_first();
    if (instance == nullptr) {
      TANDEM_TRY(instance, Instance::create(setup_));
    }
    if (instance->declaration() != declaration_) {
      return Error{ErrorCode::BackendFailed, "the library's create() declares something else than the first time"};
    }
    return std::make_unique<CustomContext>(std::move(instance));
  }

 private:
  std::unique_ptr<Instance> take_first() const {
    const std::scoped_lock lock{mutex_};
    return std::move(first_);
  }

  std::shared_ptr<const Setup> setup_;
  Declaration declaration_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Instance> first_;
};

Result<std::string> find_file(std::string_view path, const LoadContext& context) {
  const std::filesystem::path file{path};
  if (file.is_absolute()) return file.string();
  std::string folder{context.folder};
  if (context.options != nullptr && context.options->find(kFolderOption) != nullptr) {
    TANDEM_TRY(folder, context.options->get<std::string>(kFolderOption));
  }
  if (folder.empty()) {
    return Error{ErrorCode::InvalidArgument, "the library's path starts at the program's folder, and there is none"}
        .with_expected(std::string{"the load option "} + kFolderOption, "a program from memory")
        .with_file(std::string{path});
  }
  // Absolute, so that the loader does not search for it.
  return std::filesystem::absolute(std::filesystem::path{folder} / file).lexically_normal().string();
}

Result<std::shared_ptr<const Library>> open_library(const CustomPayload& payload, const LoadContext& context) {
  if (!payload.path.empty()) {
    TANDEM_TRY(const std::string file, find_file(payload.path, context));
    return Library::of_file(file);
  }
  if (payload.key.empty()) {
    return Library::of_bytes(payload.library,
                             std::string{context.method} + "_delegate_" + std::to_string(context.delegate));
  }
  if (context.named_data == nullptr) {
    return Error{ErrorCode::InvalidArgument, "the delegate's library is among the program's named data"}.with_key(
        std::string{payload.key});
  }
  TANDEM_TRY(const std::span<const std::byte> bytes, context.named_data->find(payload.key));
  return Library::of_bytes(bytes, payload.key);
}

/// The method's own device if the library runs there, else the host.
Result<DeviceId> choose_device(std::uint32_t devices, DeviceId method) {
  for (const DeviceId device : {method, DeviceId{}}) {
    if ((devices & TANDEM_CUSTOM_ON(static_cast<std::uint32_t>(device.type))) != 0) return device;
  }
  std::string known;
  if ((devices & TANDEM_CUSTOM_ON(TANDEM_CUSTOM_CUDA)) != 0) known = "cuda";
  if ((devices & TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HIP)) != 0) known += known.empty() ? "hip" : ", hip";
  return Error{ErrorCode::NotSupported, "the library does not run on the method's device"}.with_expected(
      known.empty() ? "no device that Tandem knows" : known, to_string(method));
}

void set_blob(Setup& setup, std::span<const std::byte> blob) {
  setup.blob = blob;
  if (reinterpret_cast<std::uintptr_t>(blob.data()) % kBlobAlignment == 0) return;
  setup.owned_blob.resize(blob.size() + kBlobAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(setup.owned_blob.data());
  std::byte* const aligned = setup.owned_blob.data() + (kBlobAlignment - address % kBlobAlignment) % kBlobAlignment;
  std::ranges::copy(blob, aligned);
  setup.blob = {aligned, blob.size()};
}

class CustomBackend final : public Backend {
 public:
  explicit CustomBackend(StreamMaker make_stream) noexcept : make_stream_{make_stream} {}

  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> bytes,
                                            const LoadContext& context) const override {
    TANDEM_TRY(const CustomPayload payload, parse_custom_payload(bytes));
    TANDEM_TRY(ArgumentTable arguments, ArgumentTable::of_program(context.arguments));
    const auto setup = std::make_shared<Setup>(std::move(arguments));
    TANDEM_TRY(setup->library, open_library(payload, context));
    TANDEM_TRY(setup->device, choose_device(setup->library->table().devices, context.device));
    if (setup->device != DeviceId{}) {
      TANDEM_TRY(setup->stream, make_stream_(setup->device));
    }
    for (const ArgumentSpec& spec : context.arguments) setup->open.push_back(spec.dynamic ? 1 : 0);
    set_blob(*setup, payload.blob);
    TANDEM_TRY(auto first, Instance::create(setup));
    return std::make_unique<CustomDelegate>(setup, std::move(first));
  }

 private:
  StreamMaker make_stream_;
};

}  // namespace

std::shared_ptr<Backend> make_custom_backend(StreamMaker make_stream) {
  return std::make_shared<CustomBackend>(make_stream);
}

}  // namespace tandem::custom
