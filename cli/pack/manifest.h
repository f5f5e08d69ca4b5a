#pragma once

#include "cli/pack/delegate_kind.h"
#include "cli/pack/manifest_node.h"

#include <tandem/device.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What a manifest of `tandem pack` says, as plain data. Names are resolved and everything is checked that needs no
/// other file. The format is described in docs/pack.md.
namespace tandem::cli {

/// Data in the program, or in the data file, under a key.
struct ManifestData {
  std::string key{};
  ManifestSpot spot{};
  FileReference file{};
  std::uint64_t alignment = 1;
  bool external = false;  ///< In the data file.
};

/// A tensor's first bytes: nothing, numbers of the manifest, a file, or the data under a key (an index into
/// Manifest::data).
using ManifestContents = std::variant<std::monostate, std::vector<std::byte>, FileReference, std::size_t>;

struct ManifestTensor {
  enum class Role : std::uint8_t { Plain, Constant, Mutable };

  ManifestArray array{};
  bool dynamic = false;
  DeviceId device{};
  Role role = Role::Plain;
  ManifestContents contents{};
  std::string name{};   ///< Of a mutable tensor.
  bool shared = false;  ///< All methods have one mutable tensor of this name.
};

/// Indices into ManifestMethod::values, of whole numbers.
struct ManifestIntList {
  std::vector<std::size_t> items{};
};
/// Indices of tensors; nullopt is none.
struct ManifestTensorList {
  std::vector<std::optional<std::size_t>> items{};
  bool optional = false;
};

/// monostate is none.
using ManifestContent = std::variant<std::monostate, std::int64_t, bool, double, std::string, ManifestTensor,
                                     ManifestIntList, std::vector<double>, std::vector<bool>, ManifestTensorList>;

struct ManifestValue {
  std::string name{};  ///< Empty if it has none: a number among arguments.
  ManifestSpot spot{};
  ManifestContent content{};
};

struct ManifestDelegate {
  std::string name{};
  ManifestSpot spot{};
  std::string backend{};
  std::string_view kind{};
  bool inline_payload = false;
  std::vector<std::pair<std::string, std::string>> compile_specs{};
  std::shared_ptr<const DelegateSource> source{};
};

/// One argument of a step.
struct ManifestArg {
  ManifestSpot spot{};
  std::size_t value = 0;
};

struct ManifestStep {
  enum class Kind : std::uint8_t { Op, Delegate, Move, JumpIfFalse, Free, Label };

  Kind kind = Kind::Op;
  ManifestSpot spot{};
  std::string op{};                 ///< Op.
  std::size_t target = 0;           ///< Delegate: its index; JumpIfFalse, Label: the label's.
  std::vector<ManifestArg> args{};  ///< Move: from, to; JumpIfFalse: the condition; Free: the tensor.
};

struct ManifestMethod {
  std::string name{};
  ManifestSpot spot{};
  std::vector<ManifestValue> values{};
  std::vector<ManifestDelegate> delegates{};
  std::vector<ManifestArg> inputs{};
  std::vector<ManifestArg> outputs{};
  std::vector<ManifestStep> steps{};
  std::size_t label_count = 0;
};

struct Manifest {
  std::vector<ManifestData> data{};
  std::vector<ManifestMethod> methods{};
};

/// Reads a manifest; opens no file. `file` is its path, for errors.
///
/// Errors: InvalidArgument, with line, column and key: no JSON, a key that is unknown, missing or there twice, a value
/// of
///   another kind than expected, a name that nothing has, numbers that do not fit, an operator that Tandem does not
///   have or another number of arguments than it takes.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, const std::string& file);

}  // namespace tandem::cli
