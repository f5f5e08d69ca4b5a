#include "runtime/order/byte_history.h"

#include <algorithm>

namespace tandem::runtime {

void ByteHistory::Segment::add_read(const Access& access) {
  if (access.at.stream == kHostStream) return;  // over before anything else is submitted: meets nothing
  if (!reads.empty() && reads.back().at.stream == access.at.stream) {
    reads.back() = access;
    return;
  }
  reads.push_back(access);
  if (reads.size() < tidy_at) return;
  keep_last_reads();
  tidy_at = std::max<std::size_t>(16, 2 * reads.size());
}

void ByteHistory::Segment::keep_last_reads() {
  if (reads.size() < 2) return;
  std::sort(reads.begin(), reads.end(), [](const Access& a, const Access& b) {
    return a.at.stream != b.at.stream ? a.at.stream < b.at.stream : a.at.action > b.at.action;
  });
  reads.erase(std::unique(reads.begin(), reads.end(),
                          [](const Access& a, const Access& b) { return a.at.stream == b.at.stream; }),
              reads.end());
}

void ByteHistory::split(std::uint64_t at) {
  const auto next = segments_.lower_bound(at);
  if (next == segments_.begin()) return;
  const auto segment = std::prev(next);
  if (segment->second.end <= at) return;
  Segment right = segment->second;
  segment->second.end = at;
  segments_.emplace_hint(next, at, std::move(right));
}

}  // namespace tandem::runtime
