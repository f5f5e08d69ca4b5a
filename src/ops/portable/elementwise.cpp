#include "ops/portable/elementwise.h"

#include "ops/portable/convert.h"
#include "ops/portable/walk.h"

#include <algorithm>
#include <array>

namespace tandem::ops::portable {
namespace {

constexpr std::int64_t kChunk = 512;  // elements; all buffers together stay within the first-level cache
constexpr std::size_t kMaxInputs = kMaxOperands - 1;
using Buffer = std::array<std::byte, kChunk * sizeof(double)>;

std::int64_t bytes_of(ScalarType dtype) noexcept { return static_cast<std::int64_t>(item_bytes(dtype)); }

// Computes rows. Operand k of a walk is input k - 1; operand 0 is the result.
class RowComputer {
 public:
  RowComputer(const View& out, std::span<const Operand> inputs, const Computation& computation) noexcept
      : inputs_{inputs}, computation_{computation}, out_dtype_{out.dtype} {
    for (std::size_t k = 0; k < inputs.size(); ++k) load_[k] = row_converter(inputs[k].view.dtype, inputs[k].as);
    store_ = row_converter(computation.result, out.dtype);
  }

  [[nodiscard]] bool serves() const noexcept {
    if (computation_.kernel == nullptr || store_ == nullptr) return false;
    return std::all_of(load_.begin(), load_.begin() + static_cast<std::ptrdiff_t>(inputs_.size()),
                       [](ConvertRow f) { return f != nullptr; });
  }

  void row(const Pointers& at, const Steps& step, std::int64_t count) noexcept {
    const bool out_direct = out_dtype_ == computation_.result && step[0] == bytes_of(out_dtype_);
    bool all_direct = out_direct;
    std::array<bool, kMaxInputs> direct{};
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const Operand& input = inputs_[k];
      direct[k] = input.view.dtype == input.as && (step[k + 1] == bytes_of(input.as) || count == 1);
      all_direct = all_direct && direct[k];
      // A repeated element fills its buffer once for the whole row.
      if (step[k + 1] == 0 && !direct[k]) fill(k, at[k + 1], std::min(count, kChunk));
    }
    const std::int64_t chunk = all_direct ? count : kChunk;
    for (std::int64_t done = 0; done < count; done += chunk) {
      const std::int64_t now = std::min(chunk, count - done);
      std::array<const std::byte*, kMaxInputs> operands{};
      for (std::size_t k = 0; k < inputs_.size(); ++k) {
        const std::byte* source = at[k + 1] + done * step[k + 1];
        if (direct[k]) {
          operands[k] = source;
          continue;
        }
        if (step[k + 1] != 0) {
          load_[k](source, step[k + 1], buffers_[k].data(), bytes_of(inputs_[k].as), now);
        }
        operands[k] = buffers_[k].data();
      }
      std::byte* target = at[0] + done * step[0];
      std::byte* result = out_direct ? target : result_.data();
      computation_.kernel(computation_.context, operands.data(), result, now);
      if (!out_direct) store_(result, bytes_of(computation_.result), target, step[0], now);
    }
  }

 private:
  void fill(std::size_t k, const std::byte* element, std::int64_t count) noexcept {
    load_[k](element, 0, buffers_[k].data(), bytes_of(inputs_[k].as), count);
  }

  std::span<const Operand> inputs_;
  const Computation& computation_;
  ScalarType out_dtype_;
  std::array<ConvertRow, kMaxInputs> load_{};
  ConvertRow store_ = nullptr;
  alignas(64) std::array<Buffer, kMaxInputs> buffers_;
  alignas(64) Buffer result_;
};

}  // namespace

Status compute(const View& out, std::span<const Operand> operands, const Computation& computation) {
  std::array<View, kMaxInputs> expanded;
  std::array<const View*, kMaxOperands> views{&out};
  Pointers start{out.data};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    expanded[k] = operands[k].view;
    expanded[k].expand(out.sizes);
    views[k + 1] = &expanded[k];
    start[k + 1] = expanded[k].data;
  }
  RowComputer computer{out, operands, computation};
  if (!computer.serves()) return Error{ErrorCode::InvalidType, "no kernel for these element types"};
  Walk{std::span{views}.first(operands.size() + 1), Walk::Order::Any}.each_row(
      start, [&](const Pointers& at, const Steps& step, std::int64_t count) { computer.row(at, step, count); });
  return {};
}

}  // namespace tandem::ops::portable
