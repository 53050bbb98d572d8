#include "kernels/recurrent.h"

#include <algorithm>
#include <type_traits>

#include "base/exact_math.h"

namespace runnel::kernels {
namespace {

// ---- integers ---------------------------------------------------------------------------------------------------------

template <class T>
using Wide = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;

// matrix * vector as int16 at the gate exponent, plus the bias.
template <class T>
void product(std::int32_t rows, std::int32_t columns, const T* matrix, const T* vector, float scale, Rounding rounding, std::int32_t* y) noexcept {
  for (std::int32_t row = 0; row < rows; ++row, matrix += columns) {
    Wide<T> sum = 0;
    for (std::int32_t i = 0; i < columns; ++i) sum += static_cast<Wide<T>>(matrix[i]) * vector[i];
    y[row] = saturate<std::int16_t>(round_float(static_cast<float>(sum) * scale, rounding));
  }
}

std::int32_t bias_at(const void* bias, std::int32_t row) noexcept { return bias == nullptr ? 0 : static_cast<const std::int16_t*>(bias)[row]; }

float look_up(const GateTable& table, std::int32_t value) noexcept { return table.entries[std::min(value < 0 ? -value : value, table.last)]; }
float sigmoid(const GateTable& table, std::int32_t value) noexcept {
  const float entry = look_up(table, value);
  return value >= 0 ? entry : 1.0f - entry;
}
float tanh(const GateTable& table, std::int32_t value) noexcept {
  const float entry = look_up(table, value);
  return value >= 0 ? entry : -entry;
}

template <class T>
void step(const RecurrentSpec& spec, const T* x, T* h, std::int16_t* c, std::int32_t* scratch) noexcept {
  const std::int32_t rows = spec.rows(), hidden = spec.hidden;
  std::int32_t* const from_input = scratch;
  std::int32_t* const from_hidden = scratch + rows;
  product(rows, spec.inputs, static_cast<const T*>(spec.input_weights), x, power_of_two(spec.input_exponent - spec.gate_exponent), spec.rounding, from_input);
  product(rows, hidden, static_cast<const T*>(spec.hidden_weights), h, power_of_two(spec.hidden_exponent - spec.gate_exponent), spec.rounding, from_hidden);
  const float h_scale = power_of_two(-spec.state_exponent);
  if (spec.lstm) {
    const float c_scale = power_of_two(-spec.gate_exponent);
    for (std::int32_t row = 0; row < rows; ++row) {
      const std::int32_t sum = from_input[row] + bias_at(spec.input_bias, row) + from_hidden[row] + bias_at(spec.hidden_bias, row);
      from_input[row] = saturate<std::int16_t>(sum);
    }
    for (std::int32_t k = 0; k < hidden; ++k) {
      const float i = sigmoid(spec.sigmoid, from_input[k]), o = sigmoid(spec.sigmoid, from_input[hidden + k]);
      const float f = sigmoid(spec.sigmoid, from_input[2 * hidden + k]), g = tanh(spec.tanh, from_input[3 * hidden + k]);
      c[k] = saturate<std::int16_t>(round_float(f * static_cast<float>(c[k]) + i * g * c_scale, spec.rounding));
      h[k] = saturate<T>(round_float(o * tanh(spec.tanh, c[k]) * h_scale, spec.rounding));
    }
    return;
  }
  for (std::int32_t row = 0; row < rows; ++row) {
    from_input[row] = saturate<std::int16_t>(from_input[row] + bias_at(spec.input_bias, row));
    from_hidden[row] = saturate<std::int16_t>(from_hidden[row] + bias_at(spec.hidden_bias, row));
  }
  for (std::int32_t k = 0; k < hidden; ++k) {
    const float z = sigmoid(spec.sigmoid, from_input[k] + from_hidden[k]);
    const float r = sigmoid(spec.sigmoid, from_input[hidden + k] + from_hidden[hidden + k]);
    const float candidate = static_cast<float>(from_input[2 * hidden + k]) + r * static_cast<float>(from_hidden[2 * hidden + k]);
    const float n = tanh(spec.tanh, static_cast<std::int32_t>(round_float(candidate, spec.rounding)));
    h[k] = saturate<T>(round_float((1.0f - z) * n * h_scale + z * static_cast<float>(h[k]), spec.rounding));
  }
}

// ---- float32 ------------------------------------------------------------------------------------------------------------

float real_sigmoid(float x) noexcept { return static_cast<float>(1.0 / (1.0 + exact::exp(-std::clamp(static_cast<double>(x), -80.0, 80.0)))); }
float real_tanh(float x) noexcept { return static_cast<float>(exact::tanh(std::clamp(static_cast<double>(x), -20.0, 20.0))); }

// Eight partial sums, so that every machine adds in the same order whatever its vectors are.
void product(std::int32_t rows, std::int32_t columns, const float* matrix, const float* vector, const void* bias, float* y) noexcept {
  for (std::int32_t row = 0; row < rows; ++row, matrix += columns) {
    float lanes[8] = {};
    std::int32_t i = 0;
    for (; i + 8 <= columns; i += 8) {
      for (std::int32_t lane = 0; lane < 8; ++lane) lanes[lane] += matrix[i + lane] * vector[i + lane];
    }
    float sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < columns; ++i) sum += matrix[i] * vector[i];
    y[row] = sum + (bias == nullptr ? 0.0f : static_cast<const float*>(bias)[row]);
  }
}

void step(const RecurrentSpec& spec, const float* x, float* h, float* c, float* scratch) noexcept {
  const std::int32_t rows = spec.rows(), hidden = spec.hidden;
  float* const from_input = scratch;
  float* const from_hidden = scratch + rows;
  product(rows, spec.inputs, static_cast<const float*>(spec.input_weights), x, spec.input_bias, from_input);
  product(rows, hidden, static_cast<const float*>(spec.hidden_weights), h, spec.hidden_bias, from_hidden);
  for (std::int32_t k = 0; k < hidden; ++k) {
    if (spec.lstm) {
      const float i = real_sigmoid(from_input[k] + from_hidden[k]), o = real_sigmoid(from_input[hidden + k] + from_hidden[hidden + k]);
      const float f = real_sigmoid(from_input[2 * hidden + k] + from_hidden[2 * hidden + k]);
      const float g = real_tanh(from_input[3 * hidden + k] + from_hidden[3 * hidden + k]);
      c[k] = f * c[k] + i * g;
      h[k] = o * real_tanh(c[k]);
    } else {
      const float z = real_sigmoid(from_input[k] + from_hidden[k]);
      const float r = real_sigmoid(from_input[hidden + k] + from_hidden[hidden + k]);
      const float n = real_tanh(from_input[2 * hidden + k] + r * from_hidden[2 * hidden + k]);
      h[k] = (1.0f - z) * n + z * h[k];
    }
  }
}

}  // namespace

std::int32_t gate_table_last(GateFunction function, int exponent) noexcept {
  const double end = function == GateFunction::sigmoid ? 6.3 : 3.5;
  return static_cast<std::int32_t>(end * static_cast<double>(std::int64_t{1} << -exponent)) + 1;
}

void fill_gate_table(GateFunction function, int exponent, float* entries) noexcept {
  const std::int32_t last = gate_table_last(function, exponent);
  for (std::int32_t i = 0; i <= last; ++i) {
    const auto x = static_cast<double>(static_cast<float>(i) * power_of_two(exponent));
    entries[i] = static_cast<float>(function == GateFunction::sigmoid ? 1.0 / (1.0 + exact::exp(-x)) : exact::tanh(x));
  }
}

void recurrent_step(const RecurrentSpec& spec, const void* x, void* h, void* c, void* scratch) noexcept {
  switch (spec.dtype) {
    case DType::int8: step(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(h), static_cast<std::int16_t*>(c), static_cast<std::int32_t*>(scratch)); break;
    case DType::int16: step(spec, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(h), static_cast<std::int16_t*>(c), static_cast<std::int32_t*>(scratch)); break;
    default: step(spec, static_cast<const float*>(x), static_cast<float*>(h), static_cast<float*>(c), static_cast<float*>(scratch)); break;
  }
}

}  // namespace runnel::kernels
