#pragma once

#include <tandem/export.h>
#include <tandem/result.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace tandem {

/// Options of one backend: a key, and a truth value, a number or a text.
/// The names and types are ExecuTorch's, without its limits on count and length.
class TANDEM_EXPORT BackendOptions {
 public:
  using OptionValue = std::variant<bool, std::int64_t, std::string>;

  BackendOptions& set_option(std::string_view key, bool value);
  BackendOptions& set_option(std::string_view key, int value);
  BackendOptions& set_option(std::string_view key, std::int64_t value);
  BackendOptions& set_option(std::string_view key, const char* value);
  BackendOptions& set_option(std::string_view key, std::string value);

  /// Null if the key is not set.
  [[nodiscard]] const OptionValue* find(std::string_view key) const noexcept;
  /// Errors: NotFound, no such key; InvalidType, the value has another type.
  template <class T>
  [[nodiscard]] Result<T> get(std::string_view key) const {
    const OptionValue* value = find(key);
    if (value == nullptr) return Error{ErrorCode::NotFound, "option is not set"}.with_key(std::string{key});
    if (const T* typed = std::get_if<T>(value)) return *typed;
    return Error{ErrorCode::InvalidType, "option has another type"}.with_key(std::string{key});
  }
  [[nodiscard]] const std::map<std::string, OptionValue, std::less<>>& all() const noexcept { return options_; }

 private:
  std::map<std::string, OptionValue, std::less<>> options_;
};

/// Options for one load, by backend id. Owns its contents.
class LoadBackendOptionsMap {
 public:
  void set_options(std::string backend_id, BackendOptions options) {
    by_id_.insert_or_assign(std::move(backend_id), std::move(options));
  }
  /// Null if none were set for this id.
  [[nodiscard]] const BackendOptions* get_options(std::string_view backend_id) const noexcept {
    const auto found = by_id_.find(backend_id);
    return found == by_id_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, BackendOptions, std::less<>> by_id_;
};

}  // namespace tandem
