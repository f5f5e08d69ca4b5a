#pragma once

#include <tandem/backend.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem::aoti {

/// Keys under which one thing may be stored; the first that exists is it. Never empty.
using Keys = std::vector<std::string>;

/// One constant that is stored under its name.
struct ConstantEntry {
  std::string fqn{};
  std::string storage_key{};
  std::uint64_t storage_bytes = 0;
  ScalarType dtype = ScalarType::Float;
  std::int32_t device_type = 0;     ///< 0 CPU, 1 CUDA.
  std::int64_t storage_offset = 0;  ///< In elements.
  std::vector<std::int64_t> sizes{};
  std::vector<std::int64_t> strides{};  ///< In elements.
};

/// What a delegate's payload names: a library, and its weights.
struct Payload {
  Keys library_keys{};
  /// One blob, laid out in the library's own order, or one entry per constant.
  std::variant<Keys, std::vector<ConstantEntry>> weights{};
};

/// Reads the three generations of payloads: empty (ExecuTorch 1.2), two keys as text (1.4), `ETCUDAFQN3` (1.5).
///
/// Errors: InvalidProgram, naming the field and the offset in `payload`.
/// Source: ExecuTorch backends/aoti and backends/cuda preprocess, 1.2.0, 1.4.1 and 1.5.1; docs/delegates-aoti.md.
[[nodiscard]] Result<Payload> parse_payload(std::span<const std::byte> payload, std::string_view method);

struct FoundBytes {
  std::string_view key{};  ///< One of the keys that were asked for.
  std::span<const std::byte> bytes{};
};

/// Errors: NotFound, none of the keys is there (the first one's error); what NamedData::find returns.
[[nodiscard]] Result<FoundBytes> find_first(const NamedData& named_data, const Keys& keys);

}  // namespace tandem::aoti
