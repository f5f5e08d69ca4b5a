#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

/// Nothing if `xml` is well-formed as far as pictures use XML (elements, quoted attributes, the five entities), else
/// what is wrong. The command's integration tests ask a real parser.
[[nodiscard]] inline std::string xml_fault(std::string_view xml) {
  std::vector<std::string> open;
  const auto entity = [&xml](std::size_t at) {
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (xml.substr(at).starts_with(known)) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < xml.size(); ++i) {
    const auto c = static_cast<unsigned char>(xml[i]);
    if (c < 0x20 && c != '\n') return "control character at " + std::to_string(i);
    if (c == '&' && !entity(i)) return "bare & at " + std::to_string(i);
    if (c == '>') return "bare > at " + std::to_string(i);
    if (c != '<') continue;
    const bool closing = xml.substr(i + 1).starts_with('/');
    std::size_t at = i + (closing ? 2 : 1);
    std::string name;
    while (at < xml.size() && std::isalnum(static_cast<unsigned char>(xml[at])) != 0) name += xml[at++];
    if (name.empty()) return "no name after < at " + std::to_string(i);
    char quote = 0;
    for (; at < xml.size() && (quote != 0 || xml[at] != '>'); ++at) {
      if (xml[at] == '<') return "< in a tag at " + std::to_string(at);
      if (xml[at] == '&' && !entity(at)) return "bare & at " + std::to_string(at);
      if (quote == 0 && (xml[at] == '\'' || xml[at] == '"')) {
        quote = xml[at];
      } else if (xml[at] == quote) {
        quote = 0;
      }
    }
    if (at == xml.size()) return "unfinished tag at " + std::to_string(i);
    if (closing) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (xml[at - 1] != '/') {
      open.push_back(name);
    }
    i = at;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

/// How often `part` occurs.
[[nodiscard]] inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++count;
  return count;
}

}  // namespace tandem::testing
