#pragma once

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/result.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tandem::runtime {

/// How an operator touches one of its arguments. The letters make the pattern of an Operator.
enum class OpAccess : char {
  None = '-',     ///< A number, a text, a list of numbers, None.
  Shape = 's',    ///< A tensor of which only the sizes are looked at.
  Read = 'r',     ///< A tensor or a list of tensors.
  Write = 'w',    ///< A tensor or a list of tensors; overwritten without being read.
  Update = 'u',   ///< A tensor; read and written.
  Partial = 'p',  ///< A tensor; written in part, what earlier calls of the same run wrote stays.
  Alias = 'a',    ///< A tensor that becomes a view of argument 0; no byte is moved.
  Result = 'o',   ///< A number that the operator computes.
  Return = '=',   ///< Repeats an earlier output (the wire format ends with the return value).
};

/// One operator that Tandem runs itself.
///
/// `run` gets the arguments in wire order: the schema's, then the return value. It resizes its outputs (resize()),
/// reads and writes host memory, allocates nothing, and returns an Error without a site: the caller knows it.
/// `accept` sees what the program's bytes tell, before anything runs, and refuses by name and reason the dtypes,
/// layouts and argument kinds that `run` does not serve.
struct Operator {
  std::string_view name{};      ///< "aten::add.out"; an empty overload adds no dot ("aten::copy_").
  std::string_view accesses{};  ///< One OpAccess letter per wire argument.
  Status (*accept)(std::span<const ArgumentSpec* const> arguments) = nullptr;
  Status (*run)(std::span<Argument* const> arguments) = nullptr;
};

/// Operators by name.
/// Thread-safety: find() may run concurrently; add() needs outside locking.
class OperatorRegistry {
 public:
  /// The operators that this library is built with. Immutable.
  [[nodiscard]] static const OperatorRegistry& builtin();

  /// Errors: InvalidState, the name is taken.
  [[nodiscard]] Status add(const Operator& op);
  /// Null if nobody added it.
  [[nodiscard]] const Operator* find(std::string_view name) const noexcept;
  [[nodiscard]] std::span<const Operator* const> all() const noexcept { return sorted_; }

 private:
  std::vector<std::unique_ptr<const Operator>> owned_;
  std::vector<const Operator*> sorted_;  // by name
};

/// Gives a tensor new sizes and the strides of its planned layout.
///
/// Errors: InvalidArgument (another rank; a fixed size that differs; more bytes than the program's bound).
/// Source: resize_tensor rules of ExecuTorch (static: equal; bounded: same rank, bytes within the upper bound).
[[nodiscard]] Status resize(TensorArg& tensor, std::span<const std::int64_t> sizes);

}  // namespace tandem::runtime
