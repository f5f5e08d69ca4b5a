#include "runtime/order/history.h"
#include "support/sanitized.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

// The check against a model that knows nothing of clocks: it walks every legal interleaving of small histories.

namespace tandem::runtime {
namespace {

constexpr int kHistories = testing::kSanitized ? 5'000 : 100'000;
constexpr std::array<std::uint32_t, 3> kStreams{0, 63, 1'000};  // numbers, some far apart
constexpr std::uint32_t kEvents = 2;
constexpr std::uint64_t kBuffers = 2;
constexpr std::uint64_t kBytes = 4;  // of each buffer
constexpr std::uint32_t kMaxActions = 7;

using Kind = Action::Kind;

bool runs_on_stream(Kind kind) { return kind == Kind::Submit || kind == Kind::Record || kind == Kind::Wait; }
bool is_write(AccessMode mode) { return mode == AccessMode::Write || mode == AccessMode::Update; }

/// Walks all states that a machine with a host and in-order streams can be in: how far the host has come, and what
/// each stream has done.
class Machine {
 public:
  explicit Machine(const std::vector<Action>& history) : history_{history}, marked_(history.size(), kNoAction) {
    std::map<std::uint32_t, std::uint32_t> last_record;
    for (std::uint32_t i = 0; i < history.size(); ++i) {
      const auto record = last_record.find(history[i].event);
      if (record != last_record.end()) marked_[i] = record->second;
      if (history[i].kind == Kind::Record) last_record[history[i].event] = i;
    }
    walk({});
  }

  /// Whether some interleaving runs `b`, which the host submits after `a`, without `a` having run. (Running everything
  /// as soon as it is submitted is always legal, so that `a` may come first is certain.)
  bool may_overtake(std::uint32_t a, std::uint32_t b) const { return overtaken_[b][a]; }

 private:
  static constexpr std::uint32_t kNoAction = UINT32_MAX;
  struct State {
    std::uint32_t host = 0;  // actions that the host has passed
    std::uint32_t done = 0;  // actions that have run, a bit each
    bool operator<(const State& other) const { return std::tie(host, done) < std::tie(other.host, other.done); }
  };

  bool is_done(const State& state, std::uint32_t action) const { return ((state.done >> action) & 1U) != 0; }
  bool mark_passed(const State& state, std::uint32_t action) const {
    return marked_[action] == kNoAction || is_done(state, marked_[action]);
  }
  bool all_done(const State& state, std::uint32_t until, std::uint32_t stream, bool any_stream) const {
    for (std::uint32_t i = 0; i < until; ++i) {
      if (!runs_on_stream(history_[i].kind) || (!any_stream && history_[i].stream != stream)) continue;
      if (!is_done(state, i)) return false;
    }
    return true;
  }

  void run(State state, std::uint32_t action) {
    for (std::uint32_t a = 0; a < action; ++a) {
      if (!is_done(state, a)) overtaken_[action][a] = true;
    }
    state.done |= 1U << action;
    walk(state);
  }

  void walk(const State& state) {
    if (!seen_.insert(state).second) return;
    for (std::uint32_t i = 0; i < state.host; ++i) {  // a stream runs its next piece
      const Action& action = history_[i];
      if (is_done(state, i) || !runs_on_stream(action.kind) || !all_done(state, i, action.stream, false)) continue;
      if (action.kind == Kind::Wait && !mark_passed(state, i)) continue;
      run(state, i);
    }
    if (state.host == history_.size()) return;
    const std::uint32_t next = state.host;  // or the host goes on
    const Action& action = history_[next];
    State after = state;
    ++after.host;
    if (action.kind == Kind::HostStep) return run(after, next);
    if (action.kind == Kind::HostWaitEvent && !mark_passed(state, next)) return;
    if (action.kind == Kind::HostWaitStream && !all_done(state, next, action.stream, false)) return;
    if (action.kind == Kind::Join && !all_done(state, next, 0, true)) return;
    walk(after);
  }

  const std::vector<Action>& history_;
  std::vector<std::uint32_t> marked_;  // by wait: the record whose point it waits for
  std::set<State> seen_{};
  std::array<std::array<bool, kMaxActions>, kMaxActions> overtaken_{};
};

/// (first action, second action, buffer, byte)
using Meeting = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>;

/// What the header promises, byte by byte.
std::set<Meeting> nearest_meetings(const std::vector<Action>& history, const Machine& machine) {
  struct Byte {
    std::vector<std::uint32_t> write{};                     // none or one
    std::map<std::uint32_t, std::uint32_t> last_read_on{};  // by stream
  };
  std::array<std::array<Byte, kBytes>, kBuffers> bytes{};
  std::set<Meeting> meetings;
  for (std::uint32_t i = 0; i < history.size(); ++i) {
    for (const ByteAccess& access : history[i].accesses) {
      for (std::uint64_t at = access.begin; at < access.end; ++at) {
        Byte& byte = bytes[access.buffer][at];
        const auto meet = [&](std::uint32_t earlier) {
          if (earlier != i && machine.may_overtake(earlier, i)) meetings.insert({earlier, i, access.buffer, at});
        };
        for (const std::uint32_t write : byte.write) meet(write);
        if (is_write(access.mode)) {
          for (const auto& [stream, read] : byte.last_read_on) meet(read);
          byte = {.write = {i}};
        } else {
          byte.last_read_on[history[i].kind == Kind::HostStep ? kHostStream : history[i].stream] = i;
        }
      }
    }
  }
  return meetings;
}

/// Whether any conflicting pair, near or not, has no order.
bool has_race(const std::vector<Action>& history, const Machine& machine) {
  for (std::uint32_t b = 0; b < history.size(); ++b) {
    for (std::uint32_t a = 0; a < b; ++a) {
      if (!machine.may_overtake(a, b)) continue;
      for (const ByteAccess& x : history[a].accesses) {
        for (const ByteAccess& y : history[b].accesses) {
          const bool meet = x.buffer == y.buffer && x.begin < y.end && y.begin < x.end;
          if (meet && (is_write(x.mode) || is_write(y.mode))) return true;
        }
      }
    }
  }
  return false;
}

struct RandomHistory {
  explicit RandomHistory(std::uint32_t seed) {
    std::mt19937 random{seed};
    const auto below = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t count = 2 + below(kMaxActions - 1);
    const std::uint32_t streams = 2 + below(kStreams.size() - 1);
    constexpr std::array kinds{Kind::Submit,        Kind::Submit, Kind::Submit,        Kind::Submit, Kind::Record,
                               Kind::Record,        Kind::Wait,   Kind::Wait,          Kind::Wait,   Kind::HostStep,
                               Kind::HostWaitEvent, Kind::Join,   Kind::HostWaitStream};
    accesses.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      Action action{
          .kind = kinds[below(kinds.size())], .stream = kStreams[below(streams)], .event = below(kEvents), .label = i};
      if (action.kind == Kind::Submit || action.kind == Kind::HostStep) {
        for (std::uint32_t n = 1 + below(2); n > 0; --n) {
          const std::uint64_t begin = below(kBytes);
          const std::uint64_t end = begin + 1 + below(kBytes - begin);
          constexpr std::array modes{AccessMode::Read, AccessMode::Write, AccessMode::Update};
          accesses[i].push_back({.buffer = below(kBuffers), .begin = begin, .end = end, .mode = modes[below(3)]});
        }
        action.accesses = accesses[i];
      }
      actions.push_back(action);
    }
  }

  std::string text() const {
    constexpr std::array names{"submit", "record", "wait", "host step", "host wait event", "host wait stream", "join"};
    std::string text;
    for (const Action& action : actions) {
      text += std::string{names[static_cast<std::size_t>(action.kind)]} + " stream " + std::to_string(action.stream) +
              " event " + std::to_string(action.event);
      for (const ByteAccess& access : action.accesses) {
        text += std::string{is_write(access.mode) ? " W" : " R"} + std::to_string(access.buffer) + "[" +
                std::to_string(access.begin) + ", " + std::to_string(access.end) + ")";
      }
      text += "\n";
    }
    return text;
  }

  std::vector<std::vector<ByteAccess>> accesses{};
  std::vector<Action> actions{};
};

TEST(HistoryInterleavingsTest, TheCheckAgreesWithEveryLegalInterleaving) {
  int races = 0;
  for (std::uint32_t seed = 0; seed < kHistories; ++seed) {
    const RandomHistory history{seed};
    const Machine machine{history.actions};
    std::set<Meeting> found;
    for (const Unordered& pair : find_unordered(history.actions)) {
      const ByteAccess& first = history.accesses[pair.first][pair.first_access];
      const ByteAccess& second = history.accesses[pair.second][pair.second_access];
      for (std::uint64_t at = pair.begin; at < pair.end; ++at) found.insert({pair.first, pair.second, pair.buffer, at});
      ASSERT_TRUE(is_write(first.mode) || is_write(second.mode)) << history.text();
      ASSERT_TRUE(first.buffer == pair.buffer && first.begin <= pair.begin && pair.end <= first.end) << history.text();
      ASSERT_TRUE(second.buffer == pair.buffer && second.begin <= pair.begin && pair.end <= second.end)
          << history.text();
    }
    ASSERT_EQ(found, nearest_meetings(history.actions, machine)) << "seed " << seed << "\n" << history.text();
    ASSERT_EQ(!found.empty(), has_race(history.actions, machine)) << "seed " << seed << "\n" << history.text();
    races += found.empty() ? 0 : 1;
  }
  // Both answers must be common, or the test shows nothing.
  EXPECT_GT(races, kHistories / 10);
  EXPECT_LT(races, kHistories * 9 / 10);
}

}  // namespace
}  // namespace tandem::runtime
