#include "kernels/recurrent/sequence_lstm.h"

#include <cstring>

#include "kernels/elementwise/functions.h"
#include "kernels/recurrent/recurrent_vectors.h"

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
      for (std::int32_t i = 0; i < spec.inputs; ++i) from_x += std::int32_t{*xw++} * (x[i] - spec.x_zero);
      for (std::int32_t i = 0; i < spec.units; ++i) from_h += std::int32_t{*hw++} * (h[i] - spec.h_zero);
      const std::int16_t sum =
          limited(std::int64_t{limited(spec.x_scale[g](from_x))} + limited(spec.h_scale[g](from_h)));
      gate[g * spec.units + u] = g == kCell ? tanh_of_int16(sum, 0, 0) : sigmoid_of_int16(sum, 0, 0);
    }
  }
}

void step(const SequenceLstmSpec& spec, const std::int8_t* x, std::int8_t* h, std::int16_t* c,
          std::int16_t* gate) noexcept {
  if (spec.vectors != nullptr) return spec.vectors->step(spec, x, h, c, gate);
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

#if defined(RUNNEL_KERNELS_X86)
// Whether the loops in vectors can do it.
bool fits(const Scaling& scaling) noexcept {
  const int shift = scaling.rounding == Rounding::tflite_double ? scaling.multiplier.shift : scaling.shift;
  return shift >= -14 && shift <= 30 && scaling.rounding != Rounding::single;
}
// Whether the sums of x with their biases stay within int32.
bool biases_fit(const SequenceLstmSpec& spec) noexcept {
  const std::int64_t largest = std::int64_t{0x7fffffff} - std::int64_t{255} * 128 * spec.inputs;
  for (const void* const bias : spec.bias) {
    for (std::int32_t u = 0; u < spec.units; ++u) {
      const std::int64_t value = static_cast<const std::int32_t*>(bias)[u];
      if (value > largest || value < -largest) return false;
    }
  }
  return true;
}
#endif

}  // namespace

std::size_t SequenceLstmSpec::scratch_bytes() const noexcept {
  if (vectors != nullptr) return vectors->scratch_bytes(inputs, units);
  return 4 * static_cast<std::size_t>(units) *
         (dtype == DType::float32 ? sizeof(float) : sizeof(std::int16_t));
}

Status use_vectors([[maybe_unused]] Isa isa, [[maybe_unused]] Memory& memory,
                   [[maybe_unused]] SequenceLstmSpec& spec) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  const Rounding rounding = spec.hidden.rounding;
  bool usual = isa >= Isa::avx2 && spec.dtype == DType::int8 && spec.inputs <= kMaxPackedColumns &&
               spec.units <= kMaxPackedColumns && fits(spec.forget_cell) && fits(spec.input_cell) &&
               fits(spec.hidden);
  for (int g = 0; g < 4; ++g) usual = usual && fits(spec.x_scale[g]) && fits(spec.h_scale[g]);
  if (!usual || !biases_fit(spec)) return {};
  const RecurrentLevel& level = isa >= Isa::avx512 ? recurrent_avx512() : recurrent_avx2();
  auto* const vectors = memory.array<SequenceLstmVectors>(1);
  if (vectors == nullptr) return Status(Code::out_of_memory, "no memory for a recurrent layer's plan");
  RUNNEL_TRY(
      pack_rows({spec.x_weights, 4, spec.units, spec.inputs, spec.dtype}, level.lanes, memory, vectors->x));
  RUNNEL_TRY(
      pack_rows({spec.h_weights, 4, spec.units, spec.units, spec.dtype}, level.lanes, memory, vectors->h));
  vectors->sums = vectors->h.groups * level.lanes + kUnitsTogether;
  auto* const bias = memory.array<std::int32_t>(static_cast<std::size_t>(vectors->sums));
  if (bias == nullptr) return Status(Code::out_of_memory, "no memory for a recurrent layer's biases");
  for (std::int32_t g = 0; g < 4; ++g)
    std::memcpy(bias + g * spec.units, spec.bias[g],
                static_cast<std::size_t>(spec.units) * sizeof(std::int32_t));
  vectors->bias = bias;
  vectors->step = level.lstm_step[rounding == Rounding::tflite_double ? 2
                                  : rounding == Rounding::half_even   ? 1
                                                                      : 0];
  spec.vectors = vectors;
#endif
  return {};
}

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
