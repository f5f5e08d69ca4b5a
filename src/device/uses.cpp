#include "device/uses.h"

#include <algorithm>

namespace tandem::device {
namespace {

/// Beyond this many, reads that are over are looked for and dropped.
constexpr std::size_t kManyReads = 8;

bool is_over(const tandem::Event& event) {
  const auto done = event.is_done();
  return !done.ok() || *done;
}

}  // namespace

Status Uses::before_read(Stream& stream) const {
  if (is_empty()) return {};
  const std::scoped_lock lock{mutex_};
  if (!write_.done.defined() || write_.stream == stream.id()) return {};
  return stream.wait(*write_.done.impl());
}

Status Uses::before_write(Stream& stream) const {
  if (is_empty()) return {};
  const std::scoped_lock lock{mutex_};
  // Whoever reads has waited for the write, but only on its own stream.
  if (write_.done.defined() && write_.stream != stream.id()) TANDEM_CHECK_OK(stream.wait(*write_.done.impl()));
  for (const Use& read : reads_) {
    if (read.stream != stream.id()) TANDEM_CHECK_OK(stream.wait(*read.done.impl()));
  }
  return {};
}

void Uses::note_read(StreamId stream, const tandem::Event& done) {
  if (!done.defined()) return;
  const std::scoped_lock lock{mutex_};
  any_.store(true, std::memory_order_release);
  // Number 0 stands for "somebody's": such reads do not replace each other.
  const auto same =
      std::ranges::find_if(reads_, [stream](const Use& read) { return stream.number != 0 && read.stream == stream; });
  if (same != reads_.end()) {
    same->done = done;
    return;
  }
  if (reads_.size() >= kManyReads) std::erase_if(reads_, [](const Use& read) { return is_over(read.done); });
  reads_.push_back({stream, done});
}

void Uses::note_write(StreamId stream, const tandem::Event& done) {
  if (!done.defined() && is_empty()) return;
  const std::scoped_lock lock{mutex_};
  any_.store(done.defined(), std::memory_order_release);
  write_ = {stream, done};
  reads_.clear();
}

bool Uses::are_over() const {
  if (is_empty()) return true;
  const std::scoped_lock lock{mutex_};
  return is_over(write_.done) && std::ranges::all_of(reads_, [](const Use& read) { return is_over(read.done); });
}

Status Uses::synchronize() const {
  if (is_empty()) return {};
  const std::scoped_lock lock{mutex_};
  if (write_.done.defined()) TANDEM_CHECK_OK(write_.done.impl()->synchronize());
  for (const Use& read : reads_) TANDEM_CHECK_OK(read.done.impl()->synchronize());
  return {};
}

}  // namespace tandem::device
