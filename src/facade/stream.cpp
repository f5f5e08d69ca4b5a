#include <tandem/stream.h>

#include "base/fork.h"
#include "base/guarded.h"
#include "device/host/host_device.h"
#include "device/host/seeded_host.h"
#include "facade/devices.h"

#include <utility>

namespace tandem {
namespace {

thread_local device::Stream* caller_stream = nullptr;

}  // namespace

Result<Stream> Stream::create(DeviceId device) {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  base::watch_forks();
  TANDEM_TRY(device::Device* const found, facade::find_device(device));
  TANDEM_TRY(auto stream, found->make_stream());
  return Stream{std::move(stream)};
}

Stream::Stream(std::unique_ptr<device::Stream> impl) noexcept : impl_{std::move(impl)} {}
Stream::Stream(Stream&& other) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept = default;
Stream::~Stream() = default;

Status Stream::submit(std::function<void()> work) const {
  struct Piece {
    std::function<void()> work;
    device::Stream& stream;
  };
  auto piece = std::make_unique<Piece>(Piece{std::move(work), *impl_});
  TANDEM_CHECK_OK(impl_->submit(
      [](void* data, std::uint32_t /*index*/) noexcept {
        const std::unique_ptr<Piece> owned{static_cast<Piece*>(data)};
        Status status = base::guarded(ErrorCode::InvalidState, [&owned]() -> Status {
          owned->work();
          return {};
        });
        if (!status.ok()) owned->stream.report(std::move(status));  // good work may have destroyed the stream
        return false;
      },
      piece.get(), 0));
  piece.release();
  return {};
}

CallerStreamGuard::CallerStreamGuard(StreamRef stream) noexcept : outer_{std::exchange(caller_stream, &stream.get())} {}
CallerStreamGuard::~CallerStreamGuard() { caller_stream = outer_; }

std::optional<StreamRef> CallerStreamGuard::current() noexcept {
  if (caller_stream == nullptr) return std::nullopt;
  return StreamRef{*caller_stream};
}

SeededScheduler::SeededScheduler(std::uint64_t seed) : device_{std::make_unique<device::SeededHost>(seed)} {}
SeededScheduler::~SeededScheduler() = default;
void SeededScheduler::reseed(std::uint64_t seed) { static_cast<device::SeededHost&>(*device_).reseed(seed); }
Stream SeededScheduler::make_stream() { return Stream{*device_->make_stream()}; }
device::Device& SeededScheduler::device() const noexcept { return *device_; }

}  // namespace tandem
