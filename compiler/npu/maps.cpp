// Tensors as the three-dimensional maps of the hardware, and windows over them.
#include <algorithm>
#include <numeric>

#include "compiler/npu/lowering.h"
#include "inference/ops/affine.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int32_t kMaxStride = 3, kMaxDilation = 2, kMaxPad = 127, kMaxPieces = 256;

npu::FeatureMap map_of(const Operand& operand, std::int32_t height, std::int32_t width, std::int32_t depth,
                       std::int64_t stride_y, std::int64_t stride_x) {
  npu::FeatureMap map;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.element = static_cast<std::uint8_t>(size_of(operand.tensor->dtype));
  map.is_signed = true;
  map.zero_point = operand.zero_point();
  map.base[0] = operand.place.offset;
  map.stride_y = stride_y;
  map.stride_x = stride_x;
  map.stride_c = map.element;
  return map;
}

Status check_sizes(std::int64_t height, std::int64_t width, std::int64_t depth) {
  if (height <= npu::kMaxSize && width <= npu::kMaxSize && depth <= npu::kMaxSize) return {};
  return Status(Code::unsupported) << "a map of " << height << " x " << width << " x " << depth
                                   << ", expected at most " << npu::kMaxSize << " each";
}

// A part of an axis: outputs first, first + step, ..., which read positions `in`, `in` + `in_step`, ... of
// the input as a window of its own.
struct Piece {
  std::int32_t first = 0, step = 1, count = 1, in = 0, in_step = 1;
  WindowAxis window;
};

std::int32_t floor_of(std::int32_t value, std::int32_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

// One piece where the hardware has the stride and dilation; else one for each phase of the dilation, or for
// each output.
std::vector<Piece> pieces_of(const WindowAxis& window, std::int32_t outputs) {
  Piece whole;
  whole.count = outputs;
  whole.window = window;
  if (window.taps == 1) whole.window.dilation = 1;
  if (outputs == 1) whole.window.stride = 1;
  if (whole.window.stride <= kMaxStride && whole.window.dilation <= kMaxDilation) return {whole};
  const std::int32_t common = std::gcd(whole.window.stride, whole.window.dilation);
  const bool by_phase = whole.window.stride / common <= kMaxStride;
  const std::int32_t phases = by_phase ? whole.window.dilation / common : outputs;
  std::vector<Piece> pieces;
  for (std::int32_t p = 0; p < std::min(phases, outputs); ++p) {
    Piece piece;
    piece.first = p;
    piece.step = phases;
    piece.count = (outputs - p + phases - 1) / phases;
    const std::int32_t from = p * window.stride - window.pad, dilation = whole.window.dilation,
                       skipped = floor_of(from, dilation);
    piece.in_step = dilation;
    piece.in = from - skipped * dilation + std::max(skipped, 0) * dilation;
    piece.window = {window.taps, by_phase ? whole.window.stride / common : 1, 1, std::max(-skipped, 0)};
    pieces.push_back(piece);
  }
  return pieces;
}

// The kernel of one axis, and how far it reaches beyond the input's end.
struct AxisUse {
  std::int32_t kernel = 1, after = 0, size = 0;
};
Result<AxisUse> use_of(const Piece& piece, std::int32_t in_size) {
  AxisUse use;
  use.kernel = (piece.window.taps - 1) * piece.window.dilation + 1;
  const std::int32_t there =
      piece.in >= in_size ? 0 : (in_size - piece.in + piece.in_step - 1) / piece.in_step;
  const std::int32_t needed = (piece.count - 1) * piece.window.stride + use.kernel - piece.window.pad;
  use.after = std::max(0, needed - there);
  use.size = needed - use.after;
  if (use.size < 1 || piece.window.pad >= use.kernel || piece.window.pad > kMaxPad) {
    return Status(Code::unsupported) << "padding of " << piece.window.pad << " before a kernel of "
                                     << use.kernel << " over " << there << " elements";
  }
  return use;
}

npu::FeatureMap part_of(npu::FeatureMap map, std::int64_t first_y, std::int64_t step_y, std::int32_t height,
                        std::int64_t first_x, std::int64_t step_x, std::int32_t width) {
  map.base[0] += first_y * map.stride_y + first_x * map.stride_x;
  map.stride_y *= step_y;
  map.stride_x *= step_x;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  return map;
}

}  // namespace

std::vector<std::int64_t> dense_strides(const Dims& shape, std::size_t element) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = static_cast<std::int64_t>(element);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Result<npu::FeatureMap> Lowering::spatial(const Operand& operand) {
  const std::size_t rank = operand.shape.size();
  const auto size = [&](std::size_t back) { return rank > back ? operand.shape[rank - 1 - back] : 1; };
  const auto stride = [&](std::size_t back) {
    return rank > back ? operand.place.strides[rank - 1 - back] : std::int64_t{0};
  };
  for (std::size_t axis = 0; axis + 3 < rank; ++axis) {
    if (operand.shape[axis] != 1) return refuse() << "a batch of " << operand.shape[axis] << ", expected 1";
  }
  const auto element = static_cast<std::int64_t>(size_of(operand.tensor->dtype));
  if (stride(0) != element && size(0) != 1) return refuse() << "channels that are not side by side";
  RUNNEL_TRY(check_sizes(size(2), size(1), size(0)));
  const std::int64_t x = stride(1), y = rank > 2 ? stride(2) : x * size(1);
  return map_of(operand, size(2), size(1), size(0), y, x);
}

Status Lowering::flatten(const std::vector<const Operand*>& operands, std::vector<npu::FeatureMap>& maps) {
  // From the last axis forward, axes that lie after each other in all operands become one.
  struct Axis {
    std::vector<std::int64_t> sizes, strides;
  };
  std::size_t rank = 0;
  for (const Operand* operand : operands) rank = std::max(rank, operand->shape.size());
  std::vector<Axis> axes;  // the last one first
  for (std::size_t back = 0; back < rank; ++back) {
    Axis axis;
    bool all_one = true;
    for (const Operand* operand : operands) {
      const std::size_t own = operand->shape.size();
      axis.sizes.push_back(own > back ? operand->shape[own - 1 - back] : 1);
      axis.strides.push_back(own > back ? operand->place.strides[own - 1 - back] : 0);
      all_one = all_one && axis.sizes.back() == 1;
    }
    if (all_one) continue;
    // Channels stay an axis of their own: the second one may merge with those before it.
    bool merges = axes.size() >= 2;
    for (std::size_t i = 0; i < operands.size() && merges; ++i) {
      const Axis& last = axes.back();
      const bool ones = axis.sizes[i] == 1 && last.sizes[i] == 1,
                 follows = axis.strides[i] == last.sizes[i] * last.strides[i] &&
                           (axis.sizes[i] == 1) == (last.sizes[i] == 1);
      const bool fits = last.sizes[i] * axis.sizes[i] <= npu::kMaxSize;
      merges = (ones || follows) && fits;
    }
    if (!merges) {
      axes.push_back(std::move(axis));
      continue;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) axes.back().sizes[i] *= axis.sizes[i];
  }
  if (axes.size() > 3)
    return refuse() << "operands of " << axes.size()
                    << " axes that do not lie after each other, expected at most 3";
  const auto size = [&](std::size_t axis, std::size_t i) {
    return axes.size() > axis ? axes[axis].sizes[i] : 1;
  };
  const auto stride = [&](std::size_t axis, std::size_t i, std::int64_t other) {
    return axes.size() > axis ? axes[axis].strides[i] : other;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto element = static_cast<std::int64_t>(size_of(operands[i]->tensor->dtype));
    if (stride(0, i, element) != element && size(0, i) != 1)
      return refuse() << "channels that are not side by side";
    RUNNEL_TRY(check_sizes(size(2, i), size(1, i), size(0, i)));
    const std::int64_t x = stride(1, i, size(0, i) * element);
    maps.push_back(map_of(*operands[i], static_cast<std::int32_t>(size(2, i)),
                          static_cast<std::int32_t>(size(1, i)), static_cast<std::int32_t>(size(0, i)),
                          stride(2, i, x * size(1, i)), x));
  }
  return {};
}

Result<std::vector<npu::Step>> Lowering::pieces(const npu::Step& step, const npu::FeatureMap& in,
                                                const npu::FeatureMap& out, const Window& window) {
  const std::vector<Piece> rows = pieces_of(window.rows, out.height),
                           columns = pieces_of(window.columns, out.width);
  if (rows.size() * columns.size() > kMaxPieces)
    return refuse() << "strides or dilations that take " << rows.size() * columns.size()
                    << " operations, expected at most " << kMaxPieces;
  std::vector<npu::Step> steps;
  for (const Piece& y : rows) {
    for (const Piece& x : columns) {
      RUNNEL_ASSIGN(const AxisUse down, use_of(y, in.height));
      RUNNEL_ASSIGN(const AxisUse across, use_of(x, in.width));
      npu::Operation& op = steps.emplace_back(step).op;
      op.ifm = part_of(in, y.in, y.in_step, down.size, x.in, x.in_step, across.size);
      op.ofm = part_of(out, y.first, y.step, y.count, x.first, x.step, x.count);
      op.kernel = {down.kernel,       across.kernel,     y.window.stride, x.window.stride,
                   y.window.dilation, x.window.dilation, false,           y.window.pad,
                   x.window.pad,      down.after,        across.after};
    }
  }
  return steps;
}

Status Lowering::window(npu::Step step, const npu::FeatureMap& in, const npu::FeatureMap& out,
                        const Window& window) {
  RUNNEL_ASSIGN(std::vector<npu::Step> steps, pieces(step, in, out, window));
  for (npu::Step& one : steps) program_.add(std::move(one));
  return {};
}

void Lowering::set_limits(npu::Operation& op, const Operand& y, Activation activation) {
  std::int32_t low = kernels::lowest(y.tensor->dtype), high = kernels::highest(y.tensor->dtype);
  if (y.affine()) {
    TensorView view;
    view.dtype = y.tensor->dtype;
    view.scales = y.tensor->scales;
    view.zero_points = y.tensor->zero_points;
    ops::affine_range(view, activation, low, high);
  } else if (activation == Activation::relu) {
    low = 0;
  }
  op.activation.low = low;
  op.activation.high = high;
}

}  // namespace runnel::compiler::ethos_u
