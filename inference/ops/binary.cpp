// Element-by-element operations on two tensors, with broadcasting.
#include <algorithm>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/elementwise.h"

namespace runnel::ops {
namespace {

// Broadcasting as nested loops: the innermost axes on which each operand is either whole or constant run as one call, the
// axes in front of them are stepped through.
struct BoundBinary : BoundOperator {
  const kernels::Elementwise* kernels = nullptr;
  kernels::BinarySpec spec;             // of one call
  Operand a, b;
  std::int32_t y = -1;
  int outer_rank = 0;                   // axes in front
  kernels::Dims outer{};                // their sizes
  std::int64_t a_stride[kMaxRank] = {}, b_stride[kMaxRank] = {};   // bytes per step on each; 0: repeated
  std::size_t y_bytes = 0;              // of one call
};

void run_binary(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundBinary&>(self);
  const std::byte* a = op.a.at(context);
  const std::byte* b = op.b.at(context);
  std::byte* y = context.data[op.y];
  if (op.outer_rank == 0) {
    op.kernels->binary(op.spec, a, b, y);
    return;
  }
  kernels::Dims at{};
  for (;;) {
    op.kernels->binary(op.spec, a, b, y);
    y += op.y_bytes;
    int axis = op.outer_rank - 1;
    for (; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      a += op.a_stride[i];
      b += op.b_stride[i];
      if (++at[i] < op.outer[i]) break;
      a -= op.a_stride[i] * op.outer[i];
      b -= op.b_stride[i] * op.outer[i];
      at[i] = 0;
    }
    if (axis < 0) return;
  }
}

// The shape as one of the output's rank, ones in front.
Shape aligned(const Shape& shape, int rank) noexcept {
  Shape out;
  out.rank = rank;
  for (int axis = 0; axis < rank; ++axis) out[axis] = axis < rank - shape.rank ? 1 : shape[axis - (rank - shape.rank)];
  return out;
}

Status check_binary(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_TRY(options<fb::BinaryOptions>(op).status());
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_quantized(a, "the first input"));
  RUNNEL_TRY(check_quantized(b, "the second input"));
  RUNNEL_TRY(check_quantized(y, "the output"));
  if (a.dtype != y.dtype || b.dtype != y.dtype) {
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype) << ", output " << name_of(y.dtype) << ", expected one type";
  }
  const int rank = std::max(a.shape.rank, b.shape.rank);
  Shape expected;
  expected.rank = rank;
  const Shape wide_a = aligned(a.shape, rank), wide_b = aligned(b.shape, rank);
  for (int axis = 0; axis < rank; ++axis) {
    if (wide_a[axis] != wide_b[axis] && wide_a[axis] != 1 && wide_b[axis] != 1) {
      return Status(Code::invalid_data) << "dimensions " << wide_a[axis] << " and " << wide_b[axis] << " on axis " << axis << " do not go together";
    }
    expected[axis] = std::max(wide_a[axis], wide_b[axis]);
  }
  return expect_shape(y.shape, expected, "the output");
}

// Along time every operand is a stream of the output's length, or the same for all frames.
Status stream_binary(const Model& model, const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule) noexcept {
  RUNNEL_TRY(stream_pointwise(model, op, axes, rule));
  const int axis = axes.back();
  const Shape y = output(model, op).shape;
  for (int i = 0; i < 2; ++i) {
    const std::int32_t frames = aligned(input(model, op, i).shape, y.rank)[axis];
    if (axes[static_cast<std::size_t>(i)] < 0 ? frames != 1 : frames != y[axis]) {
      return Status(Code::unsupported) << "input " << i << " has a fixed number of " << frames << " frames beside a stream";
    }
  }
  return {};
}

template <kernels::BinaryOp kOp, bool kExact>
Result<const BoundOperator*> prepare_binary(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView a = input(context.model(), op, 0), b = input(context.model(), op, 1), y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundBinary* const bound, allocate<BoundBinary>(context, run_binary));
  bound->kernels = &kernels::elementwise(context.isa());
  bound->a = operand(context, 0);
  bound->b = operand(context, 1);
  bound->y = output_index(op);
  kernels::BinarySpec& spec = bound->spec;
  spec.op = kOp;
  spec.exact = kExact;
  spec.dtype = y.dtype;
  spec.a_exponent = a.exponent();
  spec.b_exponent = b.exponent();
  spec.y_exponent = y.exponent();
  spec.rounding = rounding_of(op);
  activation_range(y.dtype, 0, op.options_as_BinaryOptions()->activation(), spec.low, spec.high);

  const Shape to = context.shape(output_index(op));
  const Shape from_a = aligned(context.shape(input_index(op, 0)), to.rank), from_b = aligned(context.shape(input_index(op, 1)), to.rank);
  const auto total = static_cast<std::size_t>(to.elements());
  // A trailing part of the output, repeated over the rest: channels over frames, a scalar over everything.
  const auto is_suffix = [&](const Shape& from) {
    int axis = 0;
    while (axis < to.rank && from[axis] == 1) ++axis;
    for (; axis < to.rank; ++axis) {
      if (from[axis] != to[axis]) return false;
    }
    return true;
  };
  if (is_suffix(from_a) && is_suffix(from_b)) {
    spec.count = total;
    spec.a_count = static_cast<std::size_t>(from_a.elements());
    spec.b_count = static_cast<std::size_t>(from_b.elements());
    return static_cast<const BoundOperator*>(bound);
  }
  int inner = to.rank;                  // first axis of the single call
  bool whole_a = true, whole_b = true;
  for (int axis = to.rank - 1; axis >= 0; --axis) {
    if (to[axis] != 1) {
      const bool full_a = from_a[axis] == to[axis], full_b = from_b[axis] == to[axis];
      if (inner < to.rank && to.product(inner, to.rank) != 1 && (full_a != whole_a || full_b != whole_b)) break;
      whole_a = full_a;
      whole_b = full_b;
    }
    inner = axis;
  }
  const std::size_t element = size_of(y.dtype);
  spec.count = static_cast<std::size_t>(to.product(inner, to.rank));
  spec.a_count = whole_a ? spec.count : 1;
  spec.b_count = whole_b ? spec.count : 1;
  bound->y_bytes = spec.count * element;
  bound->outer_rank = inner;
  for (int axis = 0; axis < inner; ++axis) {
    bound->outer[static_cast<std::size_t>(axis)] = to[axis];
    const auto stride = [&](const Shape& from) {
      return from[axis] == 1 ? 0 : from.product(axis + 1, from.rank) * static_cast<std::int64_t>(element);
    };
    bound->a_stride[axis] = stride(from_a);
    bound->b_stride[axis] = stride(from_b);
  }
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::BinaryOp kOp, bool kExact>
constexpr OperatorDefinition define(fb::OpCode code, std::uint8_t version, std::string_view name) noexcept {
  return {code, version, name, check_binary, stream_binary, prepare_binary<kOp, kExact>, 1};
}

}  // namespace

const OperatorDefinition add_v1 = define<kernels::BinaryOp::add, false>(fb::OpCode::add, 1, "add");
const OperatorDefinition add_v2 = define<kernels::BinaryOp::add, true>(fb::OpCode::add, 2, "add");
const OperatorDefinition sub_v1 = define<kernels::BinaryOp::sub, false>(fb::OpCode::sub, 1, "sub");
const OperatorDefinition sub_v2 = define<kernels::BinaryOp::sub, true>(fb::OpCode::sub, 2, "sub");
const OperatorDefinition mul_v1 = define<kernels::BinaryOp::mul, false>(fb::OpCode::mul, 1, "mul");
const OperatorDefinition mul_v2 = define<kernels::BinaryOp::mul, true>(fb::OpCode::mul, 2, "mul");
const OperatorDefinition max_v1 = define<kernels::BinaryOp::max, false>(fb::OpCode::max, 1, "max");
const OperatorDefinition min_v1 = define<kernels::BinaryOp::min, false>(fb::OpCode::min, 1, "min");

}  // namespace runnel::ops
