// What the reductions share: their arithmetic for one result, checks, binding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "inference/ops/affine.h"
#include "inference/ops/support.h"
#include "kernels/elementwise/functions.h"
#include "kernels/float32/float_pair_kernels.h"
#include "kernels/float32/float_sum.h"

namespace runnel::ops {

enum class Reduction : std::uint8_t { mean, sum, max, min, l1, l2, prod, log_sum, log_sum_exp, sum_square };

// How a sum becomes a mean: as reductions do, or as average_pool in ESP-DL's or TensorFlow Lite's arithmetic
// does.
enum class MeanOrder : std::uint8_t { reduction, pool, integers };

struct BoundReduce : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  DType dtype = DType::int8;
  Reduction kind = Reduction::mean;
  kernels::Rounding rounding = kernels::Rounding::half_up;
  int kept_rank = 0, reduced_rank = 0;
  std::int32_t kept[kMaxRank] = {}, reduced[kMaxRank] = {};
  std::int64_t kept_stride[kMaxRank] = {}, reduced_stride[kMaxRank] = {};  // elements
  std::int64_t count = 1;                                                  // elements per result
  int shift = 0;
  int x_exponent = 0, y_exponent = 0;
  MeanOrder order = MeanOrder::reduction;
  const kernels::FloatPairKernels* kernels = nullptr;
  bool beside = false;  // means and sums: neighbouring results from neighbouring elements
  Isa isa = Isa::reference;
  bool affine = false;                    // TensorFlow Lite's arithmetic: multiplier, zero points
  kernels::Multiplier ratio, multiplier;  // of the scales; with the division by the count
  std::int32_t x_zero = 0, y_zero = 0;
};

// Steps a multi-index; `offset` follows. False when it is back at the start.
inline bool next(int rank, const std::int32_t* size, const std::int64_t* stride, std::int32_t* at,
                 std::int64_t& offset) noexcept {
  for (int axis = rank - 1; axis >= 0; --axis) {
    offset += stride[axis];
    if (++at[axis] < size[axis]) return true;
    offset -= stride[axis] * size[axis];
    at[axis] = 0;
  }
  return false;
}

// f(offset) of the first of reduced[last] elements, reduced_stride[last] apart, for all of one result, in the
// order of memory.
template <class F>
void each_run(const BoundReduce& op, std::int64_t base, F f) noexcept {
  std::int32_t at[kMaxRank] = {};
  std::int64_t offset = base;
  do {
    f(offset);
  } while (next(op.reduced_rank - 1, op.reduced, op.reduced_stride, at, offset));
}
// f(offset) over all elements of one result, in the order of memory.
template <class F>
void each_offset(const BoundReduce& op, std::int64_t base, F f) noexcept {
  const std::int32_t count = op.reduced[op.reduced_rank - 1];
  const std::int64_t stride = op.reduced_stride[op.reduced_rank - 1];
  each_run(op, base, [&](std::int64_t offset) {
    for (std::int32_t i = 0; i < count; ++i) f(offset + i * stride);
  });
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
    case Reduction::l1:
      each_reduced(op, x, base, [&](std::int64_t v) { sum += v < 0 ? -v : v; });
      break;
    case Reduction::l2:
    case Reduction::sum_square:
      each_reduced(op, x, base, [&](std::int64_t v) { sum += v * v; });
      break;
    case Reduction::max:
      sum = x[base];
      each_reduced(op, x, base, [&](std::int64_t v) { sum = std::max(sum, v); });
      break;
    case Reduction::min:
      sum = x[base];
      each_reduced(op, x, base, [&](std::int64_t v) { sum = std::min(sum, v); });
      break;
    default:
      each_reduced(op, x, base, [&](std::int64_t v) { sum += v; });
      break;
  }
  return sum;
}

// In double precision, in the order of memory, rounded once by the caller: products, and functions of sums.
template <class T>
double real_result(const BoundReduce& op, const T* x, std::int64_t base) noexcept {
  const double scale =
      std::is_same_v<T, float> ? 1.0 : static_cast<double>(kernels::power_of_two(op.x_exponent));
  double sum = 0;
  switch (op.kind) {
    case Reduction::l2:
      each_reduced(op, x, base, [&](double v) { sum += v * v; });
      return __builtin_sqrt(sum) * scale;
    case Reduction::prod:
      sum = 1;
      each_reduced(op, x, base, [&](double v) { sum *= v * scale; });
      return sum;
    case Reduction::log_sum:
      each_reduced(op, x, base, [&](double v) { sum += v; });
      return kernels::log_of(sum * scale);
    case Reduction::log_sum_exp: {
      double largest = static_cast<double>(x[base]);
      each_reduced(op, x, base, [&](double v) { largest = v > largest ? v : largest; });
      each_reduced(op, x, base, [&](double v) { sum += kernels::exp_of((v - largest) * scale); });
      return largest * scale + kernels::log_of(sum);
    }
    default:
      return sum;
  }
}

// Sums of floats, of their magnitudes or of their squares.
inline kernels::Term term_of(Reduction kind) noexcept {
  if (kind == Reduction::sum_square || kind == Reduction::l2) return kernels::Term::square;
  return kind == Reduction::l1 ? kernels::Term::size : kernels::Term::value;
}
inline float finish_sum(const BoundReduce& op, const kernels::FloatSum& sum) noexcept {
  return op.kind == Reduction::mean ? sum.mean(op.count)
         : op.kind == Reduction::l2 ? sum.square_root()
                                    : sum.value();
}

// Sums beyond the range in which FloatSum's rounding errors are floats: added again with scaled terms.
[[gnu::noinline]] inline float extreme_result(const BoundReduce& op, const float* x, std::int64_t base,
                                              bool large) noexcept {
  constexpr float kDown = 0x1p-80f, kUp = 0x1p80f;
  const float scale = large ? kDown : kUp, back = large ? kUp : kDown;
  const kernels::Term term = term_of(op.kind);
  kernels::FloatSum sum;
  float plain = 0;
  each_reduced(op, x, base, [&](float v) {
    const float scaled = (term != kernels::Term::value && v < 0 ? -v : v) * scale;
    plain += scaled;
    if (term == kernels::Term::square)
      sum.add_square(scaled);
    else
      sum.add(scaled);
  });
  if (!sum.is_finite()) return plain;  // as some element
  const float result = finish_sum(op, sum) * back;
  return op.kind == Reduction::sum_square ? result * back : result;
}
inline bool is_ordinary(const BoundReduce& op, const kernels::FloatSum& sum) noexcept {
  return sum.has_rest() &&
         ((op.kind != Reduction::sum_square && op.kind != Reduction::l2) || sum.sum > 1e-25f);
}
// In the order of memory, rounded once: the nearest float, except where that takes more than twice a float's
// bits.
inline float float_result(const BoundReduce& op, const float* x, std::int64_t base) noexcept {
  float best = x[base];
  switch (op.kind) {
    case Reduction::max:
      each_reduced(op, x, base, [&](float v) { best = v > best || v != v ? v : best; });
      return best;
    case Reduction::min:
      each_reduced(op, x, base, [&](float v) { best = v < best || v != v ? v : best; });
      return best;
    case Reduction::prod:
    case Reduction::log_sum:
    case Reduction::log_sum_exp:
      return static_cast<float>(real_result(op, x, base));
    default:
      break;
  }
  kernels::FloatSum sum;
  const kernels::Term term = term_of(op.kind);
  const int last = op.reduced_rank - 1;
  if (op.reduced_stride[last] == 1 && op.reduced[last] >= kernels::kSumLanes) {
    const auto add = op.kernels->add_neighbours[static_cast<int>(term)];
    each_run(op, base, [&](std::int64_t offset) { add(op.reduced[last], x + offset, sum); });
  } else if (term == kernels::Term::square) {
    each_reduced(op, x, base, [&](float v) { sum.add_square(v); });
  } else {
    each_reduced(op, x, base, [&](float v) { sum.add(term == kernels::Term::size && v < 0 ? -v : v); });
  }
  return is_ordinary(op, sum) ? finish_sum(op, sum) : extreme_result(op, x, base, !(sum.sum < 1));
}

// A sum of integers (integer_sum) as the result.
template <class T>
T finish_integer(const BoundReduce& op, std::int64_t sum) noexcept {
  if (op.order == MeanOrder::integers)
    return kernels::saturate<T>((sum > 0 ? sum + op.count / 2 : sum - op.count / 2) / op.count);
  if (op.order == MeanOrder::pool) {
    const float scale = kernels::power_of_two(op.x_exponent) * (1.0f / static_cast<float>(op.count)) *
                        kernels::power_of_two(-op.y_exponent);
    return kernels::saturate<T>(kernels::round_float(static_cast<float>(sum) * scale, op.rounding));
  }
  if (op.affine) {
    if (op.kind == Reduction::max || op.kind == Reduction::min) return static_cast<T>(sum);  // of one scale
    const kernels::Multiplier& scale = op.kind == Reduction::mean ? op.multiplier : op.ratio;
    return kernels::saturate<T>(scale(sum - op.x_zero * op.count) + op.y_zero);
  }
  // ESP-DL's order: the sum times the input's scale, divided by the count, divided by the output's scale, all
  // in float32.
  if (op.kind == Reduction::mean) {
    const float real =
        static_cast<float>(sum) * kernels::power_of_two(op.x_exponent) / static_cast<float>(op.count);
    return kernels::saturate<T>(
        kernels::round_float(real * kernels::power_of_two(-op.y_exponent), op.rounding));
  }
  return kernels::saturate<T>(kernels::round_shift(sum, op.shift, op.rounding));
}

template <class T>
T result(const BoundReduce& op, const T* x, std::int64_t base) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return float_result(op, x, base);
  } else {
    switch (op.kind) {
      case Reduction::l2:
      case Reduction::prod:
      case Reduction::log_sum:
      case Reduction::log_sum_exp:
        return kernels::saturate<T>(kernels::round_float(
            static_cast<float>(real_result(op, x, base)) * kernels::power_of_two(-op.y_exponent),
            op.rounding));
      default:
        return finish_integer<T>(op, integer_sum(op, x, base));
    }
  }
}

inline bool is_reduced(const fb::ReduceOptions& o, int axis) noexcept {
  return std::find(o.axes()->begin(), o.axes()->end(), axis) != o.axes()->end();
}

// Types, and axes that the input has.
inline Status check_reduction(const Model& model, const fb::Operator& op, bool affine) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::ReduceOptions* const o, options<fb::ReduceOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  if (affine) {
    RUNNEL_TRY(check_affine(x, false, "the input"));
    RUNNEL_TRY(check_affine(y, false, "the output"));
  } else {
    RUNNEL_TRY(check_number(x, "the input"));
    RUNNEL_TRY(check_number(y, "the output"));
  }
  if (x.dtype != y.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  if (o->axes() == nullptr || o->axes()->size() == 0)
    return Status(Code::invalid_data) << "no axes to reduce over";
  for (const std::uint8_t axis : *o->axes()) {
    if (axis >= x.shape.rank)
      return Status(Code::invalid_data) << "axis " << axis << ", expected 0 to " << x.shape.rank - 1;
  }
  return {};
}

// TensorFlow Lite folds the division by the count into the multiplier, with as many bits as it has room for.
inline kernels::Multiplier mean_multiplier(const kernels::Multiplier& ratio, std::int64_t count) noexcept {
  int shift = 63 - __builtin_clzll(static_cast<std::uint64_t>(count));
  shift = std::min({shift, 32, 31 - static_cast<int>(ratio.shift)});
  if (shift < 0) return {};
  return {static_cast<std::int32_t>((std::int64_t{ratio.value} << shift) / count), ratio.shift + shift};
}

// Shapes and numbers of an operator with ReduceOptions.
inline void bind_reduction(PrepareContext& context, Reduction kind, bool affine,
                           BoundReduce& bound) noexcept {
  const fb::Operator& op = context.op();
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const Shape shape = context.shape(input_index(op, 0));
  bound.x = operand(context, 0);
  bound.y = output_index(op);
  bound.dtype = x.dtype;
  bound.kind = kind;
  bound.isa = context.isa();
  bound.kernels = &kernels::float_pair_kernels(context.isa());
  if (x.dtype == DType::float32) context.chose_kernel({vector_level(context.isa()), "pairs of floats"});
  bound.rounding = rounding_of(op);
  bound.shift = y.exponent() - (kind == Reduction::sum_square ? 2 : 1) * x.exponent();
  bound.x_exponent = x.exponent();
  bound.y_exponent = y.exponent();
  for (int axis = 0; axis < shape.rank; ++axis) {
    const std::int64_t stride = shape.product(axis + 1, shape.rank);
    if (is_reduced(o, axis)) {
      bound.reduced[bound.reduced_rank] = shape[axis];
      bound.reduced_stride[bound.reduced_rank++] = stride;
      bound.count *= shape[axis];
    } else {
      bound.kept[bound.kept_rank] = shape[axis];
      bound.kept_stride[bound.kept_rank++] = stride;
    }
  }
  if (!affine) return;
  bound.affine = true;
  bound.ratio = kernels::multiplier_of(static_cast<double>(x.scales[0]) / static_cast<double>(y.scales[0]));
  bound.multiplier = mean_multiplier(bound.ratio, bound.count);
  bound.x_zero = x.zero_point();
  bound.y_zero = y.zero_point();
}

}  // namespace runnel::ops
