#pragma once

#include <tandem/error.h>

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace tandem {

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Error error) : error_{std::move(error)} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  /// Precondition: !ok().
  [[nodiscard]] const Error& error() const& noexcept { return *error_; }
  [[nodiscard]] Error&& error() && noexcept { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

/// A value, or the Error that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;

  Result(T value) : state_{std::in_place_index<0>, std::move(value)} {}      // NOLINT
  Result(Error error) : state_{std::in_place_index<1>, std::move(error)} {}  // NOLINT
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
      // NOLINTNEXTLINE(google-explicit-constructor, bugprone-forwarding-reference-overload): constrained above
      Result(U&& value)
      : state_{std::in_place_index<0>, T(std::forward<U>(value))} {}  // NOLINT

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// Precondition: ok().
  [[nodiscard]] T& value() & noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(*this).value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }
  /// Precondition: !ok().
  [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Drops a status on purpose; `why` is for the reader.
inline void ignore(const Status& /*status*/, const char* /*why*/) noexcept {}

}  // namespace tandem

#define TANDEM_CONCAT_(a, b) a##b
#define TANDEM_CONCAT(a, b) TANDEM_CONCAT_(a, b)

/// `TANDEM_TRY(const auto x, make_x());` declares x or returns the Error of make_x() from the enclosing function.
#define TANDEM_TRY(declaration, ...)                                   \
  auto&& TANDEM_CONCAT(tandem_result_, __LINE__) = (__VA_ARGS__);      \
  if (!TANDEM_CONCAT(tandem_result_, __LINE__).ok())                   \
    return std::move(TANDEM_CONCAT(tandem_result_, __LINE__)).error(); \
  declaration = *std::move(TANDEM_CONCAT(tandem_result_, __LINE__))

/// Returns the Error of a Status from the enclosing function.
#define TANDEM_CHECK_OK(...)                                                                                \
  do {                                                                                                      \
    if (auto&& tandem_status = (__VA_ARGS__); !tandem_status.ok()) return std::move(tandem_status).error(); \
  } while (false)
