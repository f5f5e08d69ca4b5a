#pragma once

/// Kernels of test libraries: host functions. A module image of the fake driver (fake_cuda.h) is a list of them that
/// ends with a null name. A kernel gets a pointer to each of its arguments, as real ones do.
namespace fake_kernel {

inline constexpr char kMagic[8] = {'f', 'a', 'k', 'e', 'G', 'P', 'U', '\0'};

struct Kernel {
  char magic[8] = {'f', 'a', 'k', 'e', 'G', 'P', 'U', '\0'};
  const char* name = nullptr;
  void (*run)(void** args) = nullptr;
  bool waits = false;  ///< Before it reads or writes, for the kernel before it: griddepcontrol.wait.
};

/// Argument `index`, an address.
template <class T>
T* argument(void** args, int index) {
  return static_cast<T*>(*static_cast<void**>(args[index]));
}

}  // namespace fake_kernel
