#pragma once

#include <tandem/export.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// What went wrong. Values are stable and never reused; below 0x100 they equal ExecuTorch's status codes of the same
/// meaning, so that a host program can forward them.
/// Source: ExecuTorch runtime/core/error.h.
enum class ErrorCode : std::uint32_t {
  Internal = 0x01,              ///< A bug of Tandem's own.
  InvalidState = 0x02,          ///< The call is not possible now (an input was never set, a state is indeterminate).
  NotSupported = 0x10,          ///< A known request that this build or device does not serve.
  InvalidArgument = 0x12,       ///< Wrong count, rank, size, layout or value of an argument.
  InvalidType = 0x13,           ///< Wrong kind or dtype of an argument.
  OperatorMissing = 0x14,       ///< An operator that nobody registered; the message lists all of them.
  NotFound = 0x20,              ///< A key, file or name that is not there.
  OutOfMemory = 0x21,           ///< The allocation failed; `site().device` says where.
  AccessFailed = 0x22,          ///< The operating system refused to read or write.
  InvalidProgram = 0x23,        ///< The bytes of a `.pte` or a delegate's payload are not well formed.
  InvalidExternalData = 0x24,   ///< The bytes of a `.ptd` are not well formed, or do not fit the program.
  IncompatibleDelegate = 0x30,  ///< The delegate's code does not run here (processor, GPU, library version).
  MethodNotFound = 0x100,       ///< The program has no such method.
  BackendMissing = 0x101,       ///< A delegate names a backend that is not registered.
  BackendFailed = 0x102,        ///< A delegate's own code failed; `native()` has its code and text.
  OrderViolation = 0x103,       ///< The order check found two conflicting accesses without an order.
  Busy = 0x104,                 ///< Too many executions are queued, and the caller chose not to wait.
  WouldBlock = 0x105,           ///< The call cannot be asynchronous without an executor.
  DeviceFault = 0x106,          ///< The device is lost to this process; every later call repeats it.
};

/// Stable name of a code, "InvalidProgram" for example.
[[nodiscard]] TANDEM_EXPORT std::string_view name_of(ErrorCode code) noexcept;

/// Whose code `NativeError::code` is.
enum class Origin : std::uint8_t { None, Errno, DynamicLoader, Aoti, Cuda, Hip, TensorRt, Custom };

/// The failure as the foreign side reported it.
struct NativeError {
  Origin origin = Origin::None;
  std::int64_t code = 0;
  std::string text{};
};

/// Where it went wrong. Empty strings and -1 mean "does not apply".
struct ErrorSite {
  std::string file{};  ///< Path as the caller gave it.
  std::string method{};
  std::string backend{};  ///< Backend id as written in the program.
  std::string op{};       ///< Operator name with overload.
  std::string key{};      ///< Named-data key, constant name or option key.
  std::string field{};    ///< Table or header field, for example "execution_plan[0].values[3].sizes".
  std::string device{};
  int delegate = -1;  ///< Index into the method's delegates.
  int chain = -1;
  int instruction = -1;                   ///< Index within the chain.
  int value = -1;                         ///< Index into the method's values.
  int argument = -1;                      ///< Input, output or call argument.
  std::optional<std::uint64_t> offset{};  ///< Byte offset in `file`.
};

/// A failure as a value. Callers branch on the fields; `to_string()` is for people.
///
/// Thread-safety: a const Error may be read from many threads; copies share nothing mutable.
class TANDEM_EXPORT Error {
 public:
  Error(ErrorCode code, std::string message, const char* raised_file = __builtin_FILE(),
        int raised_line = __builtin_LINE());
  Error(const Error& other);
  Error(Error&&) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&&) noexcept;
  ~Error();

  [[nodiscard]] ErrorCode code() const noexcept;
  [[nodiscard]] const std::string& message() const noexcept;
  [[nodiscard]] const NativeError& native() const noexcept;
  [[nodiscard]] const ErrorSite& site() const noexcept;
  [[nodiscard]] const std::string& expected() const noexcept;
  [[nodiscard]] const std::string& found() const noexcept;
  /// Source position in Tandem that raised it, "mapped_file.cpp:41".
  [[nodiscard]] const std::string& raised_at() const noexcept;

  Error&& with_native(Origin origin, std::int64_t code, std::string text = {}) &&;
  Error&& with_expected(std::string expected, std::string found) &&;
  Error&& with_file(std::string file) &&;
  Error&& with_method(std::string method) &&;
  Error&& with_backend(std::string backend, int delegate = -1) &&;
  Error&& with_op(std::string op) &&;
  Error&& with_key(std::string key) &&;
  Error&& with_field(std::string field) &&;
  Error&& with_device(std::string device) &&;
  Error&& with_instruction(int chain, int instruction) &&;
  Error&& with_value(int value) &&;
  Error&& with_argument(int argument) &&;
  Error&& with_offset(std::uint64_t offset) &&;
  /// Fills the site's empty fields from `outer`: the caller knows more of the context than the place that failed.
  Error&& with_site(const ErrorSite& outer) &&;

  /// One line: code, message, expected and found, then every part of the site that applies.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace tandem
