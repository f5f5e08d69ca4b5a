#pragma once

#include "cli/case_folder.h"
#include "split_program.h"

#include <tandem/program.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tandem::split {

/// A recorded program (docs/case-folder.md) whose delegates, AOTInductor libraries, are a chain: one float input, one
/// float output, nothing but copies between them, and what comes out has the size of what goes in. Its delegates are
/// called in turn with engines, all of it as often as it takes.
class RecordedChain {
 public:
  /// Errors: as Program::load(); NotSupported, the program is no such chain, with the reason.
  [[nodiscard]] static Result<RecordedChain> read(const std::filesystem::path& folder);

  [[nodiscard]] const std::vector<std::int64_t>& sizes() const noexcept { return sizes_; }
  [[nodiscard]] std::size_t delegate_count() const noexcept { return links_.size(); }
  /// Passes through the chain that have at least `calls` calls of delegates.
  [[nodiscard]] std::size_t passes_for(std::size_t calls) const noexcept {
    return (calls + links_.size() - 1) / links_.size();
  }
  /// The recorded inputs and outputs.
  [[nodiscard]] Result<std::vector<std::vector<Value>>> recorded(bool outputs) const;
  [[nodiscard]] cli::Tolerance tolerance() const { return folder_.methods.front().cases.front().tolerance; }

  /// Writes the engine behind the `pair`-th call of a delegate. `ends_pass`: another pass follows.
  using WriteEngine = std::function<void(Writer& writer, std::size_t pair, bool ends_pass)>;
  /// The delegates with their libraries and weights, `passes` times, an engine behind each.
  /// Odd passes call the delegates of the pass before them again, even ones have delegates of their own.
  [[nodiscard]] Status write(Writer& writer, std::size_t passes, const WriteEngine& write_engine = {}) const;
  /// The first delegate alone.
  [[nodiscard]] Status write_first(Writer& writer) const;

 private:
  struct Link {
    std::uint32_t delegate = 0;
    std::vector<std::int64_t> sizes{};  ///< Of its output.
  };
  [[nodiscard]] Status find_links();
  [[nodiscard]] Status write_data(ProgramBuilder& program) const;
  [[nodiscard]] DelegateHandle write_delegate(Writer& writer, const Link& link) const;

  cli::CaseFolder folder_{};
  std::shared_ptr<const Program> program_{};
  std::vector<std::int64_t> sizes_{};
  std::vector<Link> links_{};
};

/// A WriteEngine. Most engines hand on what they get. The last of a pass gives x and a little of what came out: the
/// next pass then gives nearly what the first one gave, but in no bit the same if it reads too early.
void write_reference_engine(Writer& writer, std::size_t pair, bool ends_pass);

}  // namespace tandem::split
