#include "compiler/quantize/round/fixed_constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "compiler/quantize/round/quantization_grid.h"
#include "kernels/transformer/fixed_attention.h"
#include "kernels/transformer/fixed_layer_norm.h"

namespace runnel::compiler::quantizer {
namespace {

Tensor plain_integers(const Tensor& like, const std::vector<float>& values, double unit, double most) {
  Tensor made = like;
  made.dtype = DType::int32;
  made.data.emplace(values.size() * sizeof(std::int32_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto integer = static_cast<std::int32_t>(
        std::clamp(std::nearbyint(static_cast<double>(values[i]) / unit), -most, most));
    std::memcpy(made.data->data() + i * sizeof integer, &integer, sizeof integer);
  }
  return made;
}

double largest_of(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

}  // namespace

Tensor fixed_bias(const Tensor& bias) {
  return plain_integers(bias, floats_of(bias), kernels::kScoreUnit, std::ldexp(1.0, 30));
}

FixedNormConstants fixed_norm_constants(const Tensor& gain, const Tensor* offset, Scheme scheme) {
  const std::vector<float> gains = floats_of(gain),
                           offsets = offset == nullptr ? std::vector<float>() : floats_of(*offset);
  constexpr double kUnits = 1 << (15 - kernels::kNormBits);  // of an offset, in steps of the gains
  const double step =
      std::max(largest_of(gains) / 32767, largest_of(offsets) / (kernels::kMaxNormOffset / 2 * kUnits));
  Grid grid = grid_of_exponent(step > 0 ? static_cast<int>(std::ceil(std::log2(step))) : -15, DType::int16);
  if (scheme == Scheme::affine && step > 0) {
    grid.affine = true;
    grid.step = static_cast<double>(std::nextafter(static_cast<float>(step), 3.4e38f));
  }
  FixedNormConstants made;
  made.gain = gain;
  set_grid(made.gain, grid);
  made.gain.data.emplace(gains.size() * sizeof(std::int16_t));
  to_integers(made.gain, kernels::Rounding::half_even, gains, *made.gain.data);
  if (offset != nullptr)
    made.offset = plain_integers(*offset, offsets, grid.step * kUnits, kernels::kMaxNormOffset);
  return made;
}

}  // namespace runnel::compiler::quantizer
