// Product of two tensors of matrices: a [.., M, K], b [.., K, N], y [.., M, N]; leading axes broadcast.
#include "inference/ops/affine.h"
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/binary/broadcast.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/transformer/integer_products.h"

namespace runnel::ops {
namespace {

// product(a, b, y) for every pair of matrices.
template <class Product>
void each_product(const BoundMatmul& op, const RunContext& context, Product&& product) noexcept {
  const std::byte* a = op.a.at(context);
  const std::byte* b = op.b.at(context);
  std::byte* y = context.data[op.y];
  kernels::Dims at{};
  for (;;) {
    product(a, b, y);
    y += op.y_bytes;
    int axis = op.batch_rank - 1;
    for (; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      a += op.a_stride[axis];
      b += op.b_stride[axis];
      if (++at[i] < op.batch[i]) break;
      a -= op.a_stride[axis] * op.batch[i];
      b -= op.b_stride[axis] * op.batch[i];
      at[i] = 0;
    }
    if (axis < 0) return;
  }
}

void run_matmul(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMatmul&>(self);
  each_product(op, context, [&](const std::byte* a, const std::byte* b, std::byte* y) {
    kernels::matmul(op.spec, a, b, y, context.scratch);
  });
}

}  // namespace

template <class T, bool kAffine>
void run_matmul_as(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMatmul&>(self);
  each_product(op, context, [&](const std::byte* a, const std::byte* b, std::byte* y) {
    kernels::matmul_as<T, kAffine>(op.spec, a, b, y, context.scratch);
  });
}
template void run_matmul_as<std::int8_t, false>(const BoundOperator&, const RunContext&) noexcept;
template void run_matmul_as<std::int8_t, true>(const BoundOperator&, const RunContext&) noexcept;
template void run_matmul_as<std::int16_t, false>(const BoundOperator&, const RunContext&) noexcept;
template void run_matmul_as<std::int16_t, true>(const BoundOperator&, const RunContext&) noexcept;

namespace {

Shape without_matrix(const Shape& shape) noexcept {
  Shape out = shape;
  out.rank -= 2;
  return out;
}

Status check_matmul(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_TRY(options<fb::FullyConnectedOptions>(op).status());
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  const bool affine = arithmetic_of(op) == Arithmetic::tflite, floats = !affine && y.dtype == DType::float32;
  if (affine) {
    RUNNEL_TRY(check_affine(a, false, "the first input"));
    RUNNEL_TRY(check_affine(b, false, "the second input"));
    RUNNEL_TRY(check_affine(y, false, "the output"));
  } else {
    RUNNEL_TRY(check_number(a, floats, "the first input"));
    RUNNEL_TRY(check_number(y, floats, "the output"));
  }
  if (a.dtype != y.dtype || b.dtype != y.dtype) {
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                     << ", output " << name_of(y.dtype) << ", expected one type";
  }
  if (a.shape.rank < 2 || b.shape.rank < 2)
    return Status(Code::invalid_data)
           << "inputs of rank " << a.shape.rank << " and " << b.shape.rank << ", expected at least 2";
  const std::int32_t inner = a.shape[a.shape.rank - 1], columns = b.shape[b.shape.rank - 1];
  if (b.shape[b.shape.rank - 2] != inner) {
    return Status(Code::invalid_data) << "the second input has " << b.shape[b.shape.rank - 2]
                                      << " rows, expected the first one's " << inner << " columns";
  }
  if (!floats && !affine) {
    // One scale, or one per column.
    const bool per_column =
        b.exponents.size() == static_cast<std::size_t>(columns) && b.channel_axis == b.shape.rank - 1;
    if ((b.exponents.size() != 1 && !per_column) || !b.scales.empty() || b.zero_point() != 0) {
      return Status(Code::unsupported)
             << "the second input has no single power-of-two scale, or one per column, with zero point 0";
    }
    if (y.dtype == DType::int8 && inner >= (1 << 17))
      return Status(Code::unsupported)
             << "sums of " << inner << " products, expected fewer than " << (1 << 17);
  }
  const Shape batches[] = {without_matrix(a.shape), without_matrix(b.shape)};
  RUNNEL_ASSIGN(Shape expected, broadcast_shape(batches));
  expected.rank += 2;
  expected[expected.rank - 2] = a.shape[a.shape.rank - 2];
  expected[expected.rank - 1] = columns;
  return expect_shape(y.shape, expected, "the output");
}

// Time may be the rows of the first input beside a fixed second one, or a leading axis of both.
Status stream_matmul(const Model& model, const fb::Operator& op, TimeAxes axes,
                     streaming::NodeRule&) noexcept {
  const Shape a = input(model, op, 0).shape, b = input(model, op, 1).shape, y = output(model, op).shape;
  const int rows = y.rank - 2;
  const int time_a = axes[0] < 0 ? -1 : axes[0] + y.rank - a.rank,
            time_b = axes[1] < 0 ? -1 : axes[1] + y.rank - b.rank;
  if (time_a == rows && time_b < 0) {
    axes[2] = static_cast<std::int8_t>(rows);
    return {};
  }
  if (time_a > rows || time_b >= rows || time_a == rows) {
    return Status(Code::unsupported) << "multiplies matrices that hold the whole recording (attention over "
                                        "all frames); give it a window (import --attention-window L), or run "
                                        "the model in usage `window`";
  }
  const int time = time_a >= 0 ? time_a : time_b;
  for (const auto& [own, shape] : {std::pair{time_a, a}, std::pair{time_b, b}}) {
    const Shape wide = aligned(shape, y.rank);
    if (own < 0 ? wide[time] != 1 : own != time)
      return Status(Code::unsupported)
             << "combines the stream with a fixed number of " << wide[time] << " frames";
  }
  axes[2] = static_cast<std::int8_t>(time);
  return {};
}

Result<const BoundOperator*> prepare_matmul(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView x = input(context.model(), op, 0), w = input(context.model(), op, 1),
                   out = output(context.model(), op);
  RUNNEL_ASSIGN(BoundMatmul* const bound, allocate<BoundMatmul>(context, run_matmul));
  bound->a = operand(context, 0);
  bound->b = operand(context, 1);
  bound->y = output_index(op);
  const Shape y = context.shape(bound->y), a = aligned(context.shape(input_index(op, 0)), y.rank),
              b = aligned(context.shape(input_index(op, 1)), y.rank);
  kernels::MatmulSpec& spec = bound->spec;
  spec.dtype = out.dtype;
  spec.rows = a[y.rank - 2];
  spec.inner = a[y.rank - 1];
  spec.columns = b[y.rank - 1];
  spec.rounding = rounding_of(op);
  const Activation activation = native(op.options_as_FullyConnectedOptions()->activation());
  activation_range(out.dtype, 0, activation, spec.low, spec.high);
  spec.relu = activation == Activation::relu;
  if (arithmetic_of(op) == Arithmetic::tflite) {
    spec.affine = true;
    spec.a_zero = x.zero_point();
    spec.b_zero = w.zero_point();
    spec.y_zero = out.zero_point();
    // The product of the scales in float32, as the reference computes it.
    spec.multiplier = kernels::multiplier_of(static_cast<double>(x.scales[0] * w.scales[0]) /
                                             static_cast<double>(out.scales[0]));
    affine_range(out, activation, spec.low, spec.high);
  } else if (out.dtype != DType::float32) {
    auto* const shifts = context.memory().array<std::int32_t>(w.exponents.size());
    if (shifts == nullptr)
      return Status(Code::out_of_memory) << "no memory for " << w.exponents.size() << " shifts";
    for (std::size_t i = 0; i < w.exponents.size(); ++i)
      shifts[i] = out.exponent() - x.exponent() - w.exponents[i];
    spec.shift = shifts;
    spec.shift_count = static_cast<std::int32_t>(w.exponents.size());
  }
  context.chose_kernel({Isa::generic, ""});
  if (out.dtype == DType::float32 && context.isa() >= Isa::avx2) {
    spec.kernels = &kernels::float_kernels(context.isa());
    context.chose_kernel({vector_level(context.isa()), "two inputs"});
  }
  if (out.dtype != DType::float32) {
    spec.vectors = kernels::matmul_vectors(spec, context.isa());
    if (spec.vectors != nullptr)
      context.chose_kernel(
          {context.isa() < Isa::neon ? Isa::avx2 : vector_level(context.isa()), "pairs of 16-bit products"});
  }
  context.request_scratch(kernels::matmul_scratch(spec));
  const std::size_t element = size_of(out.dtype);
  bound->y_bytes = static_cast<std::size_t>(y.product(y.rank - 2, y.rank)) * element;
  bound->batch_rank = y.rank - 2;
  for (int axis = 0; axis < bound->batch_rank; ++axis) {
    bound->batch[static_cast<std::size_t>(axis)] = y[axis];
    if (a[axis] != 1)
      bound->a_stride[axis] = a.product(axis + 1, a.rank) * static_cast<std::int64_t>(element);
    if (b[axis] != 1)
      bound->b_stride[axis] = b.product(axis + 1, b.rank) * static_cast<std::int64_t>(element);
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kMatmul{OpCode::matmul, Arithmetic::espdl, "matmul",
                                 check_matmul,   stream_matmul,     prepare_matmul};
const OperatorDefinition kMatmulTflite{OpCode::matmul, Arithmetic::tflite, "matmul", check_matmul,
                                       stream_matmul,  prepare_matmul};  // any scale and zero point

}  // namespace runnel::ops
