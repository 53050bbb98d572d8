// Reductions over axes: sums, means, extremes, norms, products and logarithms of sums, of integers and of float32.
#include <algorithm>
#include <type_traits>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/functions.h"

namespace runnel::ops {
namespace {

enum class Reduction : std::uint8_t { mean, sum, max, min, l1, l2, prod, log_sum, log_sum_exp, sum_square };

struct BoundReduce : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  DType dtype = DType::int8;
  Reduction kind = Reduction::mean;
  kernels::Rounding rounding = kernels::Rounding::half_up;
  int kept_rank = 0, reduced_rank = 0;
  std::int32_t kept[kMaxRank] = {}, reduced[kMaxRank] = {};
  std::int64_t kept_stride[kMaxRank] = {}, reduced_stride[kMaxRank] = {};   // elements
  std::int64_t count = 1;                 // elements per result
  int shift = 0;
  int x_exponent = 0, y_exponent = 0;
  bool beside = false;                    // float means and sums: neighbouring results from neighbouring elements
  bool affine = false;                    // version 3: multiplier, zero points
  kernels::Multiplier multiplier;
  std::int32_t x_zero = 0, y_zero = 0;
};

// Steps a multi-index; `offset` follows. False when it is back at the start.
bool next(int rank, const std::int32_t* size, const std::int64_t* stride, std::int32_t* at, std::int64_t& offset) noexcept {
  for (int axis = rank - 1; axis >= 0; --axis) {
    offset += stride[axis];
    if (++at[axis] < size[axis]) return true;
    offset -= stride[axis] * size[axis];
    at[axis] = 0;
  }
  return false;
}

// f(offset) over all elements of one result, in the order of memory.
template <class F>
void each_offset(const BoundReduce& op, std::int64_t base, F f) noexcept {
  const int outer = op.reduced_rank - 1;
  const std::int32_t count = op.reduced[outer];
  const std::int64_t stride = op.reduced_stride[outer];
  std::int32_t at[kMaxRank] = {};
  std::int64_t offset = base;
  do {
    for (std::int32_t i = 0; i < count; ++i) f(offset + i * stride);
  } while (next(outer, op.reduced, op.reduced_stride, at, offset));
}
template <class T, class F>
void each_reduced(const BoundReduce& op, const T* x, std::int64_t base, F f) noexcept {
  each_offset(op, base, [&](std::int64_t offset) { f(x[offset]); });
}

// Sums of integers are exact in int64: |x| <= 2^15, squares 2^30, at most 2^31 of them.
template <class T>
std::int64_t integer_sum(const BoundReduce& op, const T* x, std::int64_t base) noexcept {
  std::int64_t sum = 0;
  switch (op.kind) {
    case Reduction::l1: each_reduced(op, x, base, [&](std::int64_t v) { sum += v < 0 ? -v : v; }); break;
    case Reduction::l2:
    case Reduction::sum_square: each_reduced(op, x, base, [&](std::int64_t v) { sum += v * v; }); break;
    case Reduction::max:
      sum = x[base];
      each_reduced(op, x, base, [&](std::int64_t v) { sum = std::max(sum, v); });
      break;
    case Reduction::min:
      sum = x[base];
      each_reduced(op, x, base, [&](std::int64_t v) { sum = std::min(sum, v); });
      break;
    default: each_reduced(op, x, base, [&](std::int64_t v) { sum += v; }); break;
  }
  return sum;
}

// In double precision, in the order of memory, rounded once by the caller.
template <class T>
double real_result(const BoundReduce& op, const T* x, std::int64_t base) noexcept {
  const double scale = std::is_same_v<T, float> ? 1.0 : static_cast<double>(kernels::power_of_two(op.x_exponent));
  double sum = 0;
  switch (op.kind) {
    case Reduction::max:
      sum = static_cast<double>(x[base]);
      each_reduced(op, x, base, [&](double v) { sum = v > sum || v != v ? v : sum; });
      return sum;
    case Reduction::min:
      sum = static_cast<double>(x[base]);
      each_reduced(op, x, base, [&](double v) { sum = v < sum || v != v ? v : sum; });
      return sum;
    case Reduction::l1: each_reduced(op, x, base, [&](double v) { sum += v < 0 ? -v : v; }); return sum;
    case Reduction::sum_square: each_reduced(op, x, base, [&](double v) { sum += v * v; }); return sum;
    case Reduction::l2: each_reduced(op, x, base, [&](double v) { sum += v * v; }); return __builtin_sqrt(sum) * scale;
    case Reduction::prod:
      sum = 1;
      each_reduced(op, x, base, [&](double v) { sum *= v * scale; });
      return sum;
    case Reduction::log_sum: each_reduced(op, x, base, [&](double v) { sum += v; }); return kernels::log_of(sum * scale);
    case Reduction::log_sum_exp: {
      double largest = static_cast<double>(x[base]);
      each_reduced(op, x, base, [&](double v) { largest = v > largest ? v : largest; });
      each_reduced(op, x, base, [&](double v) { sum += kernels::exp_of((v - largest) * scale); });
      return largest * scale + kernels::log_of(sum);
    }
    case Reduction::mean: each_reduced(op, x, base, [&](double v) { sum += v; }); return sum / static_cast<double>(op.count);
    case Reduction::sum: each_reduced(op, x, base, [&](double v) { sum += v; }); return sum;
  }
  return sum;
}

template <class T>
T result(const BoundReduce& op, const T* x, std::int64_t base) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(real_result(op, x, base));
  } else {
    if (op.affine) return kernels::saturate<T>(op.multiplier(integer_sum(op, x, base) - op.x_zero * op.count) + op.y_zero);
    float real = 0;
    switch (op.kind) {
      case Reduction::l2:
      case Reduction::prod:
      case Reduction::log_sum:
      case Reduction::log_sum_exp: real = static_cast<float>(real_result(op, x, base)); break;
      // ESP-DL's order: the sum times the input's scale, divided by the count, divided by the output's scale, all in float32.
      case Reduction::mean:
        real = static_cast<float>(integer_sum(op, x, base)) * kernels::power_of_two(op.x_exponent) / static_cast<float>(op.count);
        break;
      default: return kernels::saturate<T>(kernels::round_shift(integer_sum(op, x, base), op.shift, op.rounding));
    }
    return kernels::saturate<T>(kernels::round_float(real * kernels::power_of_two(-op.y_exponent), op.rounding));
  }
}

template <class T>
void reduce(const BoundReduce& op, const T* x, T* y) noexcept {
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0;
  do {
    *y++ = result(op, x, base);
  } while (next(op.kept_rank, op.kept, op.kept_stride, at, base));
}

// Means and sums of floats whose results are neighbours, several side by side: the same order of summation for each.
void reduce_beside(const BoundReduce& op, const float* x, float* y) noexcept {
  constexpr std::int32_t kBeside = 16;
  const std::int32_t inner = op.kept[op.kept_rank - 1];
  const double divisor = op.kind == Reduction::mean ? static_cast<double>(op.count) : 1.0;
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0;
  do {
    for (std::int32_t first = 0; first < inner; first += kBeside) {
      double sums[kBeside] = {};
      const std::int32_t count = std::min(kBeside, inner - first);
      if (count == kBeside) {
        each_offset(op, base + first, [&](std::int64_t offset) {
          for (std::int32_t k = 0; k < kBeside; ++k) sums[k] += static_cast<double>(x[offset + k]);
        });
      } else {
        each_offset(op, base + first, [&](std::int64_t offset) {
          for (std::int32_t k = 0; k < count; ++k) sums[k] += static_cast<double>(x[offset + k]);
        });
      }
      for (std::int32_t k = 0; k < count; ++k) *y++ = static_cast<float>(sums[k] / divisor);
    }
  } while (next(op.kept_rank - 1, op.kept, op.kept_stride, at, base));
}

void run_reduce(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundReduce&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  if (op.dtype == DType::int8) reduce(op, reinterpret_cast<const std::int8_t*>(x), reinterpret_cast<std::int8_t*>(y));
  else if (op.dtype == DType::int16) reduce(op, reinterpret_cast<const std::int16_t*>(x), reinterpret_cast<std::int16_t*>(y));
  else if (op.beside) reduce_beside(op, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
  else reduce(op, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
}

bool is_reduced(const fb::ReduceOptions& o, int axis) noexcept {
  return std::find(o.axes()->begin(), o.axes()->end(), axis) != o.axes()->end();
}

Status check_reduce(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::ReduceOptions* const o, options<fb::ReduceOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  if (op.version() == 3) {
    RUNNEL_TRY(check_affine(x, false, "the input"));
    RUNNEL_TRY(check_affine(y, false, "the output"));
  } else {
    RUNNEL_TRY(check_number(x, "the input"));
    RUNNEL_TRY(check_number(y, "the output"));
  }
  if (x.dtype != y.dtype) return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype) << ", expected one type";
  if (o->axes() == nullptr || o->axes()->size() == 0) return Status(Code::invalid_data) << "no axes to reduce over";
  for (const std::uint8_t axis : *o->axes()) {
    if (axis >= x.shape.rank) return Status(Code::invalid_data) << "axis " << axis << ", expected 0 to " << x.shape.rank - 1;
  }
  std::int64_t expected = 1;
  for (int axis = 0; axis < x.shape.rank; ++axis) expected *= is_reduced(*o, axis) ? 1 : x.shape[axis];
  if (y.shape.elements() != expected) return Status(Code::invalid_data) << "the output has " << y.shape.elements() << " elements, expected " << expected;
  return {};
}

// Time stays an axis of the output: with kept dimensions at its place, without them moved by the reduced axes in front.
Status stream_reduce(const Model& model, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  if (is_reduced(o, axes[0])) {
    return Status(Code::unsupported) << "reduces over the whole recording; give it a window of frames, or run the model in usage `window`";
  }
  int axis = axes[0];
  if (y.rank != x.rank) {
    for (int k = 0; k < axes[0]; ++k) axis -= is_reduced(o, k) ? 1 : 0;
  }
  if (axis >= y.rank || y[axis] != x[axes[0]]) return Status(Code::unsupported) << "moves time in a way that is not understood";
  axes.back() = static_cast<std::int8_t>(axis);
  return {};
}

// TensorFlow Lite folds the division by the count into the multiplier, with as many bits as it has room for.
kernels::Multiplier mean_multiplier(const TensorView& x, const TensorView& y, std::int64_t count) noexcept {
  const kernels::Multiplier ratio = kernels::multiplier_of(static_cast<double>(x.scales[0]) / static_cast<double>(y.scales[0]));
  int shift = 63 - __builtin_clzll(static_cast<std::uint64_t>(count));
  shift = std::min({shift, 32, 31 - ratio.shift});
  if (shift < 0) return {};
  return {static_cast<std::int32_t>((std::int64_t{ratio.value} << shift) / count), ratio.shift + shift};
}

template <Reduction kKind>
Result<const BoundOperator*> prepare_reduce(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  RUNNEL_ASSIGN(BoundReduce* const bound, allocate<BoundReduce>(context, run_reduce));
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const Shape shape = context.shape(input_index(op, 0));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->dtype = x.dtype;
  bound->kind = kKind;
  bound->rounding = rounding_of(op);
  bound->shift = y.exponent() - (kKind == Reduction::sum_square ? 2 : 1) * x.exponent();
  bound->x_exponent = x.exponent();
  bound->y_exponent = y.exponent();
  for (int axis = 0; axis < shape.rank; ++axis) {
    const std::int64_t stride = shape.product(axis + 1, shape.rank);
    if (is_reduced(o, axis)) {
      bound->reduced[bound->reduced_rank] = shape[axis];
      bound->reduced_stride[bound->reduced_rank++] = stride;
      bound->count *= shape[axis];
    } else {
      bound->kept[bound->kept_rank] = shape[axis];
      bound->kept_stride[bound->kept_rank++] = stride;
    }
  }
  const bool sums = kKind == Reduction::mean || kKind == Reduction::sum;
  bound->beside = sums && x.dtype == DType::float32 && bound->kept_rank > 0 && bound->kept_stride[bound->kept_rank - 1] == 1;
  if (op.version() == 3) {
    bound->affine = true;
    bound->multiplier = mean_multiplier(x, y, bound->count);
    bound->x_zero = x.zero_point();
    bound->y_zero = y.zero_point();
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition reduce_mean_v1{fb::OpCode::reduce_mean, 1, "reduce_mean", check_reduce, stream_reduce, prepare_reduce<Reduction::mean>, InPlace::shrinking};
const OperatorDefinition reduce_sum_v1{fb::OpCode::reduce_sum, 1, "reduce_sum", check_reduce, stream_reduce, prepare_reduce<Reduction::sum>, InPlace::shrinking};
const OperatorDefinition reduce_max_v1{fb::OpCode::reduce_max, 1, "reduce_max", check_reduce, stream_reduce, prepare_reduce<Reduction::max>, InPlace::shrinking};
const OperatorDefinition reduce_min_v1{fb::OpCode::reduce_min, 1, "reduce_min", check_reduce, stream_reduce, prepare_reduce<Reduction::min>, InPlace::shrinking};
const OperatorDefinition reduce_l1_v1{fb::OpCode::reduce_l1, 1, "reduce_l1", check_reduce, stream_reduce, prepare_reduce<Reduction::l1>, InPlace::shrinking};
const OperatorDefinition reduce_l2_v1{fb::OpCode::reduce_l2, 1, "reduce_l2", check_reduce, stream_reduce, prepare_reduce<Reduction::l2>, InPlace::shrinking};
const OperatorDefinition reduce_prod_v1{fb::OpCode::reduce_prod, 1, "reduce_prod", check_reduce, stream_reduce, prepare_reduce<Reduction::prod>, InPlace::shrinking};
const OperatorDefinition reduce_log_sum_v1{fb::OpCode::reduce_log_sum, 1, "reduce_log_sum", check_reduce, stream_reduce, prepare_reduce<Reduction::log_sum>, InPlace::shrinking};
const OperatorDefinition reduce_log_sum_exp_v1{fb::OpCode::reduce_log_sum_exp, 1, "reduce_log_sum_exp", check_reduce, stream_reduce, prepare_reduce<Reduction::log_sum_exp>, InPlace::shrinking};
const OperatorDefinition reduce_sum_square_v1{fb::OpCode::reduce_sum_square, 1, "reduce_sum_square", check_reduce, stream_reduce, prepare_reduce<Reduction::sum_square>, InPlace::shrinking};
const OperatorDefinition reduce_mean_v3{fb::OpCode::reduce_mean, 3, "reduce_mean", check_reduce, stream_reduce, prepare_reduce<Reduction::mean>, InPlace::shrinking};

}  // namespace runnel::ops
