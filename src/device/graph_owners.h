#pragma once

#include <memory>

/// What graphs of callers keep alive. A driver tells of a graph's end in a callback that may call nothing of the
/// driver's, so letting go of memory and streams has to wait: the callback only marks what was kept.
///
/// Thread-safety: any thread.
namespace tandem::device {

/// Keeps `owner` until release_kept() is called with what this returns, and then until the next sweep_kept().
[[nodiscard]] void* keep_for_graph(std::shared_ptr<void> owner);
/// For a driver's callback: calls nothing of the driver's.
void release_kept(void* kept) noexcept;
/// Lets go of what was released.
void sweep_kept() noexcept;

}  // namespace tandem::device
