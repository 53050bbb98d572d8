#include "kernels/recurrent/recurrent.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/exact_math.h"
#include "kernels/recurrent/recurrent_vectors.h"

namespace runnel::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;

// matrix * vector as int16 at the gate exponent, plus the bias.
template <class T>
void product(std::int32_t rows, std::int32_t columns, const T* matrix, const T* vector, float scale,
             Rounding rounding, std::int32_t* y) noexcept {
  for (std::int32_t row = 0; row < rows; ++row, matrix += columns) {
    Wide<T> sum = 0;
    for (std::int32_t i = 0; i < columns; ++i) sum += static_cast<Wide<T>>(matrix[i]) * vector[i];
    y[row] = saturate<std::int16_t>(round_float(static_cast<float>(sum) * scale, rounding));
  }
}

std::int32_t bias_at(const void* bias, std::int32_t row) noexcept {
  return bias == nullptr ? 0 : static_cast<const std::int16_t*>(bias)[row];
}

float look_up(const GateTable& table, std::int32_t value) noexcept {
  return table.entries[std::min(value < 0 ? -value : value, table.last)];
}
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
  product(rows, spec.inputs, static_cast<const T*>(spec.input_weights), x,
          power_of_two(spec.input_exponent - spec.gate_exponent), spec.rounding, from_input);
  product(rows, hidden, static_cast<const T*>(spec.hidden_weights), h,
          power_of_two(spec.hidden_exponent - spec.gate_exponent), spec.rounding, from_hidden);
  const float h_scale = power_of_two(-spec.state_exponent);
  if (spec.lstm) {
    const float c_scale = power_of_two(-spec.gate_exponent);
    for (std::int32_t row = 0; row < rows; ++row) {
      const std::int32_t sum =
          from_input[row] + bias_at(spec.input_bias, row) + from_hidden[row] + bias_at(spec.hidden_bias, row);
      from_input[row] = saturate<std::int16_t>(sum);
    }
    for (std::int32_t k = 0; k < hidden; ++k) {
      const float i = sigmoid(spec.sigmoid, from_input[k]), o = sigmoid(spec.sigmoid, from_input[hidden + k]);
      const float f = sigmoid(spec.sigmoid, from_input[2 * hidden + k]),
                  g = tanh(spec.tanh, from_input[3 * hidden + k]);
      c[k] =
          saturate<std::int16_t>(round_float(f * static_cast<float>(c[k]) + i * g * c_scale, spec.rounding));
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
    const float candidate =
        static_cast<float>(from_input[2 * hidden + k]) + r * static_cast<float>(from_hidden[2 * hidden + k]);
    const float n = tanh(spec.tanh, static_cast<std::int32_t>(round_float(candidate, spec.rounding)));
    h[k] = saturate<T>(round_float((1.0f - z) * n * h_scale + z * static_cast<float>(h[k]), spec.rounding));
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
    entries[i] =
        static_cast<float>(function == GateFunction::sigmoid ? 1.0 / (1.0 + exact::exp(-x)) : exact::tanh(x));
  }
}

std::size_t RecurrentSpec::scratch_bytes() const noexcept {
  if (vectors == nullptr) return 2 * static_cast<std::size_t>(rows()) * sizeof(std::int32_t);
  return vectors->scratch_bytes(inputs, hidden);
}

Status use_vectors([[maybe_unused]] Isa isa, [[maybe_unused]] Memory& memory,
                   [[maybe_unused]] RecurrentSpec& spec) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  // Scales are floats far from their limits then.
  const auto ordinary = [](int exponent) { return exponent >= -100 && exponent <= 100; };
  if (isa < Isa::avx2 || !ordinary(spec.input_exponent - spec.gate_exponent) ||
      !ordinary(spec.hidden_exponent - spec.gate_exponent) || !ordinary(spec.state_exponent) ||
      spec.inputs > kMaxPackedColumns)
    return {};
  const RecurrentLevel& level = isa >= Isa::avx512 ? recurrent_avx512() : recurrent_avx2();
  auto* const vectors = memory.array<RecurrentVectors>(1);
  if (vectors == nullptr) return Status(Code::out_of_memory, "no memory for a recurrent layer's plan");
  const auto pack = [&](const void* matrix, std::int32_t columns, PackedRows& to) {
    return pack_rows({&matrix, 1, spec.rows(), columns, spec.dtype}, level.lanes, memory, to);
  };
  RUNNEL_TRY(pack(spec.input_weights, spec.inputs, vectors->input));
  RUNNEL_TRY(pack(spec.hidden_weights, spec.hidden, vectors->hidden));
  if (vectors->input.weights == nullptr || vectors->hidden.weights == nullptr) return {};
  vectors->sums = vectors->hidden.groups * level.lanes + kUnitsTogether;
  for (const auto& [from, to] : {std::pair(spec.input_bias, &vectors->input_bias),
                                 std::pair(spec.hidden_bias, &vectors->hidden_bias)}) {
    auto* const bias = memory.array<std::int32_t>(static_cast<std::size_t>(vectors->sums));
    if (bias == nullptr) return Status(Code::out_of_memory, "no memory for a recurrent layer's biases");
    for (std::int32_t row = 0; row < spec.rows(); ++row) bias[row] = bias_at(from, row);
    *to = bias;
  }
  vectors->step = level.step[spec.dtype == DType::int16][spec.rounding == Rounding::half_up];
  spec.vectors = vectors;
#endif
  return {};
}

void recurrent_step(const RecurrentSpec& spec, const void* x, void* h, void* c, void* scratch) noexcept {
  if (spec.vectors != nullptr) return spec.vectors->step(spec, x, h, c, scratch);
  auto* const cell = static_cast<std::int16_t*>(c);
  auto* const sums = static_cast<std::int32_t*>(scratch);
  if (spec.dtype == DType::int8)
    step(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(h), cell, sums);
  else
    step(spec, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(h), cell, sums);
}

}  // namespace runnel::kernels
