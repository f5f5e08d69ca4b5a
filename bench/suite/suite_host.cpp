// Tandem on the host, beside plain calls of the same code: bench/suite/scenario.h has the scenarios.
#include "bench/suite/command.h"
#include "bench/suite/counters.h"

int main(int argc, char** argv) {
  using namespace tandem::suite;  // NOLINT(google-build-using-namespace): of this program alone
  return run_command(
      {.name = "tandem_suite_host",
       .about = "Programs of Tandem's own on the host, beside plain calls of the same code",
       .make_machine = [](int /*device*/) { return tandem::Result<std::unique_ptr<Machine>>{make_host_machine()}; },
       .allocations = count_allocations,
       .system_calls = count_system_calls},
      argc, argv);
}
