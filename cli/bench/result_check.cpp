#include "cli/bench/result_check.h"

#include "cli/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::cli::bench {
namespace {

/// Quick, and sure only where it says yes: results in other layouts may be equal all the same.
bool are_same_bytes(std::span<const Value> a, std::span<const Value> b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) {
    if (!x.is_tensor() || !y.is_tensor()) return false;
    const Tensor& s = x.tensor();
    const Tensor& t = y.tensor();
    return s.dtype() == t.dtype() && std::ranges::equal(s.sizes(), t.sizes()) && s.is_contiguous() &&
           t.is_contiguous() && (s.nbytes() == 0 || std::memcmp(s.data(), t.data(), s.nbytes()) == 0);
  });
}

/// The method uses the memory of its outputs again.
Result<std::vector<Value>> copies_of(std::span<const Value> outputs) {
  std::vector<Value> copies(outputs.begin(), outputs.end());
  for (Value& value : copies) {
    if (!value.is_tensor()) continue;
    if (!value.tensor().is_contiguous()) {
      value = {};  // compared by fingerprint
      continue;
    }
    TANDEM_TRY(const Tensor copy, Tensor::empty(value.tensor().dtype(), value.tensor().sizes()));
    if (copy.nbytes() != 0) std::memcpy(copy.data(), value.tensor().data(), copy.nbytes());
    value = copy;
  }
  return copies;
}

/// Empty if `outputs` are what was expected.
std::string mismatch(std::span<const Value> outputs, const Expected& expected) {
  if (outputs.size() != expected.outputs.size()) {
    return fmt::format("{} outputs, and {} are expected", outputs.size(), expected.outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Comparison compared = compare(outputs[i], expected.outputs[i], expected.tolerance);
    if (!compared.matched) return fmt::format("not what is expected, output {}: {}", i, compared.reason);
  }
  return {};
}

}  // namespace

bool ResultCheck::fail(std::string_view mode, std::uint64_t run, std::string reason) {
  if (!difference_) difference_ = Difference{.mode = std::string{mode}, .run = run, .reason = std::move(reason)};
  return false;
}

/// The first with its number: the others are compared with it. Holds the lock.
Result<bool> ResultCheck::add_first(std::string_view mode, std::uint64_t run, std::span<const Value> outputs) {
  Known known{.mode = std::string{mode}, .run = run};
  TANDEM_TRY(known.digest, digest_of(outputs));
  if (!is_stateful_) {
    TANDEM_TRY(known.outputs, copies_of(outputs));
  }
  const bool is_first_run = known_.empty();
  known_.push_back(std::move(known));
  if (is_first_run && expected_) {
    if (std::string reason = mismatch(outputs, *expected_); !reason.empty()) return fail(mode, run, std::move(reason));
  }
  return !difference_.has_value();
}

Result<bool> ResultCheck::add(std::string_view mode, std::uint64_t run, std::span<const Value> outputs) {
  const Known* known = nullptr;
  {
    const std::scoped_lock lock{mutex_};
    if (difference_) return false;
    const std::uint64_t index = is_stateful_ ? run : 0;
    if (index >= known_.size()) return add_first(mode, run, outputs);
    if (!is_stateful_) known = &known_.front();  // stays: there is only one
  }
  // Outside of the lock, so that threads do not wait for each other's comparisons.
  if (known != nullptr && are_same_bytes(outputs, known->outputs)) return true;
  TANDEM_TRY(const std::uint64_t digest, digest_of(outputs));
  const std::scoped_lock lock{mutex_};
  const Known& other = known_[is_stateful_ ? run : 0];
  if (digest == other.digest) return true;
  return fail(
      mode, run,
      fmt::format("fingerprint {:016x}, and run {} of {} gave {:016x}", digest, other.run, other.mode, other.digest));
}

std::optional<Difference> ResultCheck::difference() const {
  const std::scoped_lock lock{mutex_};
  return difference_;
}

std::optional<std::uint64_t> ResultCheck::first_digest() const {
  const std::scoped_lock lock{mutex_};
  if (known_.empty()) return std::nullopt;
  return known_.front().digest;
}

}  // namespace tandem::cli::bench
