#pragma once

#include "format/pte/pte.h"

#include <tandem/program_builder.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::facade {

struct LabelDraft {
  std::optional<std::uint32_t> instruction{};
  std::size_t chain = 0;
};

/// A method as far as the calls so far describe it. Left for assemble(): indices of data, arena sizes, jump targets
/// (until then indices of labels).
struct MethodDraft {
  ProgramDraft* program = nullptr;
  format::Method method{};  ///< `arenas` says what was asked for.
  std::vector<LabelDraft> labels{};
  std::vector<std::size_t> unplaced_states{};  ///< Values.
};

struct DataDraft {
  std::string_view key{};
  format::Bytes bytes{};
  std::uint64_t alignment = 1;
};

/// A program as far as the calls so far describe it, and the memory that its views point into.
struct ProgramDraft {
  ProgramBuilderOptions options{};
  std::vector<std::unique_ptr<MethodBuilder>> builders{};
  std::vector<const MethodDraft*> methods{};  ///< Of the builders.
  std::vector<DataDraft> named_data{};
  std::vector<DataDraft> external_data{};
  std::optional<Error> error{};  ///< The first one.

  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }
  format::Bytes keep(format::Bytes bytes) { return blobs_.emplace_back(bytes.begin(), bytes.end()); }
  void fail(Error problem) {
    if (!error) error = std::move(problem);
  }

 private:
  std::deque<std::string> texts_{};
  std::deque<std::vector<std::byte>> blobs_{};
};

[[nodiscard]] Error not_an_alignment(std::uint64_t bytes);

inline constexpr std::uint32_t kMaxArena = 255;

/// Errors: as ProgramBuilder::build().
[[nodiscard]] Result<BuiltProgram> assemble(const ProgramDraft& draft);

}  // namespace tandem::facade
