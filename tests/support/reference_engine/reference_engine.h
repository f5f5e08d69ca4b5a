#pragma once

#include "support/reference_engine/reference_call.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::testing {

struct ReferenceTensor {
  std::string name{};
  bool is_input = true;
  std::vector<std::int64_t> sizes{};  ///< -1 where they vary.
  std::vector<std::int64_t> least{};  ///< Empty: `sizes`.
  std::vector<std::int64_t> most{};
  std::string dtype = "float32";  ///< tandem::name_of(), or a type that no program has.
  std::string format = "linear";
  std::string alias_of{};
  bool on_host = false;
  bool is_shape_value = false;
};

/// A small engine that tests "build": serialize() makes what a blob holds and ReferenceProvider reads.
struct ReferenceEngine {
  static constexpr int kVersion = 3;

  ReferenceOp op = ReferenceOp::Affine;
  float scale = 1;
  float amount = 0;
  std::int64_t spin_cycles = 20000;  ///< Before it reads its inputs; some 10 us on a GPU.
  std::vector<ReferenceTensor> tensors{};
  int auxiliary_streams = 0;  ///< 0 or 1: the first kernel of a run goes there.
  std::int64_t streamable_bytes = 0;
  int version = kVersion;
  std::string capability{};  ///< Of the device that it was built for; empty: any.

  [[nodiscard]] std::string serialize() const;

  /// x -> y. Sizes that are -1 go from `least` to `most`.
  [[nodiscard]] static ReferenceEngine affine(std::vector<std::int64_t> sizes, float scale, float amount,
                                              std::vector<std::int64_t> least = {},
                                              std::vector<std::int64_t> most = {});
  [[nodiscard]] static ReferenceEngine add(std::vector<std::int64_t> sizes);
  [[nodiscard]] static ReferenceEngine sum(std::vector<std::int64_t> sizes, std::vector<std::int64_t> least = {},
                                           std::vector<std::int64_t> most = {});
  /// token, position, cache -> y, cache_out.
  [[nodiscard]] static ReferenceEngine cache(std::int64_t rows, std::int64_t columns);
};

/// A delegate's payload, written field by field so that a test can spoil any of it.
struct BlobParts {
  std::string magic = "TR01";
  std::string metadata{};
  std::string engine{};
  std::uint32_t metadata_offset = 32;
  std::optional<std::uint32_t> metadata_size{};  ///< Empty, here and below: what is right.
  std::optional<std::uint32_t> engine_offset{};
  std::optional<std::uint64_t> engine_size{};

  [[nodiscard]] std::string bytes() const;
};

/// The blob of an engine, with names as an exporter writes them and all aliases of the engine's.
[[nodiscard]] std::string blob_of(const ReferenceEngine& engine);
/// {"io_bindings": ..., ...} with these names.
[[nodiscard]] std::string metadata_of(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                      const std::vector<std::pair<std::string, std::string>>& aliases = {});

}  // namespace tandem::testing
