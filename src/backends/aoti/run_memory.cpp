#include "backends/aoti/run_memory.h"

#include "base/checked.h"
#include "base/host_memory.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace tandem::aoti {

RunMemory::Record::~Record() {
  for (const Slot& slot : std::span{slots.get(), count}) {
    if (slot.own != nullptr) source.release(slot.own);
  }
}

bool RunMemory::in_use(const Record& record) noexcept {
  return std::ranges::any_of(std::span{record.slots.get(), record.count}, [](const Slot& slot) {
    return slot.storage.references.load(std::memory_order_acquire) != 0;
  });
}

void RunMemory::select(std::span<const std::int64_t> shapes) {
  ++uses_;
  for (const auto& record : records_) {
    if (!std::ranges::equal(record->shapes, shapes)) continue;
    record->last_use = uses_;
    record_ = record;
    return;
  }
  if (records_.size() >= kMaxRecords) {
    const auto oldest = std::ranges::min_element(records_, {}, [](const auto& record) { return record->last_use; });
    if (!in_use(**oldest)) records_.erase(oldest);  // a library that keeps memory of a run keeps its record
  }
  auto record = std::make_shared<Record>(source_);
  record->shapes.assign(shapes.begin(), shapes.end());
  record->last_use = uses_;
  record_ = records_.emplace_back(std::move(record));
}

std::size_t RunMemory::output_bytes(std::size_t output) const noexcept {
  if (!recorded() || output >= record_->output_slots.size()) return 0;
  const std::int32_t slot = record_->output_slots[output];
  return slot < 0 ? 0 : record_->slots[static_cast<std::size_t>(slot)].storage.bytes;
}

void RunMemory::begin(std::span<std::byte> scratch, std::span<std::byte* const> outputs) noexcept {
  next_ = 0;
  is_fixed_ = recorded();
  scratch_ = scratch;
  targets_ = outputs;
  if (!recorded()) {
    mode_ = Mode::Recording;
    clock_ = 0;
    log_.clear();
  } else {
    mode_ = scratch.size() >= record_->scratch_bytes ? Mode::Planned : Mode::Heap;
  }
}

Storage* RunMemory::allocate(std::size_t bytes, ScalarType dtype) noexcept {
  if (mode_ == Mode::Recording) return log_allocation(bytes, dtype);
  if (mode_ == Mode::Planned) {
    Slot* slot = next_ < record_->count ? &record_->slots[next_] : nullptr;
    ++next_;
    if (slot != nullptr && slot->storage.bytes == bytes && slot->dtype == dtype) {
      if (slot->place == Place::Heap) {
        is_fixed_ = false;
        return make_storage(source_, bytes);
      }
      if (Storage* storage = serve(*slot); storage != nullptr) return storage;
    }
    mode_ = Mode::Heap;
    repeats_ = false;
  }
  is_fixed_ = false;
  return make_storage(source_, bytes);
}

Storage* RunMemory::serve(Slot& slot) noexcept {
  const auto dead = [](const Slot& other) { return other.storage.references.load(std::memory_order_acquire) == 0; };
  if (!dead(slot)) return nullptr;
  for (const std::uint32_t other : slot.shares) {
    if (!dead(record_->slots[other])) return nullptr;  // equal sizes, other lifetimes: not the recorded run
  }
  switch (slot.place) {
    case Place::Scratch:
      slot.storage.data = scratch_.data() + slot.offset;
      ++scratch_live_;
      break;
    case Place::Output:
      slot.storage.data = targets_[static_cast<std::size_t>(slot.output)];
      if (slot.storage.data == nullptr) slot.storage.data = own_memory(slot);
      break;
    case Place::Own:
      slot.storage.data = own_memory(slot);
      break;
    case Place::Heap:
      return nullptr;  // the caller's case
  }
  if (slot.storage.data == nullptr) return nullptr;
  slot.storage.references.store(1, std::memory_order_relaxed);
  return &slot.storage;
}

std::byte* RunMemory::own_memory(Slot& slot) noexcept {
  if (slot.own == nullptr) slot.own = source_.allocate(slot.storage.bytes);
  return slot.own;
}

void RunMemory::on_scratch_release(Storage& /*storage*/, void* owner) noexcept {
  --static_cast<RunMemory*>(owner)->scratch_live_;
}

void RunMemory::on_result_release(Storage& /*storage*/, void* /*owner*/) noexcept {}

Storage* RunMemory::log_allocation(std::size_t bytes, ScalarType dtype) noexcept {
  Storage* storage = make_storage(source_, bytes);
  if (storage == nullptr) return nullptr;
  storage->slot = static_cast<std::int32_t>(next_++);
  storage->owner = this;
  storage->release = on_logged_release;
  try {
    log_.push_back({bytes, dtype, ++clock_, 0, storage});
  } catch (...) {
    on_logged_release(*storage, this);
    return nullptr;
  }
  return storage;
}

void RunMemory::on_logged_release(Storage& storage, void* owner) noexcept {
  auto& self = *static_cast<RunMemory*>(owner);
  // Results and what the library keeps die after the run, when the log is of no interest any more.
  const auto slot = static_cast<std::size_t>(storage.slot);
  if (self.mode_ == Mode::Recording && slot < self.log_.size() && self.log_[slot].storage == &storage) {
    self.log_[slot].died = ++self.clock_;
    self.log_[slot].storage = nullptr;
  }
  self.source_.release(storage.data);
  delete &storage;
}

void RunMemory::abandon() noexcept {
  mode_ = Mode::Idle;
  log_.clear();
}

Status RunMemory::finish(std::span<const Output> outputs) {
  if (mode_ == Mode::Recording) {
    make_record(outputs);
    abandon();
    return {};
  }
  mode_ = Mode::Idle;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Storage* storage = outputs[i].handle->storage;
    if (storage == nullptr || !is_planned(*storage)) continue;
    const Slot& slot = record_->slots[static_cast<std::size_t>(storage->slot)];
    const bool fixed = slot.place == Place::Own || storage->data == slot.own;
    const bool in_place = slot.output == static_cast<std::int32_t>(i) && outputs[i].planned_layout;
    if (!fixed && !in_place) TANDEM_CHECK_OK(rescue(*outputs[i].handle));
  }
  if (scratch_live_ != 0) {
    repeats_ = false;
    return Error{ErrorCode::BackendFailed, "the library kept memory of a run after its end"};
  }
  return {};
}

Status RunMemory::reserve() {
  if (!recorded()) return {};
  for (Slot& slot : slots()) {
    if (slot.place != Place::Own || own_memory(slot) != nullptr) continue;
    return Error{ErrorCode::OutOfMemory, "memory for a result"}.with_expected(
        std::to_string(slot.storage.bytes) + " bytes", "none left");
  }
  return {};
}

/// A result that lies in memory which the next step overwrites (scratch, or another output's place) gets its own.
Status RunMemory::rescue(AtenTensor& handle) {
  repeats_ = false;
  is_fixed_ = false;
  Storage* copy = make_storage(source_, handle.storage_bytes);
  if (copy == nullptr) {
    return Error{ErrorCode::OutOfMemory, "memory for a result"}.with_expected(
        std::to_string(handle.storage_bytes) + " bytes", "none left");
  }
  if (!source_.copy(copy->data, handle.base, handle.storage_bytes)) {
    copy->drop_reference();
    return Error{ErrorCode::BackendFailed, "a result could not be copied"};
  }
  Storage* old = handle.storage;
  handle.storage = copy;
  handle.base = copy->data;
  old->drop_reference();
  return {};
}

void RunMemory::make_record(std::span<const Output> outputs) {
  record_->slots = std::make_unique<Slot[]>(log_.size());
  record_->count = log_.size();
  for (std::size_t k = 0; k < log_.size(); ++k) {
    Slot& slot = record_->slots[k];
    slot.storage.bytes = log_[k].bytes;
    slot.storage.slot = static_cast<std::int32_t>(k);
    slot.storage.owner = this;
    slot.dtype = log_[k].dtype;
    if (log_[k].died != 0) slot.place = log_[k].bytes == 0 ? Place::Own : Place::Scratch;
  }
  place_results(outputs);
  place_scratch(log_);
  for (Slot& slot : slots()) {
    slot.storage.release = slot.place == Place::Scratch ? on_scratch_release : on_result_release;
  }
  record_->made = true;
}

/// What is alive after the run is a result if all its handles are; otherwise the library keeps it.
void RunMemory::place_results(std::span<const Output> outputs) {
  record_->output_slots.assign(outputs.size(), -1);
  for (std::size_t k = 0; k < log_.size(); ++k) {
    const Storage* storage = log_[k].storage;
    if (storage == nullptr) continue;
    std::vector<const AtenTensor*> handles;
    std::size_t uses = 0;
    std::size_t last_output = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].handle->storage != storage) continue;
      ++uses;
      last_output = i;
      if (std::ranges::find(handles, outputs[i].handle) == handles.end()) handles.push_back(outputs[i].handle);
    }
    if (handles.empty() || storage->references.load(std::memory_order_acquire) != handles.size()) continue;
    Slot& slot = record_->slots[k];
    slot.place = Place::Own;
    if (uses == 1 && outputs[last_output].planned_layout && slot.storage.bytes != 0) {
      slot.place = Place::Output;
      slot.output = static_cast<std::int32_t>(last_output);
      record_->output_slots[last_output] = static_cast<std::int32_t>(k);
    }
  }
}

/// Large ones first, each at the lowest offset that is free during its lifetime.
void RunMemory::place_scratch(std::span<const Logged> log) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t k = 0; k < log.size(); ++k) {
    if (record_->slots[k].place == Place::Scratch) order.push_back(k);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t k) { return log[k].bytes; });
  const auto size_of = [&](std::uint32_t k) { return base::align_up(log[k].bytes, base::kHostAlignment); };
  std::vector<std::uint32_t> placed;  // by offset
  for (const std::uint32_t k : order) {
    std::size_t offset = 0;
    for (const std::uint32_t other : placed) {
      const bool apart = log[other].died < log[k].born || log[k].died < log[other].born;
      const std::size_t other_offset = record_->slots[other].offset;
      if (apart || other_offset + size_of(other) <= offset) continue;
      if (offset + size_of(k) <= other_offset) break;
      offset = other_offset + size_of(other);
    }
    record_->slots[k].offset = offset;
    record_->scratch_bytes = std::max<std::size_t>(record_->scratch_bytes, offset + size_of(k));
    placed.insert(
        std::ranges::upper_bound(placed, offset, {}, [&](std::uint32_t other) { return record_->slots[other].offset; }),
        k);
  }
  for (const std::uint32_t k : order) {
    for (const std::uint32_t other : order) {
      const std::size_t at = record_->slots[k].offset;
      const std::size_t other_at = record_->slots[other].offset;
      if (other < k && at < other_at + size_of(other) && other_at < at + size_of(k)) {
        record_->slots[k].shares.push_back(other);
      }
    }
  }
}

}  // namespace tandem::aoti
