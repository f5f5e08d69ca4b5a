#pragma once

#include <string>

namespace tandem::cli::bench {

/// Where and with what something was measured.
struct Machine {
  std::string cpu{};  ///< The processor's name; empty where the system does not tell.
  unsigned threads = 0;
  std::string compiler{};
  std::string build_type{};
  std::string version{};  ///< Of Tandem.
  std::string command{};  ///< The command line, as a shell would take it.
};

/// This process's.
[[nodiscard]] Machine this_machine();

/// "AMD EPYC 9654" from the text of /proc/cpuinfo; empty if it is not in there.
[[nodiscard]] std::string processor_name(const std::string& cpuinfo);
/// One line from the zero-terminated words of /proc/self/cmdline; words with unusual characters are quoted.
[[nodiscard]] std::string command_line(const std::string& words);

}  // namespace tandem::cli::bench
