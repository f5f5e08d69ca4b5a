#include "backends/tensorrt/tensorrt_backend.h"

#include "backends/tensorrt/tensorrt_delegate.h"

#include <utility>

namespace tandem::tensorrt {
namespace {

class TensorRTBackend final : public Backend {
 public:
  explicit TensorRTBackend(std::shared_ptr<const EngineProvider> provider) : provider_{std::move(provider)} {}

  Status available() const override { return provider_->available(); }

  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    return prepare_delegate(*provider_, payload, context);
  }

 private:
  std::shared_ptr<const EngineProvider> provider_;
};

}  // namespace

std::shared_ptr<Backend> make_tensorrt_backend(std::shared_ptr<const EngineProvider> provider) {
  return std::make_shared<TensorRTBackend>(std::move(provider));
}

}  // namespace tandem::tensorrt
