#pragma once

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/custom.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::custom {

/// The arguments of a call as a library sees them. Nothing is allocated once it is made.
class ArgumentTable {
 public:
  /// As far as the program tells. Strides are those of the upper bounds.
  ///
  /// Lifetime: sizes point into the program; null if nobody calls the delegate.
  /// Errors: InvalidType, an argument that libraries cannot take (a text or a list), with its index.
  [[nodiscard]] static Result<ArgumentTable> of_program(std::span<const ArgumentSpec> specs);

  ArgumentTable(ArgumentTable&&) noexcept = default;
  ArgumentTable(const ArgumentTable& other) : items_{other.items_}, strides_{other.strides_} { connect(); }
  ArgumentTable& operator=(const ArgumentTable&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] TandemCustomArgument& operator[](std::size_t index) noexcept { return items_[index]; }
  [[nodiscard]] const TandemCustomArgument& operator[](std::size_t index) const noexcept { return items_[index]; }
  [[nodiscard]] const TandemCustomArgument* const* pointers() const noexcept { return pointers_.data(); }

  /// Whether the running arguments are what the table was made for: count, kinds, dtypes, ranks.
  /// Errors: InvalidArgument (count), InvalidType, with index, expected and found.
  [[nodiscard]] Status check(std::span<const Argument* const> arguments) const;
  /// The values of one argument now.
  void set(std::size_t index, const Argument& argument, void* data) noexcept;

 private:
  ArgumentTable() = default;
  void connect();

  std::vector<TandemCustomArgument> items_{};
  std::vector<const TandemCustomArgument*> pointers_{};
  std::vector<std::vector<std::int64_t>> strides_{};
};

/// A number as bits: equal numbers have equal ones. 0 for other kinds.
[[nodiscard]] std::uint64_t number_bits(const Argument& argument) noexcept;

}  // namespace tandem::custom
