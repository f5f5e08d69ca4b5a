#include "cli/bench/machine.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

namespace tandem::cli::bench {
namespace {

std::string contents(const char* file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

std::string compiler() {
#ifdef __clang__
  return __VERSION__;  // begins with the name
#else
  return "GCC " __VERSION__;
#endif
}

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

std::string quoted(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string{word};
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string processor_name(const std::string& cpuinfo) {
  const std::size_t key = cpuinfo.find("model name");
  if (key == std::string::npos) return {};
  const std::size_t end = cpuinfo.find('\n', key);
  const std::size_t colon = cpuinfo.find(':', key);
  if (colon >= end) return {};
  const std::size_t begin = cpuinfo.find_first_not_of(" \t", colon + 1);
  return begin >= end ? std::string{} : cpuinfo.substr(begin, end - begin);
}

std::string command_line(const std::string& words) {
  std::string line;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('\0', begin), words.size());
    line += (line.empty() ? "" : " ") + quoted(std::string_view{words}.substr(begin, end - begin));
    begin = end + 1;
  }
  return line;
}

Machine this_machine() {
  return {.cpu = processor_name(contents("/proc/cpuinfo")),
          .threads = std::thread::hardware_concurrency(),
          .compiler = compiler(),
          .build_type = TANDEM_BUILD_TYPE,
          .version = TANDEM_VERSION,
          .command = command_line(contents("/proc/self/cmdline"))};
}

}  // namespace tandem::cli::bench
