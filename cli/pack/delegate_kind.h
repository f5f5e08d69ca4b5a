#pragma once

#include "cli/pack/manifest_array.h"
#include "cli/pack/manifest_node.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How delegates of one kind are written into a program. Each kind has a file of its own, kind_*.cpp.
namespace tandem::cli {

/// Data that a delegate asks for by key.
struct EncodedData {
  std::string key{};
  std::vector<std::byte> bytes{};
  std::uint64_t alignment = 1;
  bool external = false;  ///< In the data file.
};

struct EncodedDelegate {
  std::vector<std::byte> payload{};
  std::vector<EncodedData> data{};
};

/// What a manifest says about one delegate, in the terms of its kind.
/// Thread-safety: immutable.
class DelegateSource {
 public:
  virtual ~DelegateSource() = default;
  /// Errors: InvalidArgument and what `files` says, with the place in the manifest.
  [[nodiscard]] virtual Result<EncodedDelegate> encode(const ReadFile& files) const = 0;
};

struct DelegateKind {
  std::string_view name{};                       ///< "aoti".
  std::span<const std::string_view> backends{};  ///< Ids that are of this kind unless the manifest says otherwise.
  std::span<const std::string_view> keys{};      ///< Keys of a delegate that this kind reads.
  /// Reads them; `delegate` has no other keys but those that all kinds have.
  Result<std::shared_ptr<const DelegateSource>> (*read)(const ManifestNode& delegate,
                                                        std::string_view backend) = nullptr;
};

/// The last one takes any backend.
[[nodiscard]] std::span<const DelegateKind> delegate_kinds() noexcept;

[[nodiscard]] const DelegateKind& aoti_kind() noexcept;
[[nodiscard]] const DelegateKind& custom_kind() noexcept;
[[nodiscard]] const DelegateKind& tensorrt_kind() noexcept;
[[nodiscard]] const DelegateKind& payload_kind() noexcept;

}  // namespace tandem::cli
