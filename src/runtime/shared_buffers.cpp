#include <tandem/shared_buffers.h>

#include <algorithm>

namespace tandem {

Result<SharedBuffers> SharedBuffers::parse(std::string_view text) {
  if (text == "all") return all();
  if (text == "none") return none();
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      return Error{ErrorCode::InvalidArgument, "the list of shared buffers has an empty name"}.with_expected(
          "all, none, or names separated by commas", "'" + std::string{text} + "'");
    }
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return named(std::move(names));
}

bool SharedBuffers::has(std::string_view name) const noexcept {
  if (name.empty()) return false;
  return kind_ == Kind::All || (kind_ == Kind::Named && std::ranges::find(names_, name) != names_.end());
}

}  // namespace tandem
