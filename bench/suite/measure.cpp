#include "bench/suite/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

namespace tandem::suite {
namespace {

constexpr std::size_t kBlocks = 10;
constexpr std::size_t kLimit = 3;  ///< Wrong elements that a message names.

double us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// What is wrong with the output; empty: nothing.
std::string compare(const Bytes& found, const std::vector<float>& expected, double tolerance) {
  if (found.size() != expected.size() * sizeof(float)) {
    return fmt::format("{} bytes of output where {} floats are expected", found.size(), expected.size());
  }
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < expected.size() && wrong.size() < kLimit; ++i) {
    float value = 0;
    std::memcpy(&value, found.data() + i * sizeof value, sizeof value);
    const double allowed = tolerance * (1 + std::abs(static_cast<double>(expected[i])));
    // Written so that a NaN is wrong.
    if (!(std::abs(static_cast<double>(value) - static_cast<double>(expected[i])) <= allowed)) {
      wrong.push_back(fmt::format("element {} is {} and should be {}", i, value, expected[i]));
    }
  }
  return fmt::format("{}", fmt::join(wrong, ", "));
}

class Measuring {
 public:
  Measuring(const Case& work, const std::function<Clock::time_point()>& now)
      : work_{work}, now_{now}, tracks_(work.ways.size()) {}

  Measurement run() {
    for (std::size_t w = 0; w < tracks_.size(); ++w) warm_up(w);
    check_results("before the first round");
    const std::size_t blocks = std::min(kBlocks, work_.rounds);
    std::vector<std::size_t> order(tracks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::minstd_rand random;  // the same every time
    for (std::size_t b = 0; b < blocks; ++b) {
      for (std::size_t round = b * work_.rounds / blocks; round < (b + 1) * work_.rounds / blocks; ++round) {
        std::ranges::shuffle(order, random);  // a way's time depends on whose turn was before
        for (const std::size_t way : order) sample(way);
      }
      check_results("in a later round");
    }
    return report();
  }

 private:
  struct Track {
    std::vector<double> times{};
    std::vector<double> host_times{};
    std::string fault{};
  };

  void note(std::size_t way, const Status& status) {
    if (!status.ok() && tracks_[way].fault.empty()) tracks_[way].fault = status.error().to_string();
  }

  Status call(const Way& way) {
    if (way.before) TANDEM_CHECK_OK(way.before());
    TANDEM_CHECK_OK(way.enqueue());
    if (way.wait) TANDEM_CHECK_OK(way.wait());
    return way.after ? way.after() : Status{};
  }

  void warm_up(std::size_t way) {
    for (std::size_t i = 0; i < work_.warmup && tracks_[way].fault.empty(); ++i) note(way, call(work_.ways[way]));
  }

  void sample(std::size_t index) {
    Track& track = tracks_[index];
    if (!track.fault.empty()) return;
    note(index, timed(work_.ways[index], track));
  }

  Status timed(const Way& way, Track& track) {
    if (way.before) TANDEM_CHECK_OK(way.before());
    Clock::duration host{};
    const Clock::time_point begin = now_();
    for (std::size_t i = 0; i < work_.repeats; ++i) {
      if (!way.wait) {
        TANDEM_CHECK_OK(way.enqueue());
        continue;
      }
      const Clock::time_point start = work_.repeats == 1 ? begin : now_();
      TANDEM_CHECK_OK(way.enqueue());
      host += now_() - start;
      TANDEM_CHECK_OK(way.wait());
    }
    const Clock::time_point end = now_();
    const double calls = static_cast<double>(way.calls * work_.repeats);
    track.times.push_back(us(end - begin) / calls);
    if (way.wait) track.host_times.push_back(us(host) / calls);
    return way.after ? way.after() : Status{};
  }

  /// The first good way gives the bits that the others must have.
  void check_results(const char* when) {
    for (std::size_t w = 0; w < tracks_.size(); ++w) {
      const Way& way = work_.ways[w];
      Track& track = tracks_[w];
      if (!way.result || !track.fault.empty()) continue;
      Result<Bytes> found = way.result();
      if (!found.ok()) {
        note(w, std::move(found).error());
        continue;
      }
      std::string wrong = work_.expected.empty() ? "" : compare(*found, work_.expected, work_.tolerance);
      if (wrong.empty() && !bits_.empty() && *found != bits_) wrong = "not the bits of " + bits_of_;
      if (!wrong.empty()) {
        track.fault = fmt::format("wrong result {}: {}", when, wrong);
      } else if (bits_.empty()) {
        bits_ = *std::move(found);
        bits_of_ = way.name;
      }
    }
  }

  std::optional<Comparison> compare_with(const Way& way, const Track& track) const {
    for (std::size_t w = 0; w < tracks_.size(); ++w) {
      if (way.against.empty() || work_.ways[w].name != way.against || !tracks_[w].fault.empty()) continue;
      Comparison found{.against = way.against};
      const std::vector<double> mine = block_medians(track.times, kBlocks);
      const std::vector<double> theirs = block_medians(tracks_[w].times, kBlocks);
      found.ratio = paired_ratios(mine, theirs);
      found.difference = paired_differences(mine, theirs);
      if (!track.host_times.empty() && !tracks_[w].host_times.empty()) {
        found.host_difference =
            paired_differences(block_medians(track.host_times, kBlocks), block_medians(tracks_[w].host_times, kBlocks));
      }
      return found;
    }
    return {};
  }

  Measurement report() const {
    Measurement measured{.scenario = work_.scenario, .name = work_.name, .rounds = work_.rounds};
    for (std::size_t w = 0; w < tracks_.size(); ++w) {
      const Way& way = work_.ways[w];
      const Track& track = tracks_[w];
      Line& line = measured.lines.emplace_back();
      line.way = way.name;
      line.fault = track.fault;
      line.goal = way.goal.text();
      line.is_met = track.fault.empty();
      if (!track.fault.empty()) continue;
      line.time = spread_of(block_medians(track.times, kBlocks));
      line.p99 = percentile(track.times, 99);
      if (!track.host_times.empty()) line.host = spread_of(block_medians(track.host_times, kBlocks));
      line.ratio = compare_with(way, track);
      line.is_met =
          meets(way.goal, line.ratio, line.host ? std::optional<double>{line.host->median} : std::nullopt, work_.parts);
    }
    return measured;
  }

  const Case& work_;
  const std::function<Clock::time_point()>& now_;
  std::vector<Track> tracks_;
  Bytes bits_{};
  std::string bits_of_{};
};

}  // namespace

bool Measurement::is_good() const {
  return std::ranges::all_of(lines, [](const Line& line) { return line.fault.empty(); });
}

Measurement measure(const Case& work, const std::function<Clock::time_point()>& now) {
  return Measuring{work, now}.run();
}

}  // namespace tandem::suite
