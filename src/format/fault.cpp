#include "format/fault.h"

#include <utility>

namespace tandem::format {

Error FaultMaker::make(ErrorCode kind, const FieldPath& field, const void* where, std::string message,
                       const char* raised_file, int raised_line) const {
  Error error = Error{kind, std::move(message), raised_file, raised_line}.with_field(field.to_string());
  if (where == nullptr) return error;
  const auto offset = static_cast<const std::byte*>(where) - file.data();
  return std::move(error).with_offset(static_cast<std::uint64_t>(offset));
}

}  // namespace tandem::format
