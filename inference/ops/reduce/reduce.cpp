// Reductions over axes: sums, means, extremes, norms, products and logarithms of sums, of integers and of
// float32.
#include "inference/ops/definitions.h"
#include "inference/ops/reduce/reduction.h"
#include "kernels/pool.h"

namespace runnel::ops {
namespace {

template <class T>
void reduce(const BoundReduce& op, const T* x, T* y) noexcept {
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0;
  do {
    *y++ = result(op, x, base);
  } while (next(op.kept_rank, op.kept, op.kept_stride, at, base));
}

// Means and sums of floats whose results are neighbours, several side by side: the same order of summation
// for each.
void reduce_beside(const BoundReduce& op, const float* x, float* y) noexcept {
  constexpr std::int32_t kBeside = 16;
  const std::int32_t inner = op.kept[op.kept_rank - 1];
  const int last = op.reduced_rank - 1;
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0;
  do {
    for (std::int32_t first = 0; first < inner; first += kBeside) {
      float sum[kBeside] = {}, rest[kBeside] = {}, means[kBeside];
      const auto width = static_cast<std::size_t>(std::min(kBeside, inner - first));
      each_run(op, base + first, [&](std::int64_t offset) {
        op.kernels->add_rows(op.reduced[last], op.reduced_stride[last], width, x + offset, sum, rest);
      });
      const bool mean = op.kind == Reduction::mean;
      if (mean) op.kernels->means(width, op.count, sum, rest, means);
      for (std::size_t k = 0; k < width; ++k) {
        const kernels::FloatSum one{sum[k], rest[k]};
        *y++ = !is_ordinary(op, one)
                   ? extreme_result(op, x, base + first + static_cast<std::int64_t>(k), true)
               : mean ? means[k]
                      : one.value();
      }
    }
  } while (next(op.kept_rank - 1, op.kept, op.kept_stride, at, base));
}

// The same of integers.
template <class T>
void reduce_beside(const BoundReduce& op, const T* x, T* y) noexcept {
  constexpr std::int32_t kBeside = 64;
  const std::int32_t inner = op.kept[op.kept_rank - 1];
  const int last = op.reduced_rank - 1;
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0;
  do {
    for (std::int32_t first = 0; first < inner; first += kBeside) {
      std::int32_t sums[kBeside] = {};
      const std::int32_t width = std::min(kBeside, inner - first);
      each_run(op, base + first, [&](std::int64_t offset) {
        kernels::add_rows(op.dtype, op.reduced[last], op.reduced_stride[last], width, x + offset, sums,
                          op.isa);
      });
      for (std::int32_t k = 0; k < width; ++k) *y++ = finish_integer<T>(op, sums[k]);
    }
  } while (next(op.kept_rank - 1, op.kept, op.kept_stride, at, base));
}

// Axes of which one continues where the other ends are one: longer runs.
void join_axes(BoundReduce& op) noexcept {
  int joined = 0;
  for (int axis = 1; axis < op.reduced_rank; ++axis) {
    if (op.reduced_stride[joined] == op.reduced_stride[axis] * op.reduced[axis])
      op.reduced[joined] *= op.reduced[axis];
    else
      op.reduced[++joined] = op.reduced[axis];
    op.reduced_stride[joined] = op.reduced_stride[axis];
  }
  op.reduced_rank = joined + 1;
}

void run_reduce(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundReduce&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  if (op.beside && op.dtype == DType::int8)
    reduce_beside(op, reinterpret_cast<const std::int8_t*>(x), reinterpret_cast<std::int8_t*>(y));
  else if (op.beside && op.dtype == DType::int16)
    reduce_beside(op, reinterpret_cast<const std::int16_t*>(x), reinterpret_cast<std::int16_t*>(y));
  else if (op.dtype == DType::int8)
    reduce(op, reinterpret_cast<const std::int8_t*>(x), reinterpret_cast<std::int8_t*>(y));
  else if (op.dtype == DType::int16)
    reduce(op, reinterpret_cast<const std::int16_t*>(x), reinterpret_cast<std::int16_t*>(y));
  else if (op.beside)
    reduce_beside(op, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
  else
    reduce(op, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
}

Status check_reduce(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_reduction(model, op, arithmetic_of(op) == Arithmetic::tflite));
  const fb::ReduceOptions* const o = op.options_as_ReduceOptions();
  const TensorView x = input(model, op, 0), y = output(model, op);
  const bool choice = code_of(op) == OpCode::reduce_max || code_of(op) == OpCode::reduce_min;
  if (choice && arithmetic_of(op) == Arithmetic::tflite &&
      (x.scales[0] != y.scales[0] || x.zero_point() != y.zero_point())) {
    return Status(Code::unsupported) << "the input and the output have different scales or zero points";
  }
  std::int64_t expected = 1;
  for (int axis = 0; axis < x.shape.rank; ++axis) expected *= is_reduced(*o, axis) ? 1 : x.shape[axis];
  if (y.shape.elements() != expected)
    return Status(Code::invalid_data)
           << "the output has " << y.shape.elements() << " elements, expected " << expected;
  return {};
}

// Time stays an axis of the output: with kept dimensions at its place, without them moved by the reduced axes
// in front.
Status stream_reduce(const Model& model, const fb::Operator& op, TimeAxes axes,
                     streaming::NodeRule&) noexcept {
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  if (is_reduced(o, axes[0])) {
    return Status(Code::unsupported) << "reduces over the whole recording; give it a window of frames "
                                        "(import --pool-window N), or run the model in usage `window`";
  }
  int axis = axes[0];
  if (y.rank != x.rank) {
    for (int k = 0; k < axes[0]; ++k) axis -= is_reduced(o, k) ? 1 : 0;
  }
  if (axis >= y.rank || y[axis] != x[axes[0]])
    return Status(Code::unsupported) << "moves time in a way that is not understood";
  axes.back() = static_cast<std::int8_t>(axis);
  return {};
}

template <Reduction kKind>
Result<const BoundOperator*> prepare_reduce(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundReduce* const bound, allocate<BoundReduce>(context, run_reduce));
  bind_reduction(context, kKind, arithmetic_of(context.op()) == Arithmetic::tflite, *bound);
  join_axes(*bound);
  const bool sums = kKind == Reduction::mean || kKind == Reduction::sum,
             floats = bound->dtype == DType::float32;
  // Sums of so many integers stay within int32.
  const std::int64_t most = bound->dtype == DType::int8    ? 1 << 24
                            : bound->dtype == DType::int16 ? 1 << 16
                                                           : 0;
  bound->beside = sums && (floats || (context.isa() >= Isa::generic && bound->count < most)) &&
                  bound->kept_rank > 0 && bound->kept_stride[bound->kept_rank - 1] == 1;
  if (bound->beside && !floats) context.chose_kernel({vector_level(context.isa()), "columns"});
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kReduceMean{OpCode::reduce_mean, Arithmetic::espdl, "reduce_mean",
                                     check_reduce,        stream_reduce,     prepare_reduce<Reduction::mean>,
                                     InPlace::shrinking};
const OperatorDefinition kReduceSum{OpCode::reduce_sum, Arithmetic::espdl, "reduce_sum",
                                    check_reduce,       stream_reduce,     prepare_reduce<Reduction::sum>,
                                    InPlace::shrinking};
const OperatorDefinition kReduceMax{OpCode::reduce_max, Arithmetic::espdl, "reduce_max",
                                    check_reduce,       stream_reduce,     prepare_reduce<Reduction::max>,
                                    InPlace::shrinking};
const OperatorDefinition kReduceMin{OpCode::reduce_min, Arithmetic::espdl, "reduce_min",
                                    check_reduce,       stream_reduce,     prepare_reduce<Reduction::min>,
                                    InPlace::shrinking};
const OperatorDefinition kReduceL1{OpCode::reduce_l1, Arithmetic::espdl, "reduce_l1",
                                   check_reduce,      stream_reduce,     prepare_reduce<Reduction::l1>,
                                   InPlace::shrinking};
const OperatorDefinition kReduceL2{OpCode::reduce_l2, Arithmetic::espdl, "reduce_l2",
                                   check_reduce,      stream_reduce,     prepare_reduce<Reduction::l2>,
                                   InPlace::shrinking};
const OperatorDefinition kReduceProd{OpCode::reduce_prod, Arithmetic::espdl, "reduce_prod",
                                     check_reduce,        stream_reduce,     prepare_reduce<Reduction::prod>,
                                     InPlace::shrinking};
const OperatorDefinition kReduceLogSum{OpCode::reduce_log_sum, Arithmetic::espdl,
                                       "reduce_log_sum",       check_reduce,
                                       stream_reduce,          prepare_reduce<Reduction::log_sum>,
                                       InPlace::shrinking};
const OperatorDefinition kReduceLogSumExp{OpCode::reduce_log_sum_exp,
                                          Arithmetic::espdl,
                                          "reduce_log_sum_exp",
                                          check_reduce,
                                          stream_reduce,
                                          prepare_reduce<Reduction::log_sum_exp>,
                                          InPlace::shrinking};
const OperatorDefinition kReduceSumSquare{OpCode::reduce_sum_square,
                                          Arithmetic::espdl,
                                          "reduce_sum_square",
                                          check_reduce,
                                          stream_reduce,
                                          prepare_reduce<Reduction::sum_square>,
                                          InPlace::shrinking};
const OperatorDefinition kReduceMeanTflite{OpCode::reduce_mean, Arithmetic::tflite,
                                           "reduce_mean",       check_reduce,
                                           stream_reduce,       prepare_reduce<Reduction::mean>,
                                           InPlace::shrinking};
const OperatorDefinition kReduceSumTflite{OpCode::reduce_sum, Arithmetic::tflite,
                                          "reduce_sum",       check_reduce,
                                          stream_reduce,      prepare_reduce<Reduction::sum>,
                                          InPlace::shrinking};
const OperatorDefinition kReduceMaxTflite{OpCode::reduce_max, Arithmetic::tflite,
                                          "reduce_max",       check_reduce,
                                          stream_reduce,      prepare_reduce<Reduction::max>,
                                          InPlace::shrinking};
const OperatorDefinition kReduceMinTflite{OpCode::reduce_min, Arithmetic::tflite,
                                          "reduce_min",       check_reduce,
                                          stream_reduce,      prepare_reduce<Reduction::min>,
                                          InPlace::shrinking};

}  // namespace runnel::ops
