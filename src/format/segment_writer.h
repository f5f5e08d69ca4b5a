#pragma once

#include "format/fault.h"
#include "format/write_options.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::format {

/// The segments of a file that is being written: where they lie, and what is copied into them. What nothing is copied
/// into is zero.
///
/// Lifetime: refers to the bytes given to put() until copy_to().
class SegmentWriter {
 public:
  /// Places segments of the given lengths one after the other; their offsets are not looked at.
  ///
  /// Errors: InvalidArgument, what is no alignment, or a wrong count of them; the format's code, more
  ///   bytes than can be addressed.
  [[nodiscard]] static Result<SegmentWriter> create(const FaultMaker& fault, std::span<const Segment> segments,
                                                    const WriteOptions& options);

  /// Segment `index` has `bytes` at `offset`; put_whole(): and nothing else.
  ///
  /// Errors: the format's code at `field`, no such segment, or the bytes do not lie within it or do not fill it.
  [[nodiscard]] Status put(const FieldPath& field, std::uint32_t index, std::uint64_t offset, Bytes bytes);
  [[nodiscard]] Status put_whole(const FieldPath& field, std::uint32_t index, Bytes bytes);

  /// Offsets count from the base.
  [[nodiscard]] std::span<const Segment> segments() const noexcept { return segments_; }
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }
  /// The base of segments behind a body of that length.
  [[nodiscard]] std::uint64_t base_behind(std::uint64_t body_bytes) const noexcept;

  /// Shapes: `region` is data_bytes() zeros.
  /// Errors: the format's code, two contents for the same bytes.
  [[nodiscard]] Status copy_to(std::span<std::byte> region);

 private:
  struct Piece {
    std::uint64_t at = 0;  ///< From the base.
    std::uint32_t segment = 0;
    Bytes bytes{};
  };

  explicit SegmentWriter(const FaultMaker& fault) noexcept : fault_{fault} {}
  [[nodiscard]] Status check_index(const FieldPath& field, std::uint32_t index) const;

  FaultMaker fault_;
  std::vector<Segment> segments_{};
  std::vector<Piece> pieces_{};
  std::uint64_t data_bytes_ = 0;
  std::uint64_t alignment_ = 1;
};

}  // namespace tandem::format
