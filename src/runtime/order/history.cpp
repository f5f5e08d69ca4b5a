#include "runtime/order/history.h"

#include <algorithm>
#include <tuple>

namespace tandem::runtime {

void HistoryCheck::apply(const Action& action) {
  const std::uint32_t now = count_++;
  last_ = {.stream = action.stream, .action = now};
  switch (action.kind) {
    case Action::Kind::Submit:
      return touch(action);
    case Action::Kind::Record:
      return order_.record(action.stream, action.event, now);
    case Action::Kind::Wait:
      return order_.wait_for_event(action.stream, action.event);
    case Action::Kind::HostStep:
      last_.stream = kHostStream;
      return touch(action);
    case Action::Kind::HostWaitEvent:
      return order_.wait_for_event(kHostStream, action.event);
    case Action::Kind::HostWaitStream:
      return order_.host_wait_for_stream(action.stream, now);
    case Action::Kind::Join:
      return order_.join(now);
  }
}

void HistoryCheck::touch(const Action& action) {
  const std::size_t found_before = conflicts_.size();
  for (std::uint32_t i = 0; i < action.accesses.size(); ++i) {
    const ByteAccess& access = action.accesses[i];
    if (access.mode == AccessMode::None || access.begin >= access.end) continue;
    const auto meets = [&](const ByteHistory::Access& earlier, std::uint64_t begin, std::uint64_t end) {
      if (earlier.at.action == last_.action || order_.before(earlier.at, last_.stream)) return;
      conflicts_.push_back({.first = earlier.label,
                            .second = action.label,
                            .first_access = earlier.index,
                            .second_access = i,
                            .buffer = access.buffer,
                            .begin = begin,
                            .end = end});
    };
    ByteHistory& bytes = buffers_[access.buffer];
    const ByteHistory::Access now{.at = last_, .label = action.label, .index = i};
    if (access.mode == AccessMode::Read) {
      bytes.read(access.begin, access.end, now, meets);
    } else {
      bytes.write(access.begin, access.end, now, meets);
    }
  }
  if (conflicts_.size() != found_before) join_pieces(found_before);
}

/// A pair of accesses meets once, however many segments their bytes are cut into.
void HistoryCheck::join_pieces(std::size_t from) {
  const auto pair = [](const Unordered& c) {
    return std::tie(c.second_access, c.first, c.first_access, c.buffer, c.begin);
  };
  const auto begin = conflicts_.begin() + static_cast<std::ptrdiff_t>(from);
  std::sort(begin, conflicts_.end(), [&](const Unordered& a, const Unordered& b) { return pair(a) < pair(b); });
  auto kept = begin;
  for (auto at = begin + 1; at != conflicts_.end(); ++at) {
    const bool same =
        std::tie(kept->second_access, kept->first, kept->first_access, kept->buffer, kept->end) == pair(*at);
    if (same) {
      kept->end = at->end;
    } else {
      *++kept = *at;
    }
  }
  conflicts_.erase(kept + 1, conflicts_.end());
}

std::vector<Unordered> find_unordered(std::span<const Action> history) {
  HistoryCheck check;
  for (const Action& action : history) check.apply(action);
  return check.conflicts();
}

}  // namespace tandem::runtime
