#pragma once

#include "cli/compare.h"

#include <tandem/method.h>
#include <tandem/result.h>
#include <tandem/shared_buffers.h>
#include <tandem/value.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// Case folders: a program with recorded inputs and expected outputs. The format is docs/case-folder.md.
namespace tandem::cli {

/// One recorded input or output.
struct CaseValue {
  Value value{};                          ///< Undefined tensor for tensors: load_values() reads them.
  std::string file{};                     ///< Tensors: name within the folder.
  ScalarType dtype = ScalarType::Float;   ///< Tensors.
  std::vector<std::int64_t> shape{};      ///< Tensors; with the axis that counts calls, if there is one.
  std::vector<std::uint8_t> dim_order{};  ///< Tensors: layout in memory.
  std::string field{};                    ///< Where it stands in meta.json.
};

struct Case {
  std::vector<CaseValue> inputs{};
  std::vector<CaseValue> outputs{};
  Tolerance tolerance{};
  std::int64_t repeat = 0;  ///< Not 0: the first axis of every tensor counts this many calls.
  bool reload = false;      ///< Starts from a freshly loaded method.
};

/// Inputs that the method must refuse.
struct Refusal {
  std::vector<CaseValue> inputs{};
  std::string reason{};
};

struct CaseMethod {
  std::string name{};
  std::vector<Case> cases{};
  std::vector<Refusal> failures{};
  std::vector<InputBounds> bounds{};  ///< As stated, and one for every axis of size 0 in a case that must succeed.
};

struct CaseStep {
  std::size_t method = 0;
  std::size_t index = 0;  ///< Into the method's cases.
};

struct CaseFolder {
  std::filesystem::path folder{};
  std::filesystem::path program{};
  std::vector<std::filesystem::path> data_files{};
  SharedBuffers shared_buffers{};
  std::vector<CaseMethod> methods{};
  std::vector<CaseStep> order{};  ///< Every case to run, over all methods.
};

/// Reads and checks `folder`/meta.json.
///
/// Errors: NotFound, AccessFailed (the file); InvalidArgument (no JSON, with offset; a missing or malformed field, by
///   name; a file name that leaves the folder).
[[nodiscard]] Result<CaseFolder> read_case_folder(const std::filesystem::path& folder);

/// Bounds of all methods, for MethodOptions.
[[nodiscard]] std::vector<InputBounds> input_bounds_of(const CaseFolder& folder);

/// Reads the tensors' files; other values are copied.
///
/// Lifetime: tensors keep their files mapped.
/// Errors: as read_npy(); InvalidArgument, a file's dtype or shape differs from meta.json.
[[nodiscard]] Result<std::vector<Value>> load_values(const std::filesystem::path& folder,
                                                     std::span<const CaseValue> values);

/// The values of one call: row `call` of each tensor if the case repeats, in the layout that meta.json gives.
///
/// Errors: OutOfMemory.
[[nodiscard]] Result<std::vector<Value>> values_of_call(std::span<const Value> loaded,
                                                        std::span<const CaseValue> described, bool repeats,
                                                        std::int64_t call);

}  // namespace tandem::cli
