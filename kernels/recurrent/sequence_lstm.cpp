#include "kernels/recurrent/sequence_lstm.h"

#include <cstring>

#include "kernels/elementwise/functions.h"

namespace runnel::kernels {
namespace {

enum Gate { kInput, kForget, kCell, kOutput };

std::int16_t limited(std::int64_t value) noexcept { return saturate<std::int16_t>(value); }

// ---- int8: gates in Q3.12 before and Q0.15 after their function
std::int16_t tanh_of_cell(std::int16_t c, int exponent) noexcept {
  const int shift = 12 + exponent;
  return shift >= 0 ? tanh_of_int16(c, 0, shift) : tanh_of_int16(c, 3, -shift);
}

void gates(const SequenceLstmSpec& spec, const std::int8_t* x, const std::int8_t* h,
           std::int16_t* gate) noexcept {
  for (int g = 0; g < 4; ++g) {
    const auto* xw = static_cast<const std::int8_t*>(spec.x_weights[g]);
    const auto* hw = static_cast<const std::int8_t*>(spec.h_weights[g]);
    const auto* bias = static_cast<const std::int32_t*>(spec.bias[g]);
    for (std::int32_t u = 0; u < spec.units; ++u) {
      std::int64_t from_x = bias[u], from_h = 0;
      if (spec.rows != nullptr) {
        const auto inputs = static_cast<std::size_t>(spec.inputs),
                   units = static_cast<std::size_t>(spec.units);
        from_x += spec.rows->dot(inputs, x, xw) - std::int64_t{spec.x_zero} * spec.x_sums[g][u];
        from_h += spec.rows->dot(units, h, hw) - std::int64_t{spec.h_zero} * spec.h_sums[g][u];
        xw += inputs;
        hw += units;
      } else {
        for (std::int32_t i = 0; i < spec.inputs; ++i) from_x += std::int32_t{*xw++} * (x[i] - spec.x_zero);
        for (std::int32_t i = 0; i < spec.units; ++i) from_h += std::int32_t{*hw++} * (h[i] - spec.h_zero);
      }
      const std::int16_t sum =
          limited(std::int64_t{limited(spec.x_scale[g](from_x))} + limited(spec.h_scale[g](from_h)));
      gate[g * spec.units + u] = g == kCell ? tanh_of_int16(sum, 0, 0) : sigmoid_of_int16(sum, 0, 0);
    }
  }
}

void step(const SequenceLstmSpec& spec, const std::int8_t* x, std::int8_t* h, std::int16_t* c,
          std::int16_t* gate) noexcept {
  gates(spec, x, h, gate);
  const auto of = [&](Gate g, std::int32_t u) { return std::int64_t{gate[g * spec.units + u]}; };
  for (std::int32_t u = 0; u < spec.units; ++u) {
    const std::int16_t kept = limited(spec.forget_cell(of(kForget, u) * c[u]));
    const std::int16_t added = limited(spec.input_cell(of(kInput, u) * of(kCell, u)));
    c[u] = limited(std::int64_t{kept} + added);
    if (spec.clip > 0)
      c[u] = c[u] > spec.clip ? spec.clip : c[u] < -spec.clip ? static_cast<std::int16_t>(-spec.clip) : c[u];
    h[u] = saturate<std::int8_t>(spec.hidden(tanh_of_cell(c[u], spec.cell_exponent) * of(kOutput, u)) +
                                 spec.h_zero);
  }
}

// ---- float32: sums in the order of the inputs, the bias last
void step(const SequenceLstmSpec& spec, const float* x, float* h, float* c, float* gate) noexcept {
  for (int g = 0; g < 4; ++g) {
    const auto* xw = static_cast<const float*>(spec.x_weights[g]);
    const auto* hw = static_cast<const float*>(spec.h_weights[g]);
    const auto* bias = static_cast<const float*>(spec.bias[g]);
    for (std::int32_t u = 0; u < spec.units; ++u) {
      float from_x = 0, from_h = 0;
      for (std::int32_t i = 0; i < spec.inputs; ++i) from_x += *xw++ * x[i];
      for (std::int32_t i = 0; i < spec.units; ++i) from_h += *hw++ * h[i];
      gate[g * spec.units + u] =
          evaluate({g == kCell ? Function::tanh : Function::sigmoid}, from_x + bias[u] + from_h);
    }
  }
  const auto of = [&](Gate g, std::int32_t u) { return gate[g * spec.units + u]; };
  for (std::int32_t u = 0; u < spec.units; ++u) {
    c[u] = of(kForget, u) * c[u] + of(kInput, u) * of(kCell, u);
    if (spec.float_clip > 0)
      c[u] = c[u] > spec.float_clip ? spec.float_clip : c[u] < -spec.float_clip ? -spec.float_clip : c[u];
    h[u] = evaluate({Function::tanh}, c[u]) * of(kOutput, u);
  }
}

template <class T, class Cell>
void run(const SequenceLstmSpec& spec, const T* x, T* h, Cell* c, T* y, Cell* gate) noexcept {
  const std::int64_t batches = spec.batches, steps = spec.steps;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t row = spec.time_major ? t * batches + b : b * steps + t;
      step(spec, x + row * spec.inputs, h + b * spec.units, c + b * spec.units, gate);
      std::memcpy(y + row * spec.units, h + b * spec.units, static_cast<std::size_t>(spec.units) * sizeof(T));
    }
  }
}

}  // namespace

void sequence_lstm(const SequenceLstmSpec& spec, const void* x, void* h, void* c, void* y,
                   void* scratch) noexcept {
  if (spec.dtype == DType::float32) {
    run(spec, static_cast<const float*>(x), static_cast<float*>(h), static_cast<float*>(c),
        static_cast<float*>(y), static_cast<float*>(scratch));
  } else {
    run(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(h), static_cast<std::int16_t*>(c),
        static_cast<std::int8_t*>(y), static_cast<std::int16_t*>(scratch));
  }
}

}  // namespace runnel::kernels
