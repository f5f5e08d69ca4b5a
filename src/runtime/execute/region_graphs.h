#pragma once

#include "device/device.h"
#include "device/graph.h"
#include "runtime/bind/instance.h"
#include "runtime/execute/slot_choice.h"
#include "runtime/execute/trial.h"
#include "runtime/schedule.h"

#include <tandem/method.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::runtime {

/// The graphs of one instance. A graph holds for one set of addresses, sizes and numbers at a region's border, and one
/// generation of the state; it is made after the region has run step by step with the same ones. Steps that can be are
/// recorded, the others captured.
///
/// Lifetime: instance and device outlive it.
/// Thread-safety: none; belongs to the execution whose turn it is.
class RegionGraphs {
 public:
  RegionGraphs(Instance& instance, device::Device& device, GraphPolicy policy, std::uint32_t max_graphs);

  /// To be asked before each run: whether its steps use the caller's memory in place.
  [[nodiscard]] SlotChoice& slots() noexcept { return slots_; }

  /// Enqueues the region's work as a graph. False: nothing happened, and its steps have to be walked. Where both ways
  /// are on trial, `trials` gets the run's part in it.
  /// Errors: of the launch, with the site of the region's first step.
  [[nodiscard]] Result<bool> run(std::uint32_t region, device::Stream& stream, std::vector<TrialRun>& trials);

  /// Makes the graphs of a run with the inputs, outputs and state that the instance has now. Nothing runs.
  /// Errors: NotSupported, a step can't be in a graph, or not yet.
  [[nodiscard]] Status prepare(device::Stream& stream);
  /// All regions of such a run, in their order, recorded but not made ready to run; steps between them only move
  /// handles. Errors: as prepare().
  [[nodiscard]] Result<std::vector<std::unique_ptr<device::GraphBuilder>>> record_all(device::Stream& stream);
  /// Whether the next run is likely to be a part of a trial.
  [[nodiscard]] bool are_on_trial() const noexcept;
  /// By region: what became of its last run.
  [[nodiscard]] std::vector<GraphInfo> describe() const;

 private:
  /// A value that the region's steps decide, as it is after them.
  struct Outcome {
    std::uint32_t value = kNone;
    Argument argument{};
    std::vector<std::int64_t> sizes{};
    std::vector<std::int64_t> strides{};
  };
  struct Entry {
    std::vector<std::int64_t> key{};
    std::uint64_t last_use = 0;
    std::uint32_t runs = 0;  ///< Step by step, before there was a graph.
    std::unique_ptr<device::Graph> in_a_row{};
    std::unique_ptr<device::Graph> side_by_side{};
    std::string refusal{};  ///< Why there is none, nor will be.
    std::vector<Outcome> outcomes{};
    std::vector<std::byte> host_bytes{};  ///< Of the region's buffers in the host's memory, as it leaves them.
    std::shared_ptr<Trial> trial{};

    /// Null before it is built; of two on trial, that with everything in a row.
    [[nodiscard]] device::Graph* graph() const noexcept {
      return in_a_row != nullptr ? in_a_row.get() : side_by_side.get();
    }
  };
  struct Entries {
    std::vector<Region::Use> keyed{};  ///< Values that may differ from run to run.
    std::vector<std::unique_ptr<Entry>> all{};
    Entry* last = nullptr;
  };

  void read_key(std::uint32_t region);
  [[nodiscard]] std::vector<const std::byte*> scratch() const;
  [[nodiscard]] static device::Graph* choose_graph(Entry& entry, std::vector<TrialRun>& trials);
  Entry& find(Entries& entries);
  [[nodiscard]] Status prepare_all(device::Stream& stream);
  [[nodiscard]] Status build(std::uint32_t region, Entry& entry, device::Stream& stream);
  [[nodiscard]] Result<std::unique_ptr<device::GraphBuilder>> record(const Region& region, bool side_by_side,
                                                                     device::Stream& stream);
  [[nodiscard]] Result<std::unique_ptr<device::GraphBuilder>> record_steps(const Region& region, bool side_by_side,
                                                                           std::span<const std::byte> host_before,
                                                                           device::Stream& stream);
  [[nodiscard]] Result<std::unique_ptr<device::Graph>> make(const Region& region, bool side_by_side,
                                                            device::Stream& stream);
  [[nodiscard]] Status record_step(std::uint32_t step, device::GraphBuilder& builder, device::Stream& stream);
  void note_outcomes(const Region& region, Entry& entry);
  void apply_outcomes(const Region& region, const Entry& entry);
  [[nodiscard]] std::vector<std::byte> host_bytes(const Region& region) const;
  void set_host_bytes(const Region& region, std::span<const std::byte> bytes) const noexcept;

  Instance& instance_;
  device::Device& device_;
  GraphPolicy policy_;
  std::uint32_t max_graphs_;
  SlotChoice slots_;
  std::uint64_t uses_ = 0;
  std::vector<std::int64_t> key_{};  ///< Of the run at hand; kept for its memory.
  std::vector<Entries> regions_;
  std::vector<std::byte> host_after_{};  ///< Of record(): what the region's steps leave in the host's memory.
  std::vector<bool> is_captured_;        ///< By step: recording it is not possible.
};

}  // namespace tandem::runtime
