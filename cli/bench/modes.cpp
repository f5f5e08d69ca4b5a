#include "cli/bench/modes.h"

#include "cli/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tandem::cli::bench {
namespace {

constexpr std::array kKinds{
    ModeKind{.name = kEager, .graphs = GraphPolicy::Off, .meaning = "step by step"},
    ModeKind{.name = kAgain, .graphs = GraphPolicy::Off, .meaning = "the same once more: what the bench can resolve"},
    ModeKind{
        .name = "graph", .graphs = GraphPolicy::On, .on_host = false, .meaning = "a graph wherever one can be made"},
    ModeKind{.name = "branches",
             .graphs = GraphPolicy::Branches,
             .on_host = false,
             .meaning = "the same, and what does not depend on each other side by side"},
    ModeKind{.name = "auto",
             .graphs = GraphPolicy::Auto,
             .on_host = false,
             .meaning = "the way that the first runs show to be the fastest"},
    ModeKind{.name = "threads", .drive = Drive::Threads, .number = "N", .meaning = "N threads that share the method"},
    ModeKind{.name = "streams",
             .drive = Drive::Streams,
             .number = "N",
             .meaning = "N threads with a stream and an instance each"},
    ModeKind{.name = "depth",
             .drive = Drive::Depth,
             .number = "N",
             .meaning = "asynchronous runs back to back, at most N in flight"},
    ModeKind{.name = "raw",
             .drive = Drive::Raw,
             .on_host = false,
             .meaning = "CUDA: the method's kernels, launched by the bench"},
    ModeKind{.name = "raw-graph",
             .drive = Drive::RawGraph,
             .on_host = false,
             .meaning = "CUDA: the method's kernels as one graph of the bench's"},
};

constexpr unsigned kMostThreads = 1024;

unsigned default_number(const ModeKind& kind, const ModeNumbers& numbers) {
  if (kind.number.empty()) return 1;
  return kind.drive == Drive::Depth ? numbers.depth : numbers.threads;
}

Error bad_mode(std::string message, std::string expected, std::string_view found) {
  return Error{ErrorCode::InvalidArgument, std::move(message)}.with_expected(std::move(expected), printable(found));
}

Result<Mode> parse_mode(std::string_view text, const ModeNumbers& numbers) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto kind = std::ranges::find(kKinds, name, &ModeKind::name);
  if (kind == kKinds.end()) {
    std::vector<std::string> names;
    for (const ModeKind& known : kKinds)
      names.push_back(fmt::format("{}{}{}", known.name, known.number.empty() ? "" : ":", known.number));
    return bad_mode("no such mode", fmt::format("some of: {}", fmt::join(names, ", ")), text);
  }
  Mode mode{.kind = &*kind, .number = default_number(*kind, numbers), .was_asked = true};
  if (colon == std::string_view::npos) return mode;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), mode.number);
  const bool is_number = code == std::errc{} && end == digits.data() + digits.size();
  if (kind->number.empty()) return bad_mode("the mode has no number", std::string{name}, text);
  if (!is_number || mode.number == 0 || mode.number > kMostThreads) {
    return bad_mode("not a number of a mode", fmt::format("{}:N with N from 1 to {}", name, kMostThreads), text);
  }
  return mode;
}

}  // namespace

std::span<const ModeKind> mode_kinds() noexcept { return kKinds; }

std::string Mode::name() const {
  return kind->number.empty() ? std::string{kind->name} : fmt::format("{}:{}", kind->name, number);
}

Result<std::vector<Mode>> parse_modes(std::string_view list, const ModeNumbers& numbers) {
  std::vector<Mode> modes;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    TANDEM_TRY(const Mode mode, parse_mode(list.substr(begin, end - begin), numbers));
    for (const Mode& known : modes) {
      if (known.name() == mode.name()) return bad_mode("a mode twice", "each once", mode.name());
    }
    modes.push_back(mode);
    begin = end + 1;
  }
  return modes;
}

Status check_mode(const Mode& mode, const MethodFacts& facts) {
  const auto refuse = [&mode](const char* why) {
    return Error{ErrorCode::NotSupported, fmt::format("mode {} cannot be measured here: {}", mode.name(), why)};
  };
  switch (mode.kind->drive) {
    case Drive::Single:
      return {};
    case Drive::Threads:
    case Drive::Streams:
      if (facts.is_stateful) return refuse("the method keeps state, and the order of runs of several threads is open");
      return {};
    case Drive::Depth:
      // In the order of one stream; but a run's result is looked at when later ones have changed the state.
      if (facts.is_stateful) return refuse("the method keeps state, and runs overlap");
      if (!facts.is_fully_async) return refuse("the method needs the host between its steps");
      return {};
    case Drive::Raw:
    case Drive::RawGraph:
      if (facts.device.type != DeviceType::Cuda) return refuse("it replays launches of CUDA");
      return {};
  }
  return {};
}

std::vector<Mode> default_modes(const MethodFacts& facts, const ModeNumbers& numbers) {
  std::vector<Mode> modes;
  for (const ModeKind& kind : kKinds) {
    if (facts.device == DeviceId{} && !kind.on_host) continue;
    const Mode mode{.kind = &kind, .number = default_number(kind, numbers)};
    if (check_mode(mode, facts).ok()) modes.push_back(mode);
  }
  return modes;
}

}  // namespace tandem::cli::bench
