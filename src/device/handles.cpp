#include "device/stream.h"

#include <tandem/event.h>
#include <tandem/stream_ref.h>

#include <utility>

namespace tandem {
namespace {

device::Event* retained(device::Event* event) noexcept {
  if (event != nullptr) event->retain();
  return event;
}

void drop(device::Event* event) noexcept {
  if (event != nullptr && event->release()) delete event;
}

}  // namespace

Event::Event(const Event& other) noexcept : impl_{retained(other.impl_)} {}
Event::Event(Event&& other) noexcept : impl_{std::exchange(other.impl_, nullptr)} {}
Event& Event::operator=(const Event& other) noexcept {
  drop(std::exchange(impl_, retained(other.impl_)));
  return *this;
}
Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) drop(std::exchange(impl_, std::exchange(other.impl_, nullptr)));
  return *this;
}
Event::~Event() { drop(impl_); }

Result<bool> Event::is_done() const { return impl_ == nullptr ? Result<bool>{true} : impl_->is_done(); }

Status Event::synchronize() const {
  if (impl_ == nullptr) return {};
  TANDEM_CHECK_OK(impl_->synchronize());
  return impl_->failure() != nullptr ? Status{*impl_->failure()} : Status{};
}

DeviceId StreamRef::device() const noexcept { return stream_->id().device; }

Result<Event> StreamRef::record() const {
  TANDEM_TRY(Event event, stream_->make_event());
  TANDEM_CHECK_OK(stream_->record(*event.impl()));
  return event;
}

Status StreamRef::wait(const Event& event) const { return event.defined() ? stream_->wait(*event.impl()) : Status{}; }

Status StreamRef::synchronize() const { return stream_->synchronize(); }

}  // namespace tandem
