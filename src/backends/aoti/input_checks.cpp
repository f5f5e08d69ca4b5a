#include "backends/aoti/input_checks.h"

#include "backends/aoti/container.h"
#include "backends/aoti/library.h"
#include "base/checked.h"
#include "base/log.h"

#include <tandem/tensor.h>

#include <sys/mman.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tandem::aoti {
namespace {

constexpr std::string_view kVariable = "AOTI_RUNTIME_CHECK_INPUTS";
constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTooFew = -1;
constexpr std::int64_t kWrongStride = -7;
/// Exporters take sizes of 0 and 1 for special, and write 2 for each smaller bound: it says nothing of 0 and 1.
/// Source: `specialize_zero_one` of PyTorch's ShapeEnv.
constexpr std::int64_t kSpecialized = 2;

char* getenv_of_checker(const char* name) noexcept {
  static char on[] = "1";
  return name != nullptr && name == kVariable ? on : std::getenv(name);
}

/// Takes texts and numbers off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : text_{text} {}
  bool skip_to(std::string_view part) noexcept {
    const auto at = text_.find(part);
    if (at == std::string_view::npos) return false;
    text_.remove_prefix(at + part.size());
    return true;
  }
  bool skip(std::string_view part) noexcept {
    if (!text_.starts_with(part)) return false;
    text_.remove_prefix(part.size());
    return true;
  }
  template <class Number>
  bool take(Number& out) noexcept {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (error != std::errc{}) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }

 private:
  std::string_view text_;
};

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* data) const noexcept { munmap(data, bytes); }
};

/// Asks one image's checks.
class Prober {
 public:
  Prober(std::span<const std::byte> library, ReadyContainer& ready, std::span<const ArgumentSpec> specs)
      : library_{reinterpret_cast<const char*>(library.data()), library.size()},
        container_{*ready.container},
        device_{*ready.device},
        specs_{specs},
        handles_(specs.size()),
        outputs_(container_.output_count()),
        bounds_(specs.size()) {
    for (const ArgumentSpec& spec : specs) {
      Input& input = inputs_.emplace_back();
      input.dtype = spec.dtype;
      if (spec.kind != Argument::Kind::Tensor) continue;
      input.sizes.assign(spec.sizes.begin(), spec.sizes.end());
      input.strides = planned_strides(spec, input.sizes);
    }
  }

  /// Blocks. Errors: OutOfMemory.
  Status allocate_data();
  /// Learns input after input, as the checks come; stops where they do not do what they should.
  std::vector<std::vector<SizeBounds>> learn();
  /// Why learn() stopped; empty if it did not.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

 private:
  struct Input {
    std::vector<std::int64_t> sizes{};
    std::vector<std::int64_t> strides{};
    ScalarType dtype = ScalarType::Float;
  };
  using Kind = Complaint::Kind;

  [[nodiscard]] static bool is_size(Kind kind) noexcept {
    return kind == Kind::FixedSize || kind == Kind::TooSmall || kind == Kind::TooLarge;
  }
  static std::vector<std::int64_t> planned_strides(const ArgumentSpec& spec, std::span<const std::int64_t> sizes) {
    std::vector<std::int64_t> strides(sizes.size());
    strides_from_dim_order(sizes, spec.dim_order, strides);
    return strides;
  }
  [[nodiscard]] static std::string name(std::size_t input) { return "input_handles[" + std::to_string(input) + "]: "; }
  /// Tells whether the library has such a check. Without it a run would compute.
  [[nodiscard]] bool has_check(std::size_t input, std::string_view what) const {
    const std::string text = name(input) + std::string{what};
    return std::search(library_.begin(), library_.end(),
                       std::boyer_moore_horspool_searcher{text.begin(), text.end()}) != library_.end();
  }
  bool stop(std::string why) {
    trouble_ = std::move(why);
    return false;
  }
  std::optional<Complaint> ask();
  bool reach(std::size_t input);
  bool set_guard(std::size_t input);
  bool learn(std::size_t input);
  bool learn(std::size_t input, std::size_t axis);
  [[nodiscard]] bool is_about(const Complaint& answer, std::size_t input, std::size_t axis) const;

  std::string_view library_;
  Container& container_;
  AotiDevice& device_;
  std::span<const ArgumentSpec> specs_;
  std::vector<Input> inputs_{};
  std::unique_ptr<std::byte, Unmap> host_data_{};
  DeviceBytes device_data_{};
  std::int64_t scalar_ = 0;
  std::vector<AtenTensor*> handles_;
  std::vector<AtenTensor*> outputs_;
  std::vector<std::vector<SizeBounds>> bounds_;
  std::string trouble_{};
};

/// No check reads it. It is there for a library that computes after all.
Status Prober::allocate_data() {
  std::size_t bytes = 1;
  for (const ArgumentSpec& spec : specs_) {
    std::size_t own = item_bytes(spec.dtype);
    for (const std::int64_t size : spec.sizes) {
      if (__builtin_mul_overflow(own, static_cast<std::size_t>(size), &own)) {
        return Error{ErrorCode::OutOfMemory, "the sizes of an input overflow"};
      }
    }
    bytes = std::max(bytes, own);
  }
  if (device_.runs_on_host()) {  // zeros that take no memory until they are read
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return Error{ErrorCode::OutOfMemory, "address space for the inputs of a check"};
    host_data_ = {static_cast<std::byte*>(data), Unmap{bytes}};
    return {};
  }
  TANDEM_TRY(device_data_, allocate(device_, bytes));
  if (device_.clear(device_data_.get(), bytes)) return {};
  return Error{ErrorCode::BackendFailed, "the device's memory could not be cleared"};
}

std::optional<Complaint> Prober::ask() {
  const CallScope scope{container_.state()};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    AtenTensor& handle = container_.state().handles.take();
    handles_[i] = &handle;
    handle.defined = true;
    handle.dtype = inputs_[i].dtype;
    if (specs_[i].kind != Argument::Kind::Tensor) {
      handle.dtype = specs_[i].kind == Argument::Kind::Int      ? ScalarType::Long
                     : specs_[i].kind == Argument::Kind::Double ? ScalarType::Double
                                                                : ScalarType::Bool;
      handle.base = reinterpret_cast<std::byte*>(&scalar_);
      handle.storage_bytes = item_bytes(handle.dtype);
      continue;
    }
    handle.device_type = device_.aten_type();
    handle.device_index = device_.aten_index();
    handle.rank = static_cast<std::uint8_t>(inputs_[i].sizes.size());
    std::ranges::copy(inputs_[i].sizes, handle.sizes);
    std::ranges::copy(inputs_[i].strides, handle.strides);
    handle.base = device_.runs_on_host() ? host_data_.get() : device_data_.get();
  }
  const Status ran = container_.run(handles_, outputs_, device_.stream());
  if (ran.ok()) std::ranges::fill(handles_, nullptr);  // stolen
  for (auto* handles : {&handles_, &outputs_}) {
    for (AtenTensor*& handle : *handles) {
      if (AtenTensor* const left = std::exchange(handle, nullptr); is_live(left)) delete_handle(*left);
    }
  }
  if (ran.ok()) {
    stop("the library ran");
    return std::nullopt;
  }
  auto complaint = parse_complaint(ran.error().native().text);
  if (!complaint) stop("the library says: " + ran.error().native().text);
  return complaint;
}

/// Makes all inputs before `input` pass their checks.
bool Prober::reach(std::size_t input) {
  constexpr std::string_view kDtypeCheck = "unmatched dtype";
  if (!has_check(input, kDtypeCheck)) return stop("input " + std::to_string(input) + " has no check of its dtype");
  const ScalarType right = inputs_[input].dtype;
  inputs_[input].dtype = right == ScalarType::Byte ? ScalarType::Char : ScalarType::Byte;
  std::size_t tries = 4;
  for (std::size_t i = 0; i < input; ++i) tries += 2 * inputs_[i].sizes.size();
  while (tries-- > 0) {
    const auto answer = ask();
    if (!answer) return false;
    if (answer->input == input && answer->kind == Kind::Dtype) {
      inputs_[input].dtype = right;
      return true;
    }
    const bool axis_known = answer->input < input && answer->axis < inputs_[answer->input].sizes.size();
    if (axis_known && answer->kind == Kind::Stride) {
      inputs_[answer->input].strides[answer->axis] = answer->expected;
    } else if (axis_known && (answer->kind == Kind::FixedSize || answer->kind == Kind::TooSmall)) {
      inputs_[answer->input].sizes[answer->axis] = answer->expected;
    } else {
      return stop("an input before input " + std::to_string(input) + " does not pass");
    }
  }
  return stop("inputs before input " + std::to_string(input) + " do not pass");
}

/// Makes sure that no run gets beyond the checks, whatever the sizes of `input` are.
bool Prober::set_guard(std::size_t input) {
  if (has_check(input, "unmatched stride value at ")) {
    std::ranges::fill(inputs_[input].strides, kWrongStride);
    return true;
  }
  for (std::size_t later = input + 1; later < inputs_.size(); ++later) {
    if (specs_[later].kind != Argument::Kind::Tensor || !has_check(later, "unmatched dtype")) continue;
    inputs_[later].dtype = inputs_[later].dtype == ScalarType::Byte ? ScalarType::Char : ScalarType::Byte;
    return true;
  }
  return stop("no later check can hold input " + std::to_string(input) + " back");
}

/// Tells whether the answer is about the size that was asked for.
bool Prober::is_about(const Complaint& answer, std::size_t input, std::size_t axis) const {
  return answer.input == input && is_size(answer.kind) && answer.axis == axis &&
         answer.found == inputs_[input].sizes[axis];
}

bool Prober::learn(std::size_t input, std::size_t axis) {
  SizeBounds& bounds = bounds_[input][axis];
  std::int64_t& size = inputs_[input].sizes[axis];
  // Answers to later checks mean that this axis passed.
  const auto is_earlier = [&](const Complaint& answer) {
    if (answer.input != input) return answer.input < input;
    return answer.kind == Kind::Dtype || (is_size(answer.kind) && answer.axis < axis);
  };
  const std::int64_t planned = std::exchange(size, kTooFew);
  std::optional<Complaint> answer = ask();
  if (!answer) return false;
  if (is_earlier(*answer)) return stop("a check that passed fails");
  if (is_about(*answer, input, axis) && answer->kind == Kind::FixedSize) {
    bounds = {answer->expected, answer->expected, false};
    size = answer->expected;
    return true;
  }
  if (is_about(*answer, input, axis) && answer->kind == Kind::TooSmall) {
    bounds.zero_unknown = answer->expected == kSpecialized;
    bounds.min = bounds.zero_unknown ? 1 : std::max<std::int64_t>(answer->expected, 0);
  }
  size = kTooMany;
  answer = ask();
  if (!answer) return false;
  if (is_earlier(*answer)) return stop("a check that passed fails");
  if (is_about(*answer, input, axis) && answer->kind == Kind::TooLarge) bounds.max = answer->expected;
  size = std::min(std::max(planned, bounds.zero_unknown ? kSpecialized : bounds.min), bounds.max);
  return true;
}

bool Prober::learn(std::size_t input) {
  const std::vector<Input> before = inputs_;
  if (!set_guard(input)) return false;
  bounds_[input].resize(inputs_[input].sizes.size());
  for (std::size_t axis = 0; axis < bounds_[input].size(); ++axis) {
    if (learn(input, axis)) continue;
    bounds_[input].clear();
    return false;
  }
  std::vector<std::int64_t> sizes = std::move(inputs_[input].sizes);
  inputs_ = before;
  inputs_[input].strides = planned_strides(specs_[input], sizes);
  inputs_[input].sizes = std::move(sizes);
  return true;
}

std::vector<std::vector<SizeBounds>> Prober::learn() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (specs_[i].kind == Argument::Kind::Tensor && specs_[i].dynamic && (!reach(i) || !learn(i))) break;
  }
  return std::move(bounds_);
}

}  // namespace

std::optional<Complaint> parse_complaint(std::string_view text) {
  using Kind = Complaint::Kind;
  struct Form {
    Kind kind;
    std::string_view what;
    std::string_view expected;
  };
  static constexpr Form kForms[] = {{Kind::FixedSize, "unmatched dim value at ", ", expected: "},
                                    {Kind::TooSmall, "dim value is too small at ", ", expected it to be >= "},
                                    {Kind::TooLarge, "dim value is too large at ", ", expected to be <= "},
                                    {Kind::Stride, "unmatched stride value at ", ", expected: "}};
  Scanner scanner{text};
  Complaint complaint;
  if (!scanner.skip_to("input_handles[") || !scanner.take(complaint.input) || !scanner.skip("]: ")) return std::nullopt;
  if (scanner.skip("unmatched dtype")) return complaint;
  complaint.kind = Kind::DeviceType;
  if (scanner.skip("unmatched device type")) return complaint;
  for (const Form& form : kForms) {
    if (!scanner.skip(form.what)) continue;
    complaint.kind = form.kind;
    if (scanner.take(complaint.axis) && scanner.skip(form.expected) && scanner.take(complaint.expected) &&
        scanner.skip(", but got: ") && scanner.take(complaint.found)) {
      return complaint;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::vector<SizeBounds>> learn_input_bounds(std::span<const std::byte> bytes, std::string_view key,
                                                        const Weights& weights, AotiDevice& device,
                                                        std::span<const ArgumentSpec> inputs) {
  const auto is_dynamic = [](const ArgumentSpec& spec) { return spec.kind == Argument::Kind::Tensor && spec.dynamic; };
  if (std::ranges::none_of(inputs, is_dynamic)) return {};
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const auto contains = [&text](std::string_view part) {
    return std::search(text.begin(), text.end(), std::boyer_moore_horspool_searcher{part.begin(), part.end()}) !=
           text.end();
  };
  const auto unknown = [&](const std::string& why) {
    base::log(LogLevel::Debug, "library '" + std::string{key} + "' does not tell all sizes that it takes: " + why);
  };
  if (!contains(kVariable)) {
    unknown("it has no checks");
    return {};
  }
  const std::uintptr_t getenv = address_of(getenv_of_checker);
  const Shim overrides[] = {{"getenv", getenv}, {"secure_getenv", getenv}};
  auto image = Library::open(bytes, key, device.shims(), LoadVia::Automatic, overrides);
  if (!image.ok()) {
    unknown(image.error().to_string());
    return {};
  }
  auto ready = weights.make_checker(*std::move(image));
  if (!ready.ok()) {
    unknown(ready.error().to_string());
    return {};
  }
  const DeviceCalls calls{*ready->device};
  Prober prober{bytes, *ready, inputs};
  if (Status allocated = prober.allocate_data(); !allocated.ok()) {
    unknown(allocated.error().to_string());
    return {};
  }
  std::vector<std::vector<SizeBounds>> bounds = prober.learn();
  if (!prober.trouble().empty()) unknown(prober.trouble());
  // Folding may be under way.
  if (Status done = ready->device->finish(); !done.ok()) unknown(done.error().to_string());
  return bounds;
}

}  // namespace tandem::aoti
