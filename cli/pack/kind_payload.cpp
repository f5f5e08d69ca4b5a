#include "cli/pack/delegate_kind.h"

/// A payload that somebody else made, verbatim.
namespace tandem::cli {
namespace {

class PayloadSource final : public DelegateSource {
 public:
  explicit PayloadSource(FileReference payload) : payload_{std::move(payload)} {}

  Result<EncodedDelegate> encode(const ReadFile& files) const override {
    EncodedDelegate out;
    if (payload_.name.empty()) return out;
    TANDEM_TRY(const std::span<const std::byte> bytes, load_bytes(payload_, files));
    out.payload.assign(bytes.begin(), bytes.end());
    return out;
  }

 private:
  FileReference payload_;  ///< Without a name: no payload.
};

Result<std::shared_ptr<const DelegateSource>> read(const ManifestNode& delegate, std::string_view /*backend*/) {
  FileReference payload;
  if (const auto node = delegate.find("payload")) {
    TANDEM_TRY(payload, read_file_reference(*node));
  }
  return std::make_shared<const PayloadSource>(std::move(payload));
}

}  // namespace

const DelegateKind& payload_kind() noexcept {
  static constexpr std::string_view kKeys[] = {"payload"};
  static const DelegateKind kKind{"payload", {}, kKeys, read};
  return kKind;
}

}  // namespace tandem::cli
