// The numbers that a quantized tensor can hold, and the way between them and real ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/options.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::compiler::quantizer {

// low <= 0 <= high.
struct Range {
  double low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

// value = (integer - zero) * step; pow2: step = 2^exponent and zero = 0.
struct Grid {
  DType dtype = DType::int8;
  double step = 1;
  int exponent = 0;
  std::int32_t zero = 0;
  bool affine = false;
  bool operator==(const Grid&) const = default;
};

// Exponents beyond these are refused: no shift between them fits.
inline constexpr int kLowestExponent = -60, kHighestExponent = 60;

// The finest grid that holds the range. A range of nothing gets a step of 2^-7 (int16: 2^-15).
Grid grid_of(const Range& range, DType dtype, Scheme scheme);
// That of parts of 1 in TensorFlow Lite's arithmetic: 256 of them as int8, 32768 as int16.
Grid grid_of_shares(DType dtype);
// Half the step (pow2): everything beyond the new range is clipped.
Range halved(const Range& range);
Grid grid_of_exponent(int exponent, DType dtype);
// A range for which grid_of (pow2) gives this exponent.
Range range_of_exponent(int exponent, DType dtype);
// The smallest exponent with which integers up to `most` reach `size`.
int exponent_for(double size, std::int32_t most);

// What the grid makes of a value.
double rounded(const Grid& grid, kernels::Rounding rounding, double value);

// Writes type and scale into a tensor.
void set_grid(Tensor& tensor, const Grid& grid);

// Real numbers as integers of the tensor, rounded as the model's operators do, and back; float32 is copied.
void to_integers(const Tensor& tensor, kernels::Rounding rounding, std::span<const float> values,
                 std::span<std::byte> to);
void to_reals(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<float>& values);

// float32 constants as numbers; others give nothing.
std::vector<float> floats_of(const Tensor& tensor);

}  // namespace runnel::compiler::quantizer
