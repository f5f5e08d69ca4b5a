// For CUDA, and asks for functions that Tandem does not supply.
#define AOTI_MODEL_CUDA
#include "support/aoti_library/aoti_model.h"

extern "C" {
int cudaDeviceSynchronize();
int cublasCreate_v2(void**);
int cuCtxSynchronize();
int aoti_torch_cuda_topk();
}

aoti_model::Model aoti_model::model() {
  return {.inputs = 1, .outputs = 1, .run = [](Call&) {
            void* handle = nullptr;
            require(cudaDeviceSynchronize() + cublasCreate_v2(&handle) + cuCtxSynchronize() + aoti_torch_cuda_topk(),
                    "");
          }};
}
