#include "cli/pack/delegate_kind.h"

namespace tandem::cli {

std::span<const DelegateKind> delegate_kinds() noexcept {
  static const DelegateKind kKinds[] = {aoti_kind(), custom_kind(), tensorrt_kind(), payload_kind()};
  return kKinds;
}

}  // namespace tandem::cli
