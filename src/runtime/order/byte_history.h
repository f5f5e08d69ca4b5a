#pragma once

#include "runtime/order/happens_before.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace tandem::runtime {

/// Who touched which bytes of one buffer last: segments with the last write and the reads since it, at most one read
/// per stream (an earlier one on the same stream is ordered before it).
class ByteHistory {
 public:
  struct Access {
    HappensBefore::Point at{};
    std::uint32_t label = 0;  ///< The caller's.
    std::uint32_t index = 0;  ///< Of the access within its action.
  };

  /// Calls `meets(earlier, begin, end)` for every last write of bytes that [begin, end) meets, then remembers the read.
  template <class Meets>
  void read(std::uint64_t begin, std::uint64_t end, const Access& access, Meets&& meets) {
    split(begin);
    split(end);
    auto at = segments_.lower_bound(begin);
    while (begin < end) {
      if (at == segments_.end() || at->first != begin) {
        const std::uint64_t gap_end = at == segments_.end() || at->first > end ? end : at->first;
        at = segments_.emplace_hint(at, begin, Segment{.end = gap_end});
      }
      Segment& segment = at->second;
      if (segment.written) meets(segment.write, begin, segment.end);
      segment.add_read(access);
      begin = segment.end;
      ++at;
    }
  }

  /// The same for a write, which meets reads, too, and takes their place.
  template <class Meets>
  void write(std::uint64_t begin, std::uint64_t end, const Access& access, Meets&& meets) {
    split(begin);
    split(end);
    const auto first = segments_.lower_bound(begin);
    auto at = first;
    for (; at != segments_.end() && at->first < end; ++at) {
      Segment& segment = at->second;
      segment.keep_last_reads();
      if (segment.written) meets(segment.write, at->first, segment.end);
      for (const Access& read : segment.reads) meets(read, at->first, segment.end);
    }
    segments_.emplace_hint(segments_.erase(first, at), begin, Segment{.end = end, .written = true, .write = access});
  }

 private:
  struct Segment {
    std::uint64_t end = 0;
    bool written = false;
    Access write{};
    std::vector<Access> reads{};
    std::size_t tidy_at = 16;

    void add_read(const Access& access);
    void keep_last_reads();  ///< One per stream.
  };

  /// Makes `at` a border between segments if it lies within one.
  void split(std::uint64_t at);

  std::map<std::uint64_t, Segment> segments_{};  // by begin
};

}  // namespace tandem::runtime
