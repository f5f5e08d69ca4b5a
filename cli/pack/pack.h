#pragma once

#include "cli/pack/manifest.h"

#include <tandem/program_builder.h>
#include <tandem/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

struct PackedDelegate {
  std::string name{};
  std::string backend{};
  std::string kind{};
  std::uint64_t payload_bytes = 0;
};

struct PackedMethod {
  std::string name{};
  std::uint64_t values = 0;
  std::uint64_t instructions = 0;
  std::vector<PackedDelegate> delegates{};
};

struct PackedData {
  std::string key{};
  std::uint64_t bytes = 0;
  bool external = false;
};

struct PackedProgram {
  BuiltProgram files{};
  std::vector<PackedMethod> methods{};
  std::vector<PackedData> data{};
};

/// Makes the files of a program. What it gives was read back: the files are sound, and operators take the arguments
/// that they get.
///
/// Mutable tensors get a place each: in arena 1, those that methods share in arena 2, those on a GPU in an arena there.
/// Everything else is left to whoever runs the program.
///
/// Errors: as `files`; InvalidArgument, a file that does not fit its tensor, two data of one key, a delegate's
/// contents;
///   InvalidType, NotSupported, InvalidProgram, what an operator refuses and what no file can hold. All with line,
///   column and key of the manifest.
[[nodiscard]] Result<PackedProgram> pack(const Manifest& manifest, const ReadFile& files);

}  // namespace tandem::cli
