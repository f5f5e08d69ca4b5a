#include "cli/bench/cuda/launches.h"

#include "backends/aoti/cuda_backend.h"
#include "backends/aoti/cuda_functions.h"

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace tandem::cli::bench::cuda {
namespace {

/// What the delegates' launches on this thread go to, beside the driver.
struct Recording {
  std::vector<Launch> launches{};
  Status status{};
};
thread_local Recording* recording = nullptr;

/// A function of the driver that the table of CudaBackend does not have; null if the driver has none.
template <class Function>
Function driver_function(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, name));
}

using ParameterInfo = CUresult (*)(CUfunction, std::size_t, std::size_t*, std::size_t*);
using AddKernelNode = CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                   const CUDA_KERNEL_NODE_PARAMS*);

Error no_function(const char* name) { return Error{ErrorCode::NotSupported, "the driver has no " + std::string{name}}; }

Status note(Recording& to, CUfunction function, const std::array<unsigned, 7>& shape, void** arguments) {
  static const auto kParameterInfo = driver_function<ParameterInfo>("cuFuncGetParamInfo");
  if (kParameterInfo == nullptr) return no_function("cuFuncGetParamInfo");
  if (arguments == nullptr) return Error{ErrorCode::NotSupported, "a launch that has its arguments in one buffer"};
  Launch launch{.function = function, .shape = shape};
  std::size_t offset = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; kParameterInfo(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
    const auto* from = static_cast<const std::byte*>(arguments[i]);
    launch.arguments.emplace_back(from, from + bytes);
  }
  for (auto& argument : launch.arguments) launch.pointers.push_back(argument.data());
  to.launches.push_back(std::move(launch));
  return {};
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                       void** extra) {
  if (recording != nullptr && recording->status.ok()) {
    recording->status =
        note(*recording, function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes}, arguments);
  }
  return aoti::cuda_functions().launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                              stream, arguments, extra);
}

CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (recording != nullptr && recording->status.ok()) {
    recording->status = Error{ErrorCode::NotSupported, "a launch with attributes"};
  }
  return aoti::cuda_functions().launch_kernel_ex(config, function, arguments, extra);
}

Status launch_error(CUresult code, const char* call) {
  if (code == CUDA_SUCCESS) return {};
  return Error{ErrorCode::BackendFailed, std::string{call} + " failed"}.with_native(Origin::Cuda, code);
}

Status add_node(AddKernelNode add, cudaGraph_t graph, const Launch& launch, CUgraphNode& last) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = launch.function;
  parameters.gridDimX = launch.shape[0];
  parameters.gridDimY = launch.shape[1];
  parameters.gridDimZ = launch.shape[2];
  parameters.blockDimX = launch.shape[3];
  parameters.blockDimY = launch.shape[4];
  parameters.blockDimZ = launch.shape[5];
  parameters.sharedMemBytes = launch.shape[6];
  parameters.kernelParams = const_cast<void**>(launch.pointers.data());
  CUgraphNode node{};
  TANDEM_CHECK_OK(launch_error(add(&node, graph, &last, last == nullptr ? 0 : 1, &parameters), "cuGraphAddKernelNode"));
  last = node;
  return {};
}

}  // namespace

const BackendRegistry& recording_backends() {
  static const BackendRegistry* const kRegistry = [] {  // never destroyed: methods may outlive static objects
    auto* functions = new aoti::CudaFunctions{aoti::cuda_functions()};
    functions->launch_kernel = launch_kernel;
    functions->launch_kernel_ex = launch_kernel_ex;
    auto* made = new BackendRegistry;
    ignore(made->register_backend("CudaBackend", aoti::make_cuda_backend(*functions)), "the registry is empty");
    return made;
  }();
  return *kRegistry;
}

Result<std::vector<Launch>> record_launches(const std::function<Status()>& run) {
  Recording noted;
  recording = &noted;
  Status ran = run();
  recording = nullptr;
  if (!ran.ok()) return std::move(ran).error();
  if (!noted.status.ok()) return std::move(noted.status).error();
  return std::move(noted.launches);
}

Status launch_all(const std::vector<Launch>& launches, cudaStream_t stream) {
  for (const Launch& launch : launches) {
    const auto& s = launch.shape;
    TANDEM_CHECK_OK(
        launch_error(aoti::cuda_functions().launch_kernel(launch.function, s[0], s[1], s[2], s[3], s[4], s[5], s[6],
                                                          stream, const_cast<void**>(launch.pointers.data()), nullptr),
                     "cuLaunchKernel"));
  }
  return {};
}

Result<UniqueGraph> make_graph(const std::vector<Launch>& launches) {
  static const auto kAddKernelNode = driver_function<AddKernelNode>("cuGraphAddKernelNode_v2");
  if (kAddKernelNode == nullptr) return no_function("cuGraphAddKernelNode_v2");
  cudaGraph_t graph{};
  if (const cudaError_t code = cudaGraphCreate(&graph, 0); code != cudaSuccess) {
    return aoti::cuda_functions().error(code, "cudaGraphCreate");
  }
  Status added;
  CUgraphNode last{};
  for (const Launch& launch : launches) {
    if (added.ok()) added = add_node(kAddKernelNode, graph, launch, last);
  }
  cudaGraphExec_t exec{};
  const cudaError_t code = added.ok() ? cudaGraphInstantiate(&exec, graph, 0) : cudaSuccess;
  cudaGraphDestroy(graph);
  if (!added.ok()) return std::move(added).error();
  if (code != cudaSuccess) return aoti::cuda_functions().error(code, "cudaGraphInstantiate");
  return UniqueGraph{exec};
}

}  // namespace tandem::cli::bench::cuda
