#pragma once

#include "ops/portable/dtype.h"
#include "ops/portable/view.h"

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tandem::ops::portable {

using Arguments = std::span<Argument* const>;
using Specs = std::span<const ArgumentSpec* const>;

/// What `accept` tells about an operator's arguments before anything runs. The first thing that is wrong is kept.
///
/// Errors: InvalidProgram (count); InvalidType (kind, dtype); InvalidArgument (rank); NotSupported (layout, more
///   than kMaxRank axes). Each names the argument, what was expected and what was found.
class Accept {
 public:
  explicit Accept(Specs specs) noexcept : specs_{specs} {}

  Accept& count(std::size_t wanted);
  Accept& tensor(std::size_t index, DtypeSet dtypes);
  Accept& any_tensor(std::size_t index);  ///< Whatever can be copied bytewise.
  /// The output of an out variant: the tensor, and as the next argument the tensor again, which is what it returns.
  Accept& output(std::size_t index, DtypeSet dtypes);
  Accept& any_output(std::size_t index);
  Accept& optional_tensors(std::size_t index, DtypeSet dtypes);
  /// A list of tensors without None; `dtypes` 0 stands for any.
  Accept& tensors(std::size_t index, DtypeSet dtypes);
  Accept& number(std::size_t index);
  Accept& optional_number(std::size_t index);
  Accept& integer(std::size_t index);
  Accept& optional_integer(std::size_t index);
  Accept& boolean(std::size_t index);
  Accept& text(std::size_t index);
  Accept& integers(std::size_t index);
  Accept& optional_integers(std::size_t index);
  Accept& optional_doubles(std::size_t index);

  Accept& rank(std::size_t index, std::size_t wanted);
  /// Both tensors have one dtype, or conversions exist between theirs.
  Accept& convertible(std::size_t from, std::size_t to);
  Accept& same_dtype(std::size_t index, std::size_t as);
  /// A result of dtype `from` may be written to the tensor.
  Accept& castable(ScalarType from, std::size_t to);
  /// The planned layout is row-major.
  Accept& contiguous(std::size_t index);
  /// An optional list of ints that, when it is not empty, repeats the planned layout of `tensor`.
  Accept& dim_order(std::size_t index, std::size_t tensor);

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  Accept& fail(std::size_t index, ErrorCode code, std::string message, std::string expected, std::string found);
  /// Precondition: ok(), and the index is that of a tensor that was accepted.
  [[nodiscard]] const ArgumentSpec& at(std::size_t index) const noexcept { return *specs_[index]; }
  [[nodiscard]] Status done();

 private:
  Accept& kind(std::size_t index, Argument::Kind wanted, bool optional);
  // The rank and element type of one tensor, on its own or in a list.
  Accept& elements(std::size_t index, const ArgumentSpec& spec, DtypeSet dtypes);
  Accept& list(std::size_t index, DtypeSet dtypes, bool optional);

  Specs specs_;
  std::optional<Error> error_{};
};

/// Whether `order` lists the axes from first to last. Axes of fixed size 1 may stand anywhere.
[[nodiscard]] bool is_row_major(std::span<const std::int64_t> sizes, std::span<const std::uint8_t> order,
                                bool dynamic) noexcept;

/// Numbers of a running step: earlier steps compute them, so their kinds are looked at again.
/// Errors: InvalidType, naming the argument, the kind expected and the kind found.
[[nodiscard]] Result<std::int64_t> integer_at(Arguments arguments, std::size_t index);
[[nodiscard]] Result<std::optional<std::int64_t>> optional_integer_at(Arguments arguments, std::size_t index);
[[nodiscard]] Result<bool> boolean_at(Arguments arguments, std::size_t index);
/// An integer, a double or a bool.
[[nodiscard]] Result<const Argument*> number_at(Arguments arguments, std::size_t index);
/// Errors: also InvalidArgument, more than kMaxRank entries.
[[nodiscard]] Result<Shape> integers_at(Arguments arguments, std::size_t index);

/// The number as a T, as PyTorch's Scalar::to: a fraction is cut off, overflow refused.
/// Errors: InvalidArgument, T cannot hold it.
template <class T>
[[nodiscard]] Result<Math<T>> number_as(const Argument& number);

/// An axis counted from the front; -1 is the last. A tensor without axes has the axes 0 and -1.
/// Errors: InvalidArgument, naming the axis and the bounds.
[[nodiscard]] Result<std::size_t> wrap_axis(std::int64_t axis, std::size_t rank);
/// An index counted from the front; -1 is the last.
/// Errors: InvalidArgument, naming the index, the axis and its size.
[[nodiscard]] Result<std::int64_t> wrap_index(std::int64_t index, std::int64_t size, std::size_t axis);

[[nodiscard]] std::string_view name_of(Argument::Kind kind) noexcept;
/// "float32, float64".
[[nodiscard]] std::string names_of(DtypeSet dtypes);

}  // namespace tandem::ops::portable
