#include "backends/aoti/aoti_backend.h"

#include "backends/aoti/aoti_delegate.h"
#include "backends/aoti/sharing_option.h"

namespace tandem::aoti {
namespace {

class AotiHostBackend final : public Backend {
 public:
  Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                            const LoadContext& context) const override {
    TANDEM_TRY(const bool shares_buffers, sharing_.is_told(context));
    return prepare_delegate(*host_device(), payload, context, context.method, {.shares_buffers = shares_buffers});
  }

  Status set_options(const BackendOptions& options) override { return sharing_.set(options); }

 private:
  SharingOption sharing_{};
};

}  // namespace

std::shared_ptr<Backend> make_aoti_host_backend() { return std::make_shared<AotiHostBackend>(); }

}  // namespace tandem::aoti
