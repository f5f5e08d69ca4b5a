#pragma once

#include <NvInferRuntime.h>
#include <string>

namespace tandem::nvinfer {

#ifdef TRT_MAJOR_RTX
inline constexpr const char* kProduct = "TensorRT-RTX";
inline constexpr const char* kLibraryStem = "libtensorrt_rtx.so";
#else
inline constexpr const char* kProduct = "TensorRT";
inline constexpr const char* kLibraryStem = "libnvinfer.so";
static_assert(NV_TENSORRT_VERSION >= 100100, "Tandem needs the headers of TensorRT 10.1 or newer");
#endif

/// TensorRT's library, found at run time, so that the plug-in is built with headers alone.
struct Library {
  using CreateRuntime = void* (*)(void* logger, std::int32_t version);
  CreateRuntime create_runtime = nullptr;
  std::string description{};  ///< "libnvinfer.so.10, version 10.13.2"
  std::string why_not{};      ///< Empty: it was found.
};

/// Looks at the first call: the file in TANDEM_TENSORRT_LIBRARY, else the library of the headers' major version, where
/// the dynamic loader looks. Thread-safety: any thread.
[[nodiscard]] const Library& library() noexcept;

}  // namespace tandem::nvinfer
