#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tandem::cli {

/// One line on stderr that is rewritten while something takes long: "tandem: 340/1000 runs". Shows nothing when stderr
/// is no terminal or within the first second.
class Progress {
 public:
  Progress(std::string noun, std::uint64_t total);
  ~Progress();  ///< Clears the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string noun_;
  std::uint64_t total_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace tandem::cli
