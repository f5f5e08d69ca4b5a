#pragma once

#include "backends/aoti/memory_source.h"
#include "backends/aoti/tensor_handle.h"

#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::aoti {

/// Serves the allocations of a delegate's runs.
///
/// A compiled run allocates the same sequence whenever its shapes are the same. The first run at a set of shapes takes
/// its memory from the heap and is recorded; later runs get the k-th allocation at a fixed place: in scratch memory
/// that is reused by lifetime, or, if it became output i, at the output's own address. What differs from the record
/// (a branch that was not taken before) falls back to the heap for the rest of that run.
///
/// Lifetime: outlives every handle that it served; one run at a time.
/// Thread-safety: none.
class RunMemory {
 public:
  /// What a run returned for one output.
  struct Output {
    AtenTensor* handle = nullptr;
    /// The handle has the dtype and layout that the output argument plans, so that its bytes may be written there.
    bool planned_layout = false;
  };

  explicit RunMemory(MemorySource& source) noexcept : source_{source} {}
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  /// Chooses the record for a set of shapes, a new one if there is none; the least recently used one of kMaxRecords
  /// goes. No allocation if there is one. Precondition: no handle of a run is live.
  void select(std::span<const std::int64_t> shapes);
  [[nodiscard]] bool selected() const noexcept { return record_ != nullptr; }
  /// Whether the selected record is made; false means that the next run records.
  [[nodiscard]] bool recorded() const noexcept { return record_ != nullptr && record_->made; }
  /// Units: bytes that begin() wants; 64-byte aligned, 0 before the recording run.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return record_ == nullptr ? 0 : record_->scratch_bytes; }
  /// False once a run differed from its record: a captured run could not be replayed.
  [[nodiscard]] bool repeats() const noexcept { return repeats_; }
  /// Whether all memory of the last run was planned: the next one at these sizes and outputs gets the same.
  [[nodiscard]] bool is_fixed() const noexcept { return is_fixed_; }
  /// The selected record's memory, kept also when the record goes.
  [[nodiscard]] std::shared_ptr<const void> hold() const noexcept { return record_; }
  /// Units: bytes of the allocation that became output i; 0 if there is none.
  [[nodiscard]] std::size_t output_bytes(std::size_t output) const noexcept;

  /// Starts a run. `outputs[i]` is where output i may be written while the run goes on, null if it may not.
  /// Lifetime: both stay valid until the handles of the run are gone.
  void begin(std::span<std::byte> scratch, std::span<std::byte* const> outputs) noexcept;
  /// The next allocation of the run, with one reference. Null if memory is exhausted.
  [[nodiscard]] Storage* allocate(std::size_t bytes, ScalarType dtype) noexcept;
  /// Ends a run that went well: makes the record if there was none, and moves results out of memory that is reused.
  /// Errors: BackendFailed, the library kept planned memory; OutOfMemory.
  [[nodiscard]] Status finish(std::span<const Output> outputs);
  /// Allocates what the selected record keeps between runs, so that no run does. Errors: OutOfMemory.
  [[nodiscard]] Status reserve();
  /// Ends a run that failed; what it recorded is forgotten.
  void abandon() noexcept;

  static constexpr std::size_t kMaxRecords = 8;

 private:
  enum class Place : std::uint8_t {
    Heap,     ///< Kept by the library: new memory every time.
    Scratch,  ///< Dies within the run.
    Own,      ///< A result that lives until the next run, or no bytes at all: memory of this object.
    Output,   ///< A result that is the output argument itself.
  };
  enum class Mode : std::uint8_t { Idle, Recording, Planned, Heap };

  /// The k-th allocation of a planned run.
  struct Slot {
    Storage storage{};
    ScalarType dtype = ScalarType::Float;
    Place place = Place::Heap;
    std::int32_t output = -1;
    std::size_t offset = 0;               ///< In scratch.
    std::vector<std::uint32_t> shares{};  ///< Earlier slots with bytes in common; all must be dead.
    std::byte* own = nullptr;             ///< Allocated when first needed.
  };
  struct Record {
    explicit Record(MemorySource& of) noexcept : source{of} {}
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record();

    MemorySource& source;
    std::vector<std::int64_t> shapes{};
    std::unique_ptr<Slot[]> slots{};
    std::size_t count = 0;
    std::size_t scratch_bytes = 0;
    std::vector<std::int32_t> output_slots{};  ///< By output; -1 if none.
    std::uint64_t last_use = 0;
    bool made = false;
  };
  /// One allocation of a recording run.
  struct Logged {
    std::size_t bytes = 0;
    ScalarType dtype = ScalarType::Float;
    std::uint32_t born = 0;
    std::uint32_t died = 0;  ///< 0 while alive.
    Storage* storage = nullptr;
  };

  [[nodiscard]] std::span<Slot> slots() const noexcept { return {record_->slots.get(), record_->count}; }
  [[nodiscard]] Storage* serve(Slot& slot) noexcept;
  [[nodiscard]] std::byte* own_memory(Slot& slot) noexcept;
  [[nodiscard]] Storage* log_allocation(std::size_t bytes, ScalarType dtype) noexcept;
  void make_record(std::span<const Output> outputs);
  void place_results(std::span<const Output> outputs);
  void place_scratch(std::span<const Logged> log);
  [[nodiscard]] Status rescue(AtenTensor& handle);
  [[nodiscard]] static bool in_use(const Record& record) noexcept;
  static void on_logged_release(Storage& storage, void* owner) noexcept;
  static void on_scratch_release(Storage& storage, void* owner) noexcept;
  static void on_result_release(Storage& storage, void* owner) noexcept;
  [[nodiscard]] static bool is_planned(const Storage& storage) noexcept {
    return storage.release == on_scratch_release || storage.release == on_result_release;
  }

  MemorySource& source_;
  std::vector<std::shared_ptr<Record>> records_;
  std::shared_ptr<Record> record_{};
  std::uint64_t uses_ = 0;
  bool repeats_ = true;
  bool is_fixed_ = false;

  Mode mode_ = Mode::Idle;
  std::uint32_t next_ = 0;
  std::uint32_t clock_ = 0;
  std::int64_t scratch_live_ = 0;  ///< Slots in scratch that handles refer to.
  std::span<std::byte> scratch_{};
  std::span<std::byte* const> targets_{};
  std::vector<Logged> log_;
};

}  // namespace tandem::aoti
