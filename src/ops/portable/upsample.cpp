#include "ops/portable/arguments.h"
#include "ops/portable/convert.h"
#include "ops/portable/output.h"
#include "ops/portable/tables.h"
#include "ops/portable/walk.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem::ops::portable {
namespace {

// How the positions of one axis map back.
struct Axis {
  std::int64_t in = 0, out = 0;
  float step = 1;  // input elements per output element, in float as PyTorch computes it

  [[nodiscard]] std::int64_t source(std::int64_t position) const noexcept {
    if (in == out) return position;
    if (out == 2 * in) return position / 2;  // exact where the product would round
    return std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(position) * step)), in - 1);
  }
};

Error bad_size(std::string found) {
  return Error{ErrorCode::InvalidArgument, "upsampling needs sizes above 0"}.with_expected("above 0", std::move(found));
}

// From the wanted size or the scale, of which exactly one is given.
Result<Axis> make_axis(std::int64_t in, std::int64_t size, const double* scale) {
  Axis axis{in, size, 1};
  if (scale != nullptr) {
    const double scaled = static_cast<double>(in) * *scale;
    if (!(scaled < 0x1p62)) return bad_size(std::to_string(*scale));
    axis.out = static_cast<std::int64_t>(std::max(scaled, 0.0));
  }
  if (axis.in <= 0 || axis.out <= 0) return bad_size(text_of(std::array{axis.in, axis.out}));
  axis.step =
      scale != nullptr ? static_cast<float>(1.0 / *scale) : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  return axis;
}

/// Wire: input, output_size, scale_factors, out, out.
Status accept_nearest(Specs specs) {
  Accept accept{specs};
  accept.count(5).any_tensor(0).optional_integers(1).optional_doubles(2).any_output(3);
  accept.same_dtype(3, 0).rank(0, 4).rank(3, 4);
  if (!accept.ok()) return accept.done();
  const bool has_size = accept.at(1).kind != Argument::Kind::None;
  const bool has_scale = accept.at(2).kind != Argument::Kind::None;
  if (has_size == has_scale) {
    accept.fail(1, ErrorCode::InvalidArgument, "upsampling takes one of output_size and scale_factors", "one",
                has_size ? "both" : "neither");
  }
  return accept.done();
}

Status run_nearest(Arguments arguments) {
  const View input = view_of(arguments[0]->tensor);
  TensorArg& out = arguments[3]->tensor;
  const std::span<const double> scales = arguments[2]->doubles;
  const bool scaled = arguments[2]->kind == Argument::Kind::DoubleList;
  Shape wanted;
  if (!scaled) {
    TANDEM_TRY(wanted, integers_at(arguments, 1));
  }
  if (const std::size_t given = scaled ? scales.size() : wanted.rank(); given != 2) {
    return Error{ErrorCode::InvalidArgument, "upsampling takes two sizes"}
        .with_expected("2", std::to_string(given))
        .with_argument(scaled ? 2 : 1);
  }
  TANDEM_TRY(const Axis rows, make_axis(input.sizes[2], wanted[0], scaled ? &scales[0] : nullptr));
  TANDEM_TRY(const Axis columns, make_axis(input.sizes[3], wanted[1], scaled ? &scales[1] : nullptr));
  TANDEM_CHECK_OK(runtime::resize(out, std::array{input.sizes[0], input.sizes[1], rows.out, columns.out}));

  const ConvertRow move = row_converter(input.dtype, input.dtype);
  View target = view_of(out);
  const View grid = target;
  target.sizes[2] = target.sizes[3] = 1;
  View source = input;
  source.sizes[2] = source.sizes[3] = 1;
  const std::array<const View*, 2> views{&target, &source};
  const Walk planes{views, Walk::Order::Any};  // all planes at one position
  const auto bytes = static_cast<std::int64_t>(item_bytes(input.dtype));
  if (grid.numel() == 0) return {};
  for (std::int64_t y = 0; y < rows.out; ++y) {
    for (std::int64_t x = 0; x < columns.out; ++x) {
      const Pointers start{
          grid.data + (y * grid.strides[2] + x * grid.strides[3]) * bytes,
          input.data + (rows.source(y) * input.strides[2] + columns.source(x) * input.strides[3]) * bytes};
      planes.each_row(start, [&](const Pointers& at, const Steps& step, std::int64_t count) {
        move(at[1], step[1], at[0], step[0], count);
      });
    }
  }
  return {};
}

constexpr std::array kTable{
    runtime::Operator{"aten::upsample_nearest2d.vec_out", "r--w=", &accept_nearest, &run_nearest},
};

}  // namespace

std::span<const runtime::Operator> upsample_operators() noexcept { return kTable; }

}  // namespace tandem::ops::portable
