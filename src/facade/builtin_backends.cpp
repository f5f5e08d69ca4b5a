#include "backends/aoti/aoti_backend.h"
#include "backends/custom/custom_backend.h"
#include "backends/tensorrt/tensorrt_backend.h"

#ifdef TANDEM_HAS_CUDA
#include "backends/aoti/cuda_backend.h"
#endif

#include <tandem/backend.h>
#include <tandem/module.h>

namespace tandem {

/// The one place that names the backends of this build.
BackendRegistry& BackendRegistry::global() {
  static BackendRegistry* registry = [] {
    auto* made = new BackendRegistry;  // never destroyed: methods may outlive static objects
    ignore(made->register_backend("AotiHostBackend", aoti::make_aoti_host_backend()), "the registry is empty");
    ignore(made->register_alias("AotiHostBackendB", "AotiHostBackend"), "the id is free");
    ignore(made->register_backend("CustomBackend", custom::make_custom_backend()), "the id is free");
#ifdef TANDEM_HAS_CUDA
    ignore(made->register_backend("CudaBackend", aoti::make_cuda_backend()), "the id is free");
#endif
    ignore(made->register_backend("TensorRTBackend", tensorrt::make_tensorrt_backend()), "the id is free");
    return made;
  }();
  return *registry;
}

Status set_option(std::string_view backend_id, const BackendOptions& options) {
  const std::shared_ptr<Backend> backend = BackendRegistry::global().find(backend_id);
  if (backend == nullptr) {
    return Error{ErrorCode::BackendMissing, "no such backend"}.with_backend(std::string{backend_id});
  }
  return backend->set_options(options);
}

}  // namespace tandem
