#pragma once

#include "format/field_path.h"
#include "format/pte/pte.h"

#include <tandem/error.h>

#include <string>

namespace tandem::format {

/// Makes the errors of one file's reader: the format's code, the field, and the byte offset where there is one.
struct FaultMaker {
  Bytes file{};
  ErrorCode code = ErrorCode::InvalidProgram;

  /// `where` points into `file`; null if the fault has no place.
  [[nodiscard]] Error operator()(const FieldPath& field, const void* where, std::string message,
                                 const char* raised_file = __builtin_FILE(), int raised_line = __builtin_LINE()) const {
    return make(code, field, where, std::move(message), raised_file, raised_line);
  }

  /// The same for what is well formed but not served.
  [[nodiscard]] Error unsupported(const FieldPath& field, const void* where, std::string message,
                                  const char* raised_file = __builtin_FILE(),
                                  int raised_line = __builtin_LINE()) const {
    return make(ErrorCode::NotSupported, field, where, std::move(message), raised_file, raised_line);
  }

 private:
  [[nodiscard]] Error make(ErrorCode kind, const FieldPath& field, const void* where, std::string message,
                           const char* raised_file, int raised_line) const;
};

}  // namespace tandem::format
