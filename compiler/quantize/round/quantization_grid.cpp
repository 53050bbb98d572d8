#include "compiler/quantize/round/quantization_grid.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::compiler::quantizer {

int exponent_for(double size, std::int32_t most) {
  int exponent = 0;
  std::frexp(size / most, &exponent);
  while (std::ldexp(static_cast<double>(most), exponent - 1) >= size) --exponent;
  return exponent;
}

Grid grid_of_exponent(int exponent, DType dtype) {
  Grid grid;
  grid.dtype = dtype;
  grid.exponent = exponent;
  grid.step = std::ldexp(1.0, exponent);
  return grid;
}

Range range_of_exponent(int exponent, DType dtype) {
  const double reach = std::ldexp(0.75 * kernels::highest(dtype), exponent);
  return {-reach, reach};
}

Grid grid_of(const Range& range, DType dtype, Scheme scheme) {
  const std::int32_t lowest = kernels::lowest(dtype), highest = kernels::highest(dtype);
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  if (!(high - low > 0)) return grid_of_exponent(dtype == DType::int8 ? -7 : -15, dtype);
  if (scheme == Scheme::pow2) return grid_of_exponent(exponent_for(std::max(-low, high), highest), dtype);
  Grid grid;
  grid.dtype = dtype;
  grid.affine = true;
  // int16 has no zero point in the arithmetic of this scheme.
  if (dtype == DType::int16) {
    grid.step = static_cast<double>(static_cast<float>(std::max(-low, high) / highest));
    return grid;
  }
  grid.step = static_cast<double>(static_cast<float>((high - low) / (highest - lowest)));
  grid.zero = static_cast<std::int32_t>(
      std::clamp<double>(std::nearbyint(lowest - low / grid.step), lowest, highest));
  return grid;
}

Grid grid_of_shares(DType dtype) {
  Grid grid;
  grid.dtype = dtype;
  grid.affine = true;
  grid.step = dtype == DType::int8 ? 1.0 / 256 : 1.0 / 32768;
  grid.zero = dtype == DType::int8 ? -128 : 0;
  return grid;
}

Range halved(const Range& range) { return {range.low / 2, range.high / 2}; }

double rounded(const Grid& grid, kernels::Rounding rounding, double value) {
  const double scaled = value / grid.step;
  const double integer =
      rounding == kernels::Rounding::half_up ? std::floor(scaled + 0.5) : std::nearbyint(scaled);
  return (std::clamp<double>(integer + grid.zero, kernels::lowest(grid.dtype), kernels::highest(grid.dtype)) -
          grid.zero) *
         grid.step;
}

void set_grid(Tensor& tensor, const Grid& grid) {
  tensor.dtype = grid.dtype;
  tensor.exponents.clear();
  tensor.scales.clear();
  tensor.zero_points.clear();
  if (grid.affine) {
    tensor.scales = {static_cast<float>(grid.step)};
    tensor.zero_points = {grid.zero};
  } else {
    tensor.exponents = {static_cast<std::int8_t>(grid.exponent)};
  }
}

void to_integers(const Tensor& tensor, kernels::Rounding rounding, std::span<const float> values,
                 std::span<std::byte> to) {
  if (tensor.dtype == DType::float32 || (tensor.exponents.empty() && tensor.scales.empty())) {
    std::memcpy(to.data(), values.data(), std::min(values.size_bytes(), to.size()));
    return;
  }
  const bool small =
      tensor.dtype == DType::int8 || tensor.dtype == DType::int16 || tensor.dtype == DType::uint8;
  if (tensor.scales.empty() && small && tensor.dtype != DType::uint8) {
    kernels::elementwise(best_isa())
        .quantize(tensor.dtype, values.size(), values.data(), to.data(), tensor.exponents[0], rounding);
    return;
  }
  if (!tensor.scales.empty() && small) {
    const kernels::Affine affine{tensor.dtype, tensor.scales[0],
                                 tensor.zero_points.empty() ? 0 : tensor.zero_points[0]};
    kernels::affine_conversions_for(tensor.dtype, best_isa())
        .quantize(affine, rounding, values.size(), values.data(), to.data());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t integer =
        tensor.scales.empty()
            ? kernels::round_float(values[i] * kernels::power_of_two(-tensor.exponents[0]), rounding)
            : kernels::to_integer(values[i], tensor.scales[0],
                                  tensor.zero_points.empty() ? 0 : tensor.zero_points[0], rounding);
    kernels::store(
        tensor.dtype, to.data(), i,
        std::clamp<std::int64_t>(integer, kernels::lowest(tensor.dtype), kernels::highest(tensor.dtype)));
  }
}

void to_reals(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<float>& values) {
  const std::size_t size = size_of(tensor.dtype);
  values.resize(bytes.size() / size);
  if (tensor.dtype == DType::float32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return;
  }
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::int16 && tensor.dtype != DType::int32 &&
      tensor.dtype != DType::uint8) {
    std::fill(values.begin(), values.end(), 0.0f);
    return;
  }
  if (tensor.scales.empty() && !tensor.exponents.empty() &&
      (tensor.dtype == DType::int8 || tensor.dtype == DType::int16)) {
    kernels::elementwise(best_isa())
        .dequantize(tensor.dtype, values.size(), bytes.data(), values.data(), tensor.exponents[0]);
    return;
  }
  const float scale = !tensor.scales.empty()     ? tensor.scales[0]
                      : tensor.exponents.empty() ? 1.0f
                                                 : kernels::power_of_two(tensor.exponents[0]);
  const std::int32_t zero = tensor.zero_points.empty() ? 0 : tensor.zero_points[0];
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(kernels::load(tensor.dtype, bytes.data(), i) - zero) * scale;
}

std::vector<float> floats_of(const Tensor& tensor) {
  if (!tensor.data || tensor.dtype != DType::float32) return {};
  std::vector<float> values(tensor.data->size() / sizeof(float));
  std::memcpy(values.data(), tensor.data->data(), values.size() * sizeof(float));
  return values;
}

}  // namespace runnel::compiler::quantizer
