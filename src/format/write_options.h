#pragma once

#include <cstdint>
#include <vector>

namespace tandem::format {

/// How a writer places segments.
/// Source: the defaults are those of ExecuTorch's exporter, ExecutorchBackendConfig in exir/capture/_config.py.
struct WriteOptions {
  /// Units: bytes, a power of two. Every segment starts at a multiple of it, counted from byte 0 of the file.
  std::uint64_t segment_alignment = 128;
  /// Stricter wishes of single segments, powers of two: empty, or one per segment.
  std::vector<std::uint64_t> own_alignments{};
};

}  // namespace tandem::format
