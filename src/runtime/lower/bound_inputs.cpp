#include "runtime/lower/lower.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::runtime {
namespace {

/// Operators whose second tensor gets the sizes of argument 0.
bool is_copy(const Operator& op) noexcept {
  constexpr std::string_view kCopies[] = {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out", "aten::clone.out",
                                          "dim_order_ops::_clone_dim_order.out",
                                          "dim_order_ops::_to_dim_order_copy.out"};
  return std::ranges::find(kCopies, op.name) != std::end(kCopies);
}

class InputBounder {
 public:
  InputBounder(const LowerInput& input, Schedule& schedule)
      : input_{input}, schedule_{schedule}, input_of_(schedule.values.size(), kNone) {}

  Status run() {
    for (std::uint32_t i = 0; i < schedule_.inputs.size(); ++i) {
      InputPlan& plan = schedule_.inputs[i];
      const ArgumentSpec& spec = schedule_.values[plan.value].spec;
      input_of_[plan.value] = i;
      if (spec.kind != Argument::Kind::Tensor || !spec.dynamic) continue;
      for (const std::int64_t size : spec.sizes) plan.bounds.push_back({0, size, false});
    }
    follow_steps();
    for (const InputBounds& stated : input_.input_bounds) {
      if (!stated.method.empty() && stated.method != schedule_.method) continue;
      if (Status taken = take(stated); !taken.ok()) {
        return std::move(taken)
            .error()
            .with_method(std::string{schedule_.method})
            .with_field("bounds of input " + std::to_string(stated.input) + ", axis " + std::to_string(stated.axis));
      }
    }
    return {};
  }

 private:
  /// Which input a value has the sizes of, at the step that is looked at; kNone: of none.
  [[nodiscard]] std::uint32_t input_of(std::uint32_t value) const {
    if (input_of_[value] != kNone || schedule_.values[value].view_of == kNone) return input_of_[value];
    const std::uint32_t source = schedule_.source_of(value);
    const bool is_same = std::ranges::equal(schedule_.values[value].spec.sizes, schedule_.values[source].spec.sizes);
    return is_same ? input_of_[source] : kNone;
  }

  /// Steps that every run takes, in their order: those before the first condition.
  void follow_steps() {
    for (const Step& step : schedule_.steps) {
      const auto args = schedule_.args_of(step);
      switch (step.kind) {
        case Step::Kind::JumpFalse:
          return;
        case Step::Kind::Copy:
        case Step::Kind::Move:
          input_of_[args[1]] = input_of(args[0]);
          break;
        case Step::Kind::Delegate:
          follow_delegate(step);
          break;
        case Step::Kind::Kernel:
          follow_kernel(step);
          break;
        case Step::Kind::Free:
          break;
      }
    }
  }

  void follow_delegate(const Step& step) {
    const auto args = schedule_.args_of(step);
    const DelegatePlan& delegate = schedule_.delegates[step.target];
    const std::size_t inputs = args.size() - delegate.output_count;
    for (std::size_t a = 0; a < inputs && !delegate.checks_sizes; ++a) {
      const std::uint32_t input = input_of(args[a]);
      if (input == kNone) continue;
      std::vector<SizeBounds>& bounds = schedule_.inputs[input].bounds;
      const std::span<const SizeBounds> known = bounds_of(delegate, a);
      for (std::size_t d = 0; d < bounds.size(); ++d) narrow(bounds[d], d < known.size() ? known[d] : SizeBounds{});
    }
    for (const std::uint32_t output : args.subspan(inputs)) input_of_[output] = kNone;
  }

  void follow_kernel(const Step& step) {
    const auto args = schedule_.args_of(step);
    const auto modes = schedule_.modes_of(step);
    const bool copies = is_copy(*schedule_.operators[step.target]);
    for (std::size_t a = 0; a < args.size(); ++a) {
      if (writes(modes[a]) || modes[a] == OpAccess::Alias) input_of_[args[a]] = copies ? input_of(args[0]) : kNone;
    }
  }

  /// Both hold.
  static void narrow(SizeBounds& bounds, const SizeBounds& other) noexcept {
    const auto excludes_zero = [](const SizeBounds& one) { return one.min > 0 && !one.zero_unknown; };
    const bool is_excluded = excludes_zero(bounds) || excludes_zero(other);
    bounds.zero_unknown = !is_excluded && (bounds.zero_unknown || other.zero_unknown);
    bounds.max = std::min(bounds.max, other.max);
    bounds.min = std::max(bounds.min, other.min);
    if (bounds.max == 0 && bounds.zero_unknown) bounds = {0, 0, false};  // the program has no other size
  }

  Status take(const InputBounds& stated) {
    const auto refuse = [](std::string why, std::string expected, std::string found) {
      return Error{ErrorCode::InvalidArgument, std::move(why)}.with_expected(std::move(expected), std::move(found));
    };
    if (stated.input >= schedule_.inputs.size()) {
      return refuse("bounds are stated for an input that the method does not have",
                    std::to_string(schedule_.inputs.size()) + " inputs", "input " + std::to_string(stated.input));
    }
    InputPlan& plan = schedule_.inputs[stated.input];
    const ArgumentSpec& spec = schedule_.values[plan.value].spec;
    const std::size_t rank = spec.kind == Argument::Kind::Tensor ? spec.sizes.size() : 0;
    if (stated.axis >= rank) {
      return refuse("bounds are stated for an axis that the input does not have", std::to_string(rank) + " axes",
                    "axis " + std::to_string(stated.axis));
    }
    if (stated.min < 0 || stated.min > stated.max) {
      return refuse("stated bounds hold no size", "0 <= min <= max",
                    std::to_string(stated.min) + " to " + std::to_string(stated.max));
    }
    SizeBounds bounds{spec.sizes[stated.axis], spec.sizes[stated.axis], false};
    SizeBounds& own = plan.bounds.empty() ? bounds : plan.bounds[stated.axis];
    if (stated.min == 0 && own.zero_unknown) {
      own.min = 0;
      own.zero_unknown = false;
    }
    if (stated.min == 0 && own.min == 0 && !plan.bounds.empty()) schedule_.zero_stated = true;
    const std::string before = std::to_string(own.min) + " to " + std::to_string(own.max);
    own.min = std::max(own.min, stated.min);
    own.max = std::min(own.max, stated.max);
    if (own.min <= own.max) return {};
    return refuse("stated bounds leave no size", "sizes within " + before,
                  std::to_string(stated.min) + " to " + std::to_string(stated.max));
  }

  const LowerInput& input_;
  Schedule& schedule_;
  std::vector<std::uint32_t> input_of_;
};

}  // namespace

Status bound_inputs(const LowerInput& input, Schedule& schedule) { return InputBounder{input, schedule}.run(); }

}  // namespace tandem::runtime
