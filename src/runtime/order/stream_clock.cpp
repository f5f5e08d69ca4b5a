#include "runtime/order/stream_clock.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace tandem::runtime {

std::uint32_t StreamClock::until(std::uint32_t stream) const noexcept {
  const std::size_t at = find(stream / kStreams);
  if (at == pieces_.size() || pieces_[at].number != stream / kStreams) return 0;
  return (*pieces_[at].untils)[stream % kStreams];
}

void StreamClock::raise(std::uint32_t stream, std::uint32_t until) {
  const std::uint32_t number = stream / kStreams;
  const std::size_t at = find(number);
  const bool is_new = at == pieces_.size() || pieces_[at].number != number;
  auto untils = is_new ? std::make_shared<Untils>() : std::make_shared<Untils>(*pieces_[at].untils);
  (*untils)[stream % kStreams] = std::max((*untils)[stream % kStreams], until);
  if (is_new) {
    pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(at), {number, std::move(untils)});
  } else {
    pieces_[at].untils = std::move(untils);
  }
}

void StreamClock::merge(const StreamClock& other) {
  std::vector<Piece> merged;
  merged.reserve(pieces_.size() + other.pieces_.size());
  auto own = pieces_.begin();
  for (const Piece& theirs : other.pieces_) {
    for (; own != pieces_.end() && own->number < theirs.number; ++own) merged.push_back(std::move(*own));
    if (own == pieces_.end() || own->number != theirs.number) {
      merged.push_back(theirs);
      continue;
    }
    Piece piece = std::move(*own++);
    if (piece.untils != theirs.untils) {
      Untils most;
      for (std::size_t i = 0; i < kStreams; ++i) most[i] = std::max((*piece.untils)[i], (*theirs.untils)[i]);
      if (most == *theirs.untils) {
        piece.untils = theirs.untils;
      } else if (most != *piece.untils) {
        piece.untils = std::make_shared<Untils>(most);
      }
    }
    merged.push_back(std::move(piece));
  }
  std::move(own, pieces_.end(), std::back_inserter(merged));
  pieces_ = std::move(merged);
}

std::size_t StreamClock::find(std::uint32_t number) const noexcept {
  const auto at = std::lower_bound(pieces_.begin(), pieces_.end(), number,
                                   [](const Piece& piece, std::uint32_t wanted) { return piece.number < wanted; });
  return static_cast<std::size_t>(at - pieces_.begin());
}

}  // namespace tandem::runtime
