#include "backends/aoti/aoti_backend.h"

#include "backends/aoti/aoti_delegate.h"

namespace tandem::aoti {
namespace {

class AotiHostBackend final : public Backend {
 public:
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    return prepare_delegate(*host_device(), payload, context, context.method);
  }
};

}  // namespace

std::shared_ptr<Backend> make_aoti_host_backend() { return std::make_shared<AotiHostBackend>(); }

}  // namespace tandem::aoti
