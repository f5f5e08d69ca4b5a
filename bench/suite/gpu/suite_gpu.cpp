// Tandem on a CUDA GPU, beside the same kernels launched without it: bench/suite/scenario.h has the scenarios.
#include "bench/suite/command.h"
#include "bench/suite/gpu/cuda_machine.h"

int main(int argc, char** argv) {
  using namespace tandem::suite;  // NOLINT(google-build-using-namespace): of this program alone
  return run_command({.name = "tandem_suite_gpu",
                      .about = "Programs of Tandem's own on a GPU, beside the same kernels launched without it",
                      .make_machine = make_cuda_machine,
                      .has_devices = true},
                     argc, argv);
}
