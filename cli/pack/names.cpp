#include "cli/pack/names.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <vector>

namespace tandem::cli {

Result<std::size_t> look_up(const ManifestNode& node, std::string_view what, const Names& names) {
  TANDEM_TRY(const std::string name, node.text());
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [other, position] : names) known.push_back(other);
  return node.error(fmt::format("no {} '{}'{}", what, printable(name), nearest_text(name, known)));
}

}  // namespace tandem::cli
