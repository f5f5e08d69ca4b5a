#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::runtime {

/// What somebody knows of other streams: of each, that all actions with numbers below `until` come before.
///
/// Streams are kept in pieces of neighbours. Pieces never change and clocks share them, so that a copy with some news
/// costs what is new, not the number of streams.
class StreamClock {
 public:
  /// 0: knows nothing of the stream.
  [[nodiscard]] std::uint32_t until(std::uint32_t stream) const noexcept;
  void raise(std::uint32_t stream, std::uint32_t until);
  /// Knows afterwards what either knew.
  void merge(const StreamClock& other);

 private:
  static constexpr std::uint32_t kStreams = 64;
  using Untils = std::array<std::uint32_t, kStreams>;
  struct Piece {
    std::uint32_t number = 0;  ///< Of streams [number * kStreams, ...).
    std::shared_ptr<const Untils> untils{};
  };

  /// The place of the first piece that is not before `number`.
  [[nodiscard]] std::size_t find(std::uint32_t number) const noexcept;

  std::vector<Piece> pieces_{};  // ascending
};

}  // namespace tandem::runtime
