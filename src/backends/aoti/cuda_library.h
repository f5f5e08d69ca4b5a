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

  /// What the library has under a name, for the type that the caller's function pointer has.
  class Symbol {
   public:
    explicit Symbol(void* address) noexcept : address_{address} {}
    template <class Function>
    operator Function*() const noexcept {  // NOLINT(google-explicit-constructor): the target tells the type
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  /// Null, with a problem to tell, if it is not there.
  [[nodiscard]] Symbol find(const char* name) {
    void* const address = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    if (address == nullptr && problem_.empty()) {
      problem_ = "the delegate needs " + std::string{name} + ", which the library lacks";
    }
    return Symbol{address};
  }
  /// Empty if everything is there.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void* handle_;
  std::string problem_{};
};

}  // namespace tandem::aoti
