#pragma once

// A shared library that speaks AOTInductor's container ABI, from a description of a model. Include this header in the
// only source of the library and define `aoti_model::model()`:
//
//   #include "support/aoti_library/aoti_model.h"
//
//   aoti_model::Model aoti_model::model() {
//     return {.inputs = 1, .outputs = 1, .run = [](Call& call) {
//       const Tensor& x = call.input(0);
//       Tensor y = call.empty(kFloat, {4});
//       for (int i = 0; i < 4; ++i) y.data<float>()[i] = 2 * x.data<float>()[i];
//       call.set_output(0, std::move(y));
//     }};
//   }
//
// Ownership is that of real libraries: inputs are stolen and deleted, outputs are handles that the caller deletes. A
// run allocates nothing on the heap itself. Exceptions become status 1 and a text, except for wrong counts, which
// leave the library as exceptions.
//
// AOTI_MODEL_OLD, defined before the include, leaves out what libraries of torch 2.5 lack.
//
// AOTI_MODEL_CUDA makes a library for CUDA: tensors and constants are on device 0, memory comes from cudaMalloc, and
// what touches it are kernels (fake_kernel.h), loaded by their first launch:
//
//   void add_one(void** args);
//   aoti_model::Model aoti_model::model() {
//     return {.run = [](Call& call) { call.launch("add_one", {...}); }, .kernels = {{"add_one", add_one}}};

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef AOTI_MODEL_CUDA
#include "support/aoti_library/fake_kernel.h"
#endif

struct AtenTensorOpaque;

#ifdef AOTI_MODEL_CUDA
// As in cuda.h, which libraries do without.
struct AotiModelLaunchAttribute {
  int id = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  int padding = 0;
  int value = 1;
  char rest[60]{};
};
struct AotiModelLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  AotiModelLaunchAttribute* attributes;
  unsigned attribute_count;
};

extern "C" {
int cuLaunchKernelEx(const AotiModelLaunchConfig*, void*, void**, void**);
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaEventCreate(void**);
int cudaEventRecord(void*, void*);
int cudaEventDestroy(void*);
int cudaGetDevice(int*);
const char* cudaGetErrorString(int);
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
std::int32_t aoti_torch_create_cuda_stream_guard(void*, std::int32_t, void**);
std::int32_t aoti_torch_delete_cuda_stream_guard(void*);
}
#endif

extern "C" {
std::int32_t aoti_torch_get_data_ptr(AtenTensorOpaque*, void**);
std::int32_t aoti_torch_get_sizes(AtenTensorOpaque*, std::int64_t**);
std::int32_t aoti_torch_get_numel(AtenTensorOpaque*, std::int64_t*);
std::int32_t aoti_torch_delete_tensor_object(AtenTensorOpaque*);
std::int32_t aoti_torch_new_tensor_handle(AtenTensorOpaque*, AtenTensorOpaque**);
std::int32_t aoti_torch_empty_strided(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t,
                                      std::int32_t, std::int32_t, AtenTensorOpaque**);
std::int32_t aoti_torch_create_tensor_from_blob_v2(void*, std::int64_t, const std::int64_t*, const std::int64_t*,
                                                   std::int64_t, std::int32_t, std::int32_t, std::int32_t,
                                                   AtenTensorOpaque**, std::int32_t, const std::uint8_t*, std::int64_t);
std::int32_t aoti_torch__reinterpret_tensor(AtenTensorOpaque*, std::int64_t, const std::int64_t*, const std::int64_t*,
                                            std::int64_t, AtenTensorOpaque**);
std::int32_t aoti_torch_scalar_to_tensor_int64(std::int64_t, AtenTensorOpaque**);
std::int32_t aoti_torch_scalar_to_tensor_float64(double, AtenTensorOpaque**);
std::int32_t aoti_torch_item_float64(AtenTensorOpaque*, double*);
void aoti_torch_check(bool, const char*, const char*, std::uint32_t, const char*);
}

namespace aoti_model {

using Handle = AtenTensorOpaque*;
using Extents = std::initializer_list<std::int64_t>;

inline constexpr std::int32_t kFloat = 6;
inline constexpr std::int32_t kLong = 4;
inline constexpr std::size_t kMax = 16;  ///< Inputs, outputs, constants and dimensions.

#ifdef AOTI_MODEL_CUDA
inline constexpr std::int32_t kDeviceType = 1;
inline constexpr std::int32_t kDeviceIndex = 0;
#else
inline constexpr std::int32_t kDeviceType = 0;
inline constexpr std::int32_t kDeviceIndex = -1;
#endif

inline void require(std::int32_t status, const char* what) {
  if (status != 0) throw std::runtime_error{std::string{what} + " API call failed"};
}

/// Owns one handle.
class Tensor {
 public:
  Tensor() noexcept = default;
  explicit Tensor(Handle handle) noexcept : handle_{handle} {}
  Tensor(Tensor&& other) noexcept : handle_{other.release()} {}
  Tensor& operator=(Tensor&& other) noexcept {
    reset();
    handle_ = other.release();
    return *this;
  }
  ~Tensor() { reset(); }

  [[nodiscard]] Handle get() const noexcept { return handle_; }
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, nullptr); }
  void reset() noexcept {
    if (handle_ != nullptr) aoti_torch_delete_tensor_object(release());
  }
  template <class T>
  [[nodiscard]] T* data() const {
    void* data = nullptr;
    require(aoti_torch_get_data_ptr(handle_, &data), "get_data_ptr");
    return static_cast<T*>(data);
  }
  [[nodiscard]] std::int64_t size(std::size_t dimension) const {
    std::int64_t* sizes = nullptr;
    require(aoti_torch_get_sizes(handle_, &sizes), "get_sizes");
    return sizes[dimension];
  }
  [[nodiscard]] Tensor view(Extents sizes, Extents strides, std::int64_t offset) const {
    Handle out = nullptr;
    require(aoti_torch__reinterpret_tensor(handle_, static_cast<std::int64_t>(sizes.size()), sizes.begin(),
                                           strides.begin(), offset, &out),
            "_reinterpret_tensor");
    return Tensor{out};
  }

 private:
  Handle handle_ = nullptr;
};

/// One constant: float32, contiguous.
struct Constant {
  const char* name = "";
  const char* fqn = "";
  std::int32_t type = 1;  ///< 1 parameter, 2 buffer, 3 tensor constant.
  std::int64_t count = 0;
  bool folded = false;

  [[nodiscard]] std::size_t bytes() const noexcept {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    return kDeviceType == 0 ? (bytes + 63) / 64 * 64 : bytes;  // as in the blobs of real libraries
  }
};

#ifdef AOTI_MODEL_CUDA
/// The kernels of a container.
class Kernels {
 public:
  explicit Kernels(const void* image) noexcept : image_{image} {}
  /// `overlaps`: with programmatic stream serialization, as libraries launch that were exported with
  /// triton.enable_pdl.
  void launch(const char* name, void* stream, std::initializer_list<void*> args, bool overlaps) {
    void* function = nullptr;
    if (module_ == nullptr) require(cuModuleLoadData(&module_, image_), "cuModuleLoadData");
    require(cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
    std::array<void*, kMax> values{};
    std::array<void*, kMax> pointers{};
    std::size_t count = 0;
    for (void* arg : args) {
      values[count] = arg;
      pointers[count] = &values[count];
      ++count;
    }
    if (!overlaps) {
      require(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, pointers.data(), nullptr), "cuLaunchKernel");
      return;
    }
    AotiModelLaunchAttribute attribute;
    const AotiModelLaunchConfig config{{1, 1, 1}, {32, 1, 1}, 0, stream, &attribute, 1};
    require(cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "cuLaunchKernelEx");
  }

 private:
  const void* image_;
  void* module_ = nullptr;  // never unloaded, as in real libraries
};
#endif

/// One run.
class Call {
 public:
#ifdef AOTI_MODEL_CUDA
  /// Arguments are addresses in device memory.
  void launch(const char* name, std::initializer_list<void*> args) const { kernels->launch(name, stream, args, false); }
  void launch_overlapping(const char* name, std::initializer_list<void*> args) const {
    kernels->launch(name, stream, args, true);
  }
  Kernels* kernels = nullptr;
  void* stream = nullptr;
#endif
  Call(Handle* inputs, std::size_t input_count, Handle* outputs, float* const* constants) noexcept
      : outputs_{outputs}, constants_{constants} {
    for (std::size_t i = 0; i < input_count; ++i) inputs_[i] = Tensor{std::exchange(inputs[i], nullptr)};
  }

  [[nodiscard]] const Tensor& input(std::size_t index) const noexcept { return inputs_[index]; }
  [[nodiscard]] float* constant(std::size_t index) const noexcept { return constants_[index]; }
  void set_output(std::size_t index, Tensor&& tensor) noexcept { outputs_[index] = tensor.release(); }
  /// A second slot for a handle that another output has.
  void repeat_output(std::size_t index, std::size_t other) noexcept { outputs_[index] = outputs_[other]; }

  [[nodiscard]] static Tensor empty(std::int32_t dtype, Extents sizes, Extents strides) {
    Handle out = nullptr;
    require(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.begin(), strides.begin(), dtype,
                                     kDeviceType, kDeviceIndex, &out),
            "empty_strided");
    return Tensor{out};
  }
  /// Contiguous.
  [[nodiscard]] static Tensor empty(std::int32_t dtype, Extents sizes) {
    Handle out = nullptr;
    require(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.begin(), nullptr, dtype,
                                     kDeviceType, kDeviceIndex, &out),
            "empty_strided");
    return Tensor{out};
  }

 private:
  std::array<Tensor, kMax> inputs_{};
  Handle* outputs_;
  float* const* constants_;
};

struct Model {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  void (*run)(Call&) = nullptr;
  std::vector<Constant> constants{};
  void (*fold)(float* const* constants) = nullptr;  ///< Computes the folded constants in place.
#ifdef AOTI_MODEL_CUDA
  const void* kernels = nullptr;  ///< A list of fake_kernel.h, or what a real driver loads.
#endif
};

/// The library's own.
Model model();

/// Memory of one constant that the container owns.
class Block {
 public:
  explicit Block(std::size_t bytes) {
#ifdef AOTI_MODEL_CUDA
    require(cudaMalloc(&data_, bytes), "cudaMalloc");
#else
    data_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
#endif
  }
  Block(Block&& other) noexcept : data_{std::exchange(other.data_, nullptr)} {}
  Block& operator=(Block&&) = delete;
  ~Block() {
#ifdef AOTI_MODEL_CUDA
    if (data_ != nullptr) cudaFree(data_);
#else
    std::free(data_);
#endif
  }
  void fill(const std::uint8_t* from, std::size_t bytes) {
#ifdef AOTI_MODEL_CUDA
    require(cudaMemcpy(data_, from, bytes, 1), "cudaMemcpy");
#else
    std::memcpy(data_, from, bytes);
#endif
  }
  [[nodiscard]] float* data() const noexcept { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

struct Container {
  Model description = model();
  std::vector<Block> memory{};    ///< Of constants that the container owns.
  std::vector<Handle> handles{};  ///< One per constant; borrowed or owned.
  std::array<float*, kMax> constants{};
#ifdef AOTI_MODEL_CUDA
  Kernels kernels{description.kernels};
#endif

  Container() : handles(description.constants.size()) {}
  ~Container() {
    // Handles of constants that others manage are never deleted, as in real libraries.
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i] != nullptr && !memory.empty()) aoti_torch_delete_tensor_object(handles[i]);
    }
  }
};

struct ConstantPair {
  const char* name;
  Handle handle;
};

inline std::string& last_error() {
  thread_local std::string text;  // with a destructor, as in real libraries
  return text;
}

template <class Body>
std::int32_t guarded(Body&& body) noexcept {
  try {
    last_error().clear();
    body();
    return 0;
  } catch (const std::exception& error) {
    last_error() = error.what();
    std::cerr << "Error: " << error.what() << std::endl;  // as real libraries do
    return 1;
  } catch (...) {
    last_error() = "unknown";
    return 1;
  }
}

inline Container& self(void* container) { return *static_cast<Container*>(container); }

inline std::int32_t run(void* container, Handle* inputs, std::size_t input_count, Handle* outputs,
                        std::size_t output_count, [[maybe_unused]] void* stream) {
  Container& c = self(container);
  if (input_count != c.description.inputs || output_count != c.description.outputs) {
    throw std::runtime_error{"wrong number of inputs or outputs"};
  }
  return guarded([&] {
    Call call{inputs, input_count, outputs, c.constants.data()};
#ifdef AOTI_MODEL_CUDA
    void* guard = nullptr;
    require(aoti_torch_create_cuda_stream_guard(stream, kDeviceIndex, &guard), "create_cuda_stream_guard");
    call.kernels = &c.kernels;
    call.stream = stream;
    c.description.run(call);
    require(aoti_torch_delete_cuda_stream_guard(guard), "delete_cuda_stream_guard");
#else
    c.description.run(call);
#endif
  });
}

}  // namespace aoti_model

#define AOTI_MODEL_EXPORT extern "C" __attribute__((visibility("default"))) std::int32_t
#define AOTI_CONTAINER(name) AOTI_MODEL_EXPORT AOTInductorModelContainer##name

AOTI_CONTAINER(CreateWithDevice)(void** out, std::size_t, const char*, const char*) {
  return aoti_model::guarded([&] {
#ifdef AOTI_MODEL_CUDA
    int device = -1;
    aoti_model::require(cudaGetDevice(&device), "cudaGetDevice");
    if (device != aoti_model::kDeviceIndex) throw std::runtime_error{"another device is current"};
#endif
    *out = new aoti_model::Container;
  });
}
AOTI_CONTAINER(Delete)(void* container) {
  return aoti_model::guarded([&] { delete &aoti_model::self(container); });
}
AOTI_CONTAINER(GetNumInputs)(void* container, std::size_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.inputs; });
}
AOTI_CONTAINER(GetNumOutputs)(void* container, std::size_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.outputs; });
}
AOTI_CONTAINER(GetInputName)(void*, std::size_t index, const char** out) {
  static constexpr const char* kNames[] = {"arg0_1", "arg1_1", "arg2_1", "arg3_1"};
  return aoti_model::guarded([&] { *out = kNames[index % 4]; });
}
AOTI_CONTAINER(GetNumConstants)(void* container, std::size_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.size(); });
}
AOTI_CONTAINER(GetConstantName)(void* container, std::size_t index, const char** out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.at(index).name; });
}
AOTI_CONTAINER(GetConstantOriginalFQN)(void* container, std::size_t index, const char** out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.at(index).fqn; });
}
AOTI_CONTAINER(GetConstantFromFolded)(void* container, std::size_t index, bool* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.at(index).folded; });
}
AOTI_CONTAINER(GetConstantType)(void* container, std::size_t index, std::int32_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.at(index).type; });
}
AOTI_CONTAINER(GetConstantDtype)(void*, std::size_t, std::int32_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::kFloat; });
}
AOTI_CONTAINER(GetConstantDataSize)(void* container, std::size_t index, std::size_t* out) {
  return aoti_model::guarded([&] { *out = aoti_model::self(container).description.constants.at(index).bytes(); });
}

AOTI_MODEL_EXPORT AOTInductorModelUpdateConstantsFromBlob(void* container, const std::uint8_t* blob) {
  return aoti_model::guarded([&] {
    auto& c = aoti_model::self(container);
    for (std::size_t i = 0; i < c.description.constants.size(); ++i) {
      const aoti_model::Constant& constant = c.description.constants[i];
      auto& memory = c.memory.emplace_back(constant.bytes());
      c.constants[i] = memory.data();
      if (constant.folded) continue;
      memory.fill(blob, constant.bytes());
      blob += constant.bytes();
      const std::int64_t stride = 1;
      aoti_model::require(aoti_torch_create_tensor_from_blob_v2(memory.data(), 1, &constant.count, &stride, 0,
                                                                aoti_model::kFloat, aoti_model::kDeviceType,
                                                                aoti_model::kDeviceIndex, &c.handles[i], 0, nullptr, 0),
                          "create_tensor_from_blob_v2");
    }
  });
}

AOTI_CONTAINER(RunConstantFolding)(void* container, bool, [[maybe_unused]] void* stream, void*) {
  return aoti_model::guarded([&] {
#ifdef AOTI_MODEL_CUDA
    void* done = nullptr;
    aoti_model::require(cudaEventCreate(&done), "cudaEventCreate");
    aoti_model::require(cudaEventRecord(done, stream), "cudaEventRecord");
    aoti_model::require(cudaEventDestroy(done), "cudaEventDestroy");
#endif
    auto& c = aoti_model::self(container);
    for (std::size_t i = 0; i < c.description.constants.size(); ++i) {
      if (!c.description.constants[i].folded || c.handles[i] != nullptr) continue;
      c.handles[i] = aoti_model::Call::empty(aoti_model::kFloat, {c.description.constants[i].count}).release();
      void* data = nullptr;
      aoti_model::require(aoti_torch_get_data_ptr(c.handles[i], &data), "get_data_ptr");
      c.constants[i] = static_cast<float*>(data);
    }
    if (c.description.fold != nullptr) c.description.fold(c.constants.data());
  });
}

#ifdef AOTI_MODEL_OLD

AOTI_CONTAINER(Run)
(void* container, aoti_model::Handle* inputs, std::size_t input_count, aoti_model::Handle* outputs,
 std::size_t output_count, void* stream, void*) {
  return aoti_model::run(container, inputs, input_count, outputs, output_count, stream);
}

#else

AOTI_CONTAINER(RunSingleThreaded)
(void* container, aoti_model::Handle* inputs, std::size_t input_count, aoti_model::Handle* outputs,
 std::size_t output_count, void* stream, void*) {
  return aoti_model::run(container, inputs, input_count, outputs, output_count, stream);
}

AOTI_CONTAINER(UpdateUserManagedConstantBufferPairs)
(void* container, const aoti_model::ConstantPair* pairs, std::size_t count, bool, bool validate_full) {
  return aoti_model::guarded([&] {
    auto& c = aoti_model::self(container);
    for (std::size_t i = 0; i < c.description.constants.size(); ++i) {
      const aoti_model::Constant& constant = c.description.constants[i];
      const aoti_model::ConstantPair* found = nullptr;
      for (std::size_t k = 0; k < count; ++k) {
        if (std::strcmp(pairs[k].name, constant.name) == 0) found = &pairs[k];
      }
      if (found == nullptr) {
        if (validate_full && !constant.folded) throw std::runtime_error{std::string{"missing "} + constant.name};
        continue;
      }
      aoti_model::require(aoti_torch_new_tensor_handle(found->handle, &c.handles[i]), "new_tensor_handle");
      void* data = nullptr;
      aoti_model::require(aoti_torch_get_data_ptr(c.handles[i], &data), "get_data_ptr");
      c.constants[i] = static_cast<float*>(data);
    }
  });
}

AOTI_MODEL_EXPORT AOTInductorGetLastError(const char** out) {
  *out = aoti_model::last_error().c_str();
  return 0;
}

#endif

#undef AOTI_CONTAINER
#undef AOTI_MODEL_EXPORT
