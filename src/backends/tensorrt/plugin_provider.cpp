#include "backends/tensorrt/plugin_provider.h"

#include "backends/tensorrt/refusal.h"
#include "backends/tensorrt/tensorrt_backend.h"
#include "device/stream.h"

#include <dlfcn.h>
#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace tandem::tensorrt {
namespace {

constexpr const char* kPluginFile = "libtandem_nvinfer.so";

TandemNvinferFailure empty_failure() {
  TandemNvinferFailure failure;
  failure.struct_size = sizeof failure;
  failure.version = TANDEM_NVINFER_VERSION;
  failure.text[0] = 0;
  return failure;
}

/// Calls that answer 0 or fill a failure.
template <class Call>
Status check(const char* message, Call&& call) {
  TandemNvinferFailure failure = empty_failure();
  if (call(&failure) == 0) return {};
  return library_failed(message, failure.text);
}

/// What the plug-in needs of one GPU.
struct Library {
  const TandemNvinferApi& api;
  const GpuCalls& gpu;
  int device;
};

class PluginContext final : public EngineContext {
 public:
  PluginContext(const Library& library, std::vector<std::unique_ptr<device::Stream>> auxiliary)
      : library_{library}, auxiliary_{std::move(auxiliary)} {}
  PluginContext(const PluginContext&) = delete;
  PluginContext& operator=(const PluginContext&) = delete;
  ~PluginContext() override {
    if (context_ == nullptr) return;
    ignore(on_device([this]() -> Status {
             library_.api.context_close(context_);
             return {};
           }),
           "nobody is there to hear it");
  }

  Status open(TandemNvinferEngine* engine) {
    std::vector<void*> handles;
    for (const auto& stream : auxiliary_) handles.push_back(library_.gpu.native(*stream));
    return on_device([&] {
      return check("TensorRT made no execution context", [&](TandemNvinferFailure* failure) {
        context_ =
            library_.api.context_open(engine, handles.data(), static_cast<std::int32_t>(handles.size()), failure);
        return context_ == nullptr ? 1 : 0;
      });
    });
  }

  Status set_shape(std::size_t tensor, std::span<const std::int64_t> sizes) override {
    return check("TensorRT refused a shape", [&](TandemNvinferFailure* failure) {
      return library_.api.set_shape(context_, static_cast<std::int32_t>(tensor), sizes.data(),
                                    static_cast<std::int32_t>(sizes.size()), failure);
    });
  }
  Status infer_shapes() override {
    return on_device([&] {
      return check("TensorRT could not tell the outputs' shapes",
                   [&](TandemNvinferFailure* failure) { return library_.api.infer_shapes(context_, failure); });
    });
  }
  Result<std::vector<std::int64_t>> shape_of(std::size_t tensor) override {
    std::int64_t sizes[TANDEM_NVINFER_MAX_RANK];
    std::int32_t rank = 0;
    TANDEM_CHECK_OK(check("TensorRT does not know a shape", [&](TandemNvinferFailure* failure) {
      return library_.api.shape_of(context_, static_cast<std::int32_t>(tensor), sizes, &rank, failure);
    }));
    return std::vector<std::int64_t>(sizes, sizes + std::clamp(rank, 0, int{TANDEM_NVINFER_MAX_RANK}));
  }
  Result<std::size_t> scratch_bytes() override {
    std::size_t bytes = 0;
    TANDEM_CHECK_OK(on_device([&] {
      return check("TensorRT does not know its scratch", [&](TandemNvinferFailure* failure) {
        return library_.api.scratch_bytes(context_, &bytes, failure);
      });
    }));
    return bytes;
  }
  Status set_scratch(std::span<std::byte> memory) override {
    return check("TensorRT refused its scratch", [&](TandemNvinferFailure* failure) {
      return library_.api.set_scratch(context_, memory.data(), memory.size(), failure);
    });
  }
  Status set_address(std::size_t tensor, void* data) override {
    return check("TensorRT refused an address", [&](TandemNvinferFailure* failure) {
      return library_.api.set_address(context_, static_cast<std::int32_t>(tensor), data, failure);
    });
  }
  Status enqueue(device::Stream& stream) override {
    return on_device([&] {
      return check("TensorRT did not enqueue the engine", [&](TandemNvinferFailure* failure) {
        return library_.api.enqueue(context_, library_.gpu.native(stream), failure);
      });
    });
  }

 private:
  template <class Work>
  Status on_device(Work&& work) const {
    return library_.gpu.on_device(library_.device, std::forward<Work>(work));
  }

  Library library_;
  std::vector<std::unique_ptr<device::Stream>> auxiliary_;  // outlive the context
  TandemNvinferContext* context_ = nullptr;
};

class PluginEngine final : public Engine {
 public:
  explicit PluginEngine(const Library& library) : library_{library} {}
  PluginEngine(const PluginEngine&) = delete;
  PluginEngine& operator=(const PluginEngine&) = delete;
  ~PluginEngine() override {
    if (engine_ == nullptr) return;
    ignore(library_.gpu.on_device(library_.device,
                                  [this]() -> Status {
                                    library_.api.engine_close(engine_);
                                    return {};
                                  }),
           "nobody is there to hear it");
  }

  Status open(std::span<const std::byte> bytes) {
    return library_.gpu.on_device(library_.device, [&]() -> Status {
      TandemNvinferFailure failure = empty_failure();
      engine_ = library_.api.engine_open(bytes.data(), bytes.size(), &failure);
      if (engine_ == nullptr) return engine_refused(failure.text);
      const std::int32_t count = library_.api.tensor_count(engine_);
      for (std::int32_t t = 0; t < count; ++t) TANDEM_CHECK_OK(add_tensor(t, count));
      return {};
    });
  }

  const std::vector<EngineTensor>& tensors() const override { return tensors_; }
  std::uint32_t auxiliary_streams() const override {
    return static_cast<std::uint32_t>(std::max(library_.api.auxiliary_streams(engine_), 0));
  }
  std::int64_t streamable_bytes() const override { return library_.api.streamable_bytes(engine_); }
  std::int64_t automatic_budget() const override { return library_.api.automatic_budget(engine_); }
  Status set_weight_budget(std::int64_t bytes) override {
    return library_.gpu.on_device(library_.device, [&] {
      return check("TensorRT refused the weight streaming budget", [&](TandemNvinferFailure* failure) {
        return library_.api.set_weight_budget(engine_, bytes, failure);
      });
    });
  }
  Result<std::unique_ptr<EngineContext>> new_context() const override {
    std::vector<std::unique_ptr<device::Stream>> auxiliary;
    for (std::uint32_t i = 0; i < auxiliary_streams(); ++i) {
      TANDEM_TRY(auto stream, library_.gpu.make_stream(library_.device));
      auxiliary.push_back(std::move(stream));
    }
    auto context = std::make_unique<PluginContext>(library_, std::move(auxiliary));
    TANDEM_CHECK_OK(context->open(engine_));
    return context;
  }

 private:
  Status add_tensor(std::int32_t index, std::int32_t count) {
    TandemNvinferTensor found{};
    found.struct_size = sizeof found;
    found.version = TANDEM_NVINFER_VERSION;
    TANDEM_CHECK_OK(check("TensorRT does not describe a tensor of the engine", [&](TandemNvinferFailure* failure) {
      return library_.api.tensor(engine_, index, &found, failure);
    }));
    const auto rank = static_cast<std::size_t>(std::clamp(found.rank, 0, int{TANDEM_NVINFER_MAX_RANK}));
    EngineTensor tensor;
    tensor.name = found.name;
    tensor.is_input = found.is_input != 0;
    if (is_scalar_type(found.scalar_type)) tensor.dtype = static_cast<ScalarType>(found.scalar_type);
    tensor.type_name = found.type_name;
    tensor.format_name = found.format_name;
    tensor.is_linear = found.is_linear != 0;
    tensor.is_on_host = found.is_on_host != 0;
    tensor.is_shape_value = found.is_shape_value != 0;
    tensor.sizes.assign(found.sizes, found.sizes + rank);
    if (tensor.is_input) {
      tensor.least.assign(found.least, found.least + rank);
      tensor.most.assign(found.most, found.most + rank);
    }
    if (found.alias_of >= 0 && found.alias_of < count) tensor.alias_of = static_cast<std::size_t>(found.alias_of);
    tensors_.push_back(std::move(tensor));
    return {};
  }

  Library library_;
  TandemNvinferEngine* engine_ = nullptr;
  std::vector<EngineTensor> tensors_{};
};

Error not_installed(std::string found) {
  return Error{ErrorCode::NotSupported, "TensorRT is not installed"}.with_expected(
      std::string{kPluginFile} + ", from a build with TANDEM_TENSORRT_ROOT, and TensorRT 10 or newer, or TensorRT-RTX",
      std::move(found));
}

class PluginProvider final : public EngineProvider {
 public:
  PluginProvider(std::string file, const GpuCalls& gpu) : file_{std::move(file)}, gpu_{gpu} {}

  Status available() const override {
    const auto api = find();
    return api.ok() ? gpu_.available() : Status{api.error()};
  }
  DeviceType device_type() const noexcept override { return DeviceType::Cuda; }
  std::uint32_t alignment() const noexcept override { return api_ == nullptr ? 1 : api_->alignment; }

  Result<std::unique_ptr<Engine>> deserialize(std::span<const std::byte> bytes, DeviceId device) const override {
    TANDEM_TRY(const TandemNvinferApi* const api, find());
    auto engine = std::make_unique<PluginEngine>(Library{*api, gpu_, device.index});
    TANDEM_CHECK_OK(engine->open(bytes));
    return engine;
  }

 private:
  /// The plug-in, with the library that it needs. Tried once.
  Result<const TandemNvinferApi*> find() const {
    std::call_once(once_, [this] { failure_ = load(); });
    if (!failure_.ok()) return failure_.error();
    return api_;
  }

  Status load() const {
    std::string why;
    void* const library = open(why);
    if (library == nullptr) return not_installed("no " + file_).with_native(Origin::DynamicLoader, 0, why);
    const auto entry = reinterpret_cast<TandemNvinferEntry>(dlsym(library, "tandem_nvinfer_api"));
    const TandemNvinferApi* const api = entry == nullptr ? nullptr : entry();
    if (api == nullptr) return not_installed(file_ + " is no plug-in of Tandem's");
    if (api->version != TANDEM_NVINFER_VERSION || api->struct_size < sizeof(TandemNvinferApi)) {
      return Error{ErrorCode::NotSupported, "the plug-in for TensorRT is of another version of Tandem"}.with_expected(
          "interface " + std::to_string(TANDEM_NVINFER_VERSION), "interface " + std::to_string(api->version));
    }
    TandemNvinferFailure failure = empty_failure();
    if (api->load(&failure) != 0) return not_installed(failure.text);
    api_ = api;
    return {};
  }

  void* open(std::string& why) const {
    const auto try_open = [&why](const std::string& path) {
      void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) why = dlerror();
      return library;
    };
    Dl_info self{};
    static const char marker = 0;
    if (file_.find('/') == std::string::npos && dladdr(&marker, &self) != 0 && self.dli_fname != nullptr) {
      const std::string path = self.dli_fname;
      if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) {
        if (void* const library = try_open(path.substr(0, slash + 1) + file_)) return library;
      }
    }
    return try_open(file_);
  }

  std::string file_;
  const GpuCalls& gpu_;
  mutable std::once_flag once_{};
  mutable Status failure_{};
  mutable const TandemNvinferApi* api_ = nullptr;
};

}  // namespace

std::shared_ptr<const EngineProvider> make_plugin_provider(std::string file, const GpuCalls& gpu) {
  return std::make_shared<PluginProvider>(std::move(file), gpu);
}

std::shared_ptr<Backend> make_tensorrt_backend() {
  return make_tensorrt_backend(make_plugin_provider(kPluginFile, gpu_calls()));
}

}  // namespace tandem::tensorrt
