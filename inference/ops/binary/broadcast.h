// Broadcasting as nested loops: the innermost axes on which each operand is either whole or repeated run as
// one call, the axes before them are stepped through.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "inference/ops/support.h"

namespace runnel::ops {

// The shape extended to `rank` dimensions by leading ones.
inline Shape aligned(const Shape& shape, int rank) noexcept {
  Shape out;
  out.rank = rank;
  for (int axis = 0; axis < rank; ++axis)
    out[axis] = axis < rank - shape.rank ? 1 : shape[axis - (rank - shape.rank)];
  return out;
}

// The shape that all operands are broadcast to.
inline Result<Shape> broadcast_shape(std::span<const Shape> operands) noexcept {
  int rank = 0;
  for (const Shape& shape : operands) rank = std::max(rank, shape.rank);
  Shape out;
  out.rank = rank;
  for (int axis = 0; axis < rank; ++axis) out[axis] = 1;
  for (const Shape& shape : operands) {
    const Shape wide = aligned(shape, rank);
    for (int axis = 0; axis < rank; ++axis) {
      if (wide[axis] != out[axis] && wide[axis] != 1 && out[axis] != 1) {
        return Status(Code::invalid_data) << "dimensions " << out[axis] << " and " << wide[axis]
                                          << " on axis " << axis << " do not go together";
      }
      out[axis] = std::max(out[axis], wide[axis]);
    }
  }
  return out;
}

// Along time every operand is a stream of the output's length, or the same for all frames.
inline Status stream_broadcast(const Model& model, const fb::Operator& op, TimeAxes axes,
                               streaming::NodeRule& rule) noexcept {
  RUNNEL_TRY(stream_pointwise(model, op, axes, rule));
  const int axis = axes.back();
  const Shape y = output(model, op).shape;
  for (int i = 0; i < static_cast<int>(op.inputs()->size()); ++i) {
    const std::int32_t frames = aligned(input(model, op, i).shape, y.rank)[axis];
    if (axes[static_cast<std::size_t>(i)] < 0 ? frames != 1 : frames != y[axis]) {
      return Status(Code::unsupported)
             << "input " << i << " has a fixed number of " << frames << " frames beside a stream";
    }
  }
  return {};
}

template <std::size_t kOperands>
struct Broadcast {
  std::size_t count = 0;                        // elements of one call
  std::array<std::size_t, kOperands> counts{};  // elements of each operand in one call, repeated over `count`
  int outer_rank = 0;                           // leading axes
  kernels::Dims outer{};
  std::array<std::array<std::int64_t, kMaxRank>, kOperands> stride{};  // bytes per step on each; 0: repeated
  std::size_t y_bytes = 0;                                             // of one call

  // call(operands, y) for every piece of the output, in order.
  template <class Call>
  void run(std::array<const std::byte*, kOperands> x, std::byte* y, Call&& call) const noexcept {
    kernels::Dims at{};
    for (;;) {
      call(x, y);
      y += y_bytes;
      int axis = outer_rank - 1;
      for (; axis >= 0; --axis) {
        const auto i = static_cast<std::size_t>(axis);
        for (std::size_t k = 0; k < kOperands; ++k) x[k] += stride[k][i];
        if (++at[i] < outer[i]) break;
        for (std::size_t k = 0; k < kOperands; ++k) x[k] -= stride[k][i] * outer[i];
        at[i] = 0;
      }
      if (axis < 0) return;
    }
  }
};

// `element`, `y_element`: bytes per element.
template <std::size_t kOperands>
Broadcast<kOperands> plan_broadcast(const Shape& to, const std::array<Shape, kOperands>& operands,
                                    const std::array<std::size_t, kOperands>& element,
                                    std::size_t y_element) noexcept {
  Broadcast<kOperands> out;
  std::array<Shape, kOperands> from;
  // A trailing part of the output, repeated over the rest: channels over frames, a scalar over everything.
  const auto is_suffix = [&](const Shape& shape) {
    int axis = 0;
    while (axis < to.rank && shape[axis] == 1) ++axis;
    for (; axis < to.rank; ++axis) {
      if (shape[axis] != to[axis]) return false;
    }
    return true;
  };
  bool simple = true;
  for (std::size_t k = 0; k < kOperands; ++k) {
    from[k] = aligned(operands[k], to.rank);
    simple = simple && is_suffix(from[k]);
  }
  if (simple) {
    out.count = static_cast<std::size_t>(to.elements());
    for (std::size_t k = 0; k < kOperands; ++k) out.counts[k] = static_cast<std::size_t>(from[k].elements());
    return out;
  }
  int inner = to.rank;  // first axis of the single call
  std::array<bool, kOperands> whole;
  whole.fill(true);
  for (int axis = to.rank - 1; axis >= 0; --axis) {
    if (to[axis] != 1) {
      std::array<bool, kOperands> full;
      for (std::size_t k = 0; k < kOperands; ++k) full[k] = from[k][axis] == to[axis];
      if (inner < to.rank && to.product(inner, to.rank) != 1 && full != whole) break;
      whole = full;
    }
    inner = axis;
  }
  out.count = static_cast<std::size_t>(to.product(inner, to.rank));
  out.outer_rank = inner;
  out.y_bytes = out.count * y_element;
  for (int axis = 0; axis < inner; ++axis) out.outer[static_cast<std::size_t>(axis)] = to[axis];
  for (std::size_t k = 0; k < kOperands; ++k) {
    out.counts[k] = whole[k] ? out.count : 1;
    for (int axis = 0; axis < inner; ++axis) {
      const bool repeated = from[k][axis] == 1;
      out.stride[k][static_cast<std::size_t>(axis)] =
          repeated ? 0 : from[k].product(axis + 1, to.rank) * static_cast<std::int64_t>(element[k]);
    }
  }
  return out;
}

}  // namespace runnel::ops
