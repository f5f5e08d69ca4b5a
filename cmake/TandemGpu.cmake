# The SDKs of GPUs. Public headers depend on none of them.
#
# tandem_cuda, tandem_hip: interface targets for tests, with TANDEM_HAS_<SDK>; empty where the option is off.
# tandem_gpu_sources(<cuda|hip> <source>...): sources of tandem_objects that see TANDEM_HAS_<SDK>, if it is on.
add_library(tandem_cuda INTERFACE)
add_library(tandem_hip INTERFACE)

if(TANDEM_CUDA)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR
      "TANDEM_CUDA: no CUDA toolkit found. Install one (NVIDIA's repository for the distribution, package "
      "cuda-minimal-build-13-0) and put its nvcc on PATH, or configure with -D CUDAToolkit_ROOT=<its folder>.")
  endif()
  message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION}: ${CUDAToolkit_BIN_DIR}")
  # Delegates may call convolutions; the library itself is looked for when one does.
  find_path(TANDEM_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT TANDEM_CUDNN_INCLUDE)
    message(FATAL_ERROR "TANDEM_CUDA: no cudnn.h found. Install cuDNN 9's headers (NVIDIA's repository: "
                        "cudnn9-cuda-13; PyPI: nvidia-cudnn-cu13), or set -D TANDEM_CUDNN_INCLUDE=<their folder>.")
  endif()
  target_include_directories(tandem_cuda SYSTEM INTERFACE ${TANDEM_CUDNN_INCLUDE})
  # The static runtime finds the driver at run time: one Tandem runs with any driver, and without one.
  list(APPEND TANDEM_PRIVATE_LIBRARIES CUDA::cudart_static)
  target_link_libraries(tandem_cuda INTERFACE CUDA::cudart_static)
  target_compile_definitions(tandem_cuda INTERFACE TANDEM_HAS_CUDA)
endif()

if(TANDEM_HIP)
  find_path(TANDEM_HIP_INCLUDE hip/hip_runtime_api.h HINTS ENV ROCM_PATH PATH_SUFFIXES include)
  find_library(TANDEM_HIP_LIBRARY amdhip64 HINTS ENV ROCM_PATH PATH_SUFFIXES lib)
  if(NOT TANDEM_HIP_INCLUDE OR NOT TANDEM_HIP_LIBRARY)
    message(FATAL_ERROR "TANDEM_HIP: no HIP found. Install it (Debian, Ubuntu: libamdhip64-dev), or set ROCM_PATH.")
  endif()
  add_library(tandem_amdhip64 INTERFACE)
  target_include_directories(tandem_amdhip64 SYSTEM INTERFACE ${TANDEM_HIP_INCLUDE})
  target_link_libraries(tandem_amdhip64 INTERFACE ${TANDEM_HIP_LIBRARY})
  list(APPEND TANDEM_PRIVATE_LIBRARIES tandem_amdhip64)
  target_compile_definitions(tandem_hip INTERFACE TANDEM_HAS_HIP __HIP_PLATFORM_AMD__)
endif()

function(tandem_gpu_sources sdk)
  target_sources(tandem_objects PRIVATE ${ARGN})
  get_target_property(definitions tandem_${sdk} INTERFACE_COMPILE_DEFINITIONS)
  if(definitions)
    set_property(SOURCE ${ARGN} TARGET_DIRECTORY tandem_objects APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
  endif()
endfunction()
