#include "compiler/import/tflite/integer_table.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/arithmetic/fixed_point.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::tflite_source {
namespace {

// 1 / sqrt(x) for x >= 1 as gemmlowp's fixed point computes it: a multiplier of 31 bits and a shift.
void inverse_root(std::int32_t x, std::int32_t& multiplier, int& shift) {
  if (x <= 1) {
    multiplier = std::numeric_limits<std::int32_t>::max();
    shift = 0;
    return;
  }
  shift = 11;
  while (x >= (1 << 29)) {
    x /= 4;
    ++shift;
  }
  const int pairs = (__builtin_clz(static_cast<unsigned>(x)) - 1) / 2 - 1;
  shift -= pairs;
  x <<= 2 * pairs;
  x >>= 1;  // as Q3
  using namespace kernels::fixed;
  // Five steps of Newton's method, r = r (3 - x r^2) / 2, with products of Q3 brought back to Q3.
  const std::int32_t half_x = divide_by_power(x, 1), one_and_a_half = (1 << 28) + (1 << 27);
  std::int32_t r = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const std::int32_t cube = multiply_by_power(multiply(multiply(r, r), r), 6);
    r = multiply_by_power(multiply(one_and_a_half, r) - multiply(half_x, cube), 3);
  }
  multiplier = multiply(r, 1518500250);  // sqrt(1/2)
  if (shift < 0) {
    multiplier <<= -shift;
    shift = 0;
  }
  shift = -shift;
}

// x without its zero point; the result without that of the output.
std::int64_t integer_abs(std::int32_t x, float from, float to) {
  return kernels::multiplier_of(static_cast<double>(from / to))(std::abs(x));
}

// 0 and below, which have no root, are as much as there is.
std::int64_t integer_rsqrt(std::int32_t x, float from, float to) {
  constexpr int kFine = 20;
  if (x <= 0) return std::numeric_limits<std::int32_t>::max();
  std::int32_t multiplier = 0;
  int shift = 0;
  inverse_root(x, multiplier, shift);
  const std::int64_t root =
      kernels::multiply_shift(1, multiplier, -(shift + kFine), kernels::Rounding::tflite_double);
  const kernels::Multiplier scale = kernels::multiplier_of(1.0 / static_cast<double>(std::sqrt(from) * to));
  return kernels::multiply_shift(root, scale.value, scale.shift + kFine, kernels::Rounding::tflite_double);
}

}  // namespace

Status emit_table(Builder& builder, const Operator& op, TensorId x, TensorId y, float (*function)(float)) {
  const compiler::Tensor &from = builder.at(x), &to = builder.at(y);
  if (from.dtype != DType::int8 || to.dtype != DType::int8 || from.scales.size() != 1 ||
      to.scales.size() != 1) {
    return Builder::fail(op, Code::unsupported)
           << "of " << runnel::name_of(from.dtype) << ", expected float32 or int8 with one scale";
  }
  const float x_scale = from.scales[0], y_scale = to.scales[0], inverse = 1.0f / y_scale;
  const std::int32_t zero = to.zero_points[0];
  std::vector<std::byte> table(256);
  for (int i = 0; i < 256; ++i) {
    const std::int32_t value = i - 128 - from.zero_points[0];
    std::int64_t result = 0;
    if (op.code == Builtin::ABS)
      result = integer_abs(value, x_scale, y_scale) + zero;
    else if (op.code == Builtin::RSQRT)
      result = integer_rsqrt(value, x_scale, y_scale) + zero;
    else
      result = kernels::to_integer(function(x_scale * static_cast<float>(value)) * inverse, 1.0f, zero);
    kernels::store(DType::int8, table.data(), static_cast<std::size_t>(i), result);
  }
  return builder.emit(op, OpCode::lut, {x, builder.constant(op, DType::int8, {256}, std::move(table))}, {y},
                      LutOptions{});
}

}  // namespace runnel::compiler::tflite_source
