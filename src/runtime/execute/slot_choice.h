#pragma once

#include "runtime/execute/trial.h"
#include "runtime/schedule.h"

#include <tandem/method.h>
#include <tandem/value.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tandem::runtime {

/// Whether the runs of one instance use the caller's memory on the device in place, or memory of the instance's own
/// (slots) with a copy there and back. A graph is bound to addresses: those that come back get one each; where they
/// never do, one graph at the slots serves all.
///
/// Thread-safety: none; belongs to the execution whose turn it is.
class SlotChoice {
 public:
  SlotChoice(const Schedule& schedule, GraphPolicy policy, std::uint32_t max_graphs) noexcept;

  /// Before each run. `trials` gets the run's part, where slots are on trial against steps in place.
  [[nodiscard]] bool begin_run(std::vector<TrialRun>& trials);
  /// Then, of that run: the caller's inputs, and where the outputs end up.
  void note_memory(std::span<const Value> inputs, std::span<const Tensor> outputs) noexcept;
  /// And: some stretch has never seen its addresses and sizes.
  void note_new_key() noexcept { saw_new_key_ = true; }
  [[nodiscard]] bool are_on_trial() const noexcept {
    return mode_ == Mode::Slots && trial_ != nullptr && trial_->verdict() == Trial::Verdict::Open;
  }
  /// Of the run at hand.
  [[nodiscard]] bool are_used() const noexcept { return are_used_; }
  /// Slots are on trial, and this run goes step by step in place.
  [[nodiscard]] bool are_passed_over() const noexcept { return mode_ == Mode::Slots && !are_used_; }

 private:
  enum class Mode : std::uint8_t {
    InPlace,
    Slots,
    Never,  ///< They lost their trial.
  };
  /// Runs in a row whose addresses came back, before slots are given up.
  static constexpr std::uint32_t kFamiliar = 32;
  /// Runs with slots until there is a graph.
  static constexpr std::uint32_t kUntilGraph = 4;

  bool choose(std::vector<TrialRun>& trials);

  Mode mode_;
  GraphPolicy policy_;
  std::uint32_t max_graphs_;
  bool are_used_ = false;
  bool is_familiar_ = true;    ///< The last run's memory was that of one of those before.
  bool saw_new_key_ = false;   ///< In the last run.
  std::uint32_t strange_ = 0;  ///< Runs in a row with new memory. More than graphs may be kept: slots.
  std::uint32_t familiar_ = 0;
  std::uint32_t familiar_wanted_ = kFamiliar;  ///< More each time that leaving the slots was wrong.
  std::uint32_t runs_ = 0;                     ///< With slots.
  std::array<std::uint64_t, 16> recent_{};     ///< Fingerprints of the caller's addresses.
  std::uint32_t next_recent_ = 0;
  std::shared_ptr<Trial> trial_{};
};

}  // namespace tandem::runtime
