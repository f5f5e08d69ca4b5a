#include <tandem/options.h>

#include <utility>

namespace tandem {

BackendOptions& BackendOptions::set_option(std::string_view key, bool value) {
  options_.insert_or_assign(std::string{key}, value);
  return *this;
}
BackendOptions& BackendOptions::set_option(std::string_view key, int value) {
  return set_option(key, std::int64_t{value});
}
BackendOptions& BackendOptions::set_option(std::string_view key, std::int64_t value) {
  options_.insert_or_assign(std::string{key}, value);
  return *this;
}
BackendOptions& BackendOptions::set_option(std::string_view key, const char* value) {
  return set_option(key, std::string{value});
}
BackendOptions& BackendOptions::set_option(std::string_view key, std::string value) {
  options_.insert_or_assign(std::string{key}, std::move(value));
  return *this;
}

const BackendOptions::OptionValue* BackendOptions::find(std::string_view key) const noexcept {
  const auto found = options_.find(key);
  return found == options_.end() ? nullptr : &found->second;
}

}  // namespace tandem
