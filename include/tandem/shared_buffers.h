#pragma once

#include <tandem/export.h>
#include <tandem/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

/// Which mutable buffers of the same fully qualified name are one buffer, in all methods and delegates of a program.
///
/// A program's file does not say it, and equal names do not mean it: delegates hold read-only tables under their names
/// as well. docs/state.md has the rules.
class TANDEM_EXPORT SharedBuffers {
 public:
  /// Undecided: every delegate has its own, and an execution that could miss a change is refused.
  SharedBuffers() noexcept = default;
  /// Equal names are one buffer.
  [[nodiscard]] static SharedBuffers all() { return SharedBuffers{Kind::All, {}}; }
  /// Every method and delegate has its own.
  [[nodiscard]] static SharedBuffers none() { return SharedBuffers{Kind::None, {}}; }
  /// The buffers of these names are one each, all others are not.
  [[nodiscard]] static SharedBuffers named(std::vector<std::string> names) {
    return SharedBuffers{Kind::Named, std::move(names)};
  }
  /// "all", "none", or names separated by commas.
  /// Errors: InvalidArgument, a name is empty.
  [[nodiscard]] static Result<SharedBuffers> parse(std::string_view text);

  [[nodiscard]] bool is_decided() const noexcept { return kind_ != Kind::Undecided; }
  /// Tells whether buffers of this name are one. False for an empty name, and where nothing is decided.
  [[nodiscard]] bool has(std::string_view name) const noexcept;

 private:
  enum class Kind : std::uint8_t { Undecided, All, None, Named };
  SharedBuffers(Kind kind, std::vector<std::string> names) noexcept : kind_{kind}, names_{std::move(names)} {}

  Kind kind_ = Kind::Undecided;
  std::vector<std::string> names_{};
};

}  // namespace tandem
