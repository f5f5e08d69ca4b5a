#include "format/field_path.h"

namespace tandem::format {

std::string FieldPath::to_string() const {
  std::string text = parent_ != nullptr ? parent_->to_string() + "." : std::string{};
  text += name_;
  if (index_) text += "[" + std::to_string(*index_) + "]";
  return text;
}

}  // namespace tandem::format
