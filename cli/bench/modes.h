#pragma once

#include <tandem/method.h>
#include <tandem/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli::bench {

/// Who calls the method in a mode, and how.
enum class Drive : std::uint8_t {
  Single,    ///< One thread, one run after the other.
  Threads,   ///< Several threads that share the method.
  Streams,   ///< Several threads with a stream each, and as many instances.
  Depth,     ///< One thread, execute_async() back to back.
  Raw,       ///< The bench itself: the recorded launches.
  RawGraph,  ///< The bench itself: the recorded launches as one graph.
};

/// A row of the table of modes.
struct ModeKind {
  std::string_view name{};
  Drive drive = Drive::Single;
  GraphPolicy graphs = GraphPolicy::Auto;
  bool on_host = true;         ///< Among the modes that are measured on the host if nobody says which.
  std::string_view number{};   ///< What stands behind the colon; empty: nothing.
  std::string_view meaning{};  ///< For people.
};

/// All there are, in the order in which they are measured if nobody says otherwise.
[[nodiscard]] std::span<const ModeKind> mode_kinds() noexcept;
/// The two kinds that differ in nothing but their name: what they differ by is the resolution.
inline constexpr std::string_view kEager = "eager";
inline constexpr std::string_view kAgain = "again";

struct Mode {
  const ModeKind* kind = nullptr;
  unsigned number = 1;     ///< Threads, streams, or executions in flight.
  bool was_asked = false;  ///< By name: if it cannot be measured, that is an error.

  /// "eager", "threads:4".
  [[nodiscard]] std::string name() const;
};

/// The numbers of modes that are named without one.
struct ModeNumbers {
  unsigned threads = 4;
  unsigned depth = 4;
};

/// Modes from "eager,again,threads:8".
/// Errors: InvalidArgument, an unknown name, naming those that there are; a number that is none, or where none belongs;
///   a mode twice; an empty list.
[[nodiscard]] Result<std::vector<Mode>> parse_modes(std::string_view list, const ModeNumbers& numbers);

/// What decides whether a mode makes sense for a method.
struct MethodFacts {
  DeviceId device{};
  bool is_stateful = false;  ///< Equal inputs give other results after other runs.
  bool is_fully_async = false;
};

/// Errors: NotSupported, the mode cannot be measured with this method, and why.
[[nodiscard]] Status check_mode(const Mode& mode, const MethodFacts& facts);

/// The modes for a method if nobody says which.
[[nodiscard]] std::vector<Mode> default_modes(const MethodFacts& facts, const ModeNumbers& numbers);

}  // namespace tandem::cli::bench
