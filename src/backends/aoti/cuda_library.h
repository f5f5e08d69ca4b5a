#pragma once

#include <dlfcn.h>
#include <string>

namespace tandem::aoti {

/// A library of CUDA that is looked for when a delegate first needs it. It stays open.
class CudaLibrary {
 public:
  explicit CudaLibrary(const char* file) : handle_{dlopen(file, RTLD_NOW | RTLD_LOCAL)} {
    if (handle_ != nullptr) return;
    const char* text = dlerror();
    problem_ = "the delegate needs " + std::string{file} + ": " + (text != nullptr ? text : "it can't be opened");
  }

  /// Binds a function pointer.
  template <class Function>
  void bind(Function& function, const char* name) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && problem_.empty()) {
      problem_ = "the delegate needs " + std::string{name} + ", which the library lacks";
    }
  }
  /// Empty if everything is there.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void* handle_;
  std::string problem_{};
};

}  // namespace tandem::aoti
