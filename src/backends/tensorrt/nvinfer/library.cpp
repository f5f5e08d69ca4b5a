#include "backends/tensorrt/nvinfer/library.h"

#include <dlfcn.h>
#include <cstdlib>

namespace tandem::nvinfer {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Library find() {
  Library found;
  const char* const chosen = std::getenv("TANDEM_TENSORRT_LIBRARY");
  const std::string file =
      chosen != nullptr && *chosen != 0 ? chosen : kLibraryStem + ("." + std::to_string(NV_TENSORRT_MAJOR));
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    found.why_not = dlerror();
    return found;
  }
  using Version = std::int32_t (*)();
  const auto version = reinterpret_cast<Version>(dlsym(handle, "getInferLibVersion"));
  const auto create = reinterpret_cast<Library::CreateRuntime>(dlsym(handle, "createInferRuntime_INTERNAL"));
  if (version == nullptr || create == nullptr) {
    found.why_not = file + " is no library of " + kProduct;
    return found;
  }
  found.description = file + ", version " + version_text(version());
  // Classes keep their layout within a major version, and grow with minor ones.
  if (version() / 10000 != NV_TENSORRT_MAJOR || version() / 100 < NV_TENSORRT_VERSION / 100) {
    found.why_not = found.description + ", is older than the headers that the plug-in was built with, or of another " +
                    "major version: " + version_text(NV_TENSORRT_VERSION);
    return found;
  }
  found.create_runtime = create;
  return found;
}

}  // namespace

const Library& library() noexcept {
  static const Library found = find();
  return found;
}

}  // namespace tandem::nvinfer
