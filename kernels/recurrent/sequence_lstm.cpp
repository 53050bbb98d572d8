#include "kernels/recurrent/sequence_lstm.h"

#include <cstring>

#include "kernels/elementwise/functions.h"
#include "kernels/float32/float_kernels.h"
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
// Of batch entry `b`: elements of its first row, and rows to the next step.
struct Rows {
  std::int64_t first, step;
};
Rows rows_of(const SequenceLstmSpec& spec, std::int64_t b) noexcept {
  return spec.time_major ? Rows{b, spec.batches} : Rows{b * spec.steps, 1};
}

void run_vectors(const SequenceLstmSpec& spec, const std::int8_t* x, std::int8_t* h, std::int16_t* c,
                 std::int8_t* y, void* scratch) noexcept {
  for (std::int64_t b = 0; b < spec.batches; ++b) {
    const Rows rows = rows_of(spec, b);
    spec.vectors->steps(
        spec,
        {spec.steps, x + rows.first * spec.inputs, rows.step * spec.inputs, h + b * spec.units,
         c + b * spec.units, y + rows.first * spec.units, rows.step * spec.units},
        scratch);
  }
}

// The plain loops' sums, in their order: pair_product() rounds every product, too.
constexpr std::int64_t kFloatSteps = 16;  // of which what comes from x is computed together
void run_float_kernels(const SequenceLstmSpec& spec, const float* x, float* h, float* c, float* y,
                       float* scratch) noexcept {
  const std::int64_t units = spec.units, gates = 4 * units;
  float *const from_x = scratch, *const from_h = from_x + kFloatSteps * gates, *const tanh_c = from_h + gates;
  for (std::int64_t b = 0; b < spec.batches; ++b, h += units, c += units) {
    const Rows rows = rows_of(spec, b);
    for (std::int64_t first = 0; first < spec.steps; first += kFloatSteps) {
      const std::int64_t some = spec.steps - first < kFloatSteps ? spec.steps - first : kFloatSteps;
      const auto row = [&](std::int64_t t) { return rows.first + (first + t) * rows.step; };
      if (rows.step == 1)
        spec.kernels->pair_product(some, spec.inputs, gates, x + row(0) * spec.inputs, spec.x_columns, from_x,
                                   false);
      for (std::int64_t t = 0; t < some; ++t) {
        float* const gate = from_x + t * gates;
        if (rows.step != 1)
          spec.kernels->pair_product(1, spec.inputs, gates, x + row(t) * spec.inputs, spec.x_columns, gate,
                                     false);
        spec.kernels->pair_product(1, units, gates, h, spec.h_columns, from_h, false);
        for (int g = 0; g < 4; ++g) {
          const auto* bias = static_cast<const float*>(spec.bias[g]);
          for (std::int64_t u = 0; u < units; ++u)
            gate[g * units + u] = gate[g * units + u] + bias[u] + from_h[g * units + u];
        }
        const auto count = static_cast<std::size_t>(units);
        float *const input = gate, *const forget = input + units, *const cell = forget + units,
                     *const output = cell + units;
        apply({Function::sigmoid}, 2 * count, input, input);
        apply({Function::tanh}, count, cell, cell);
        apply({Function::sigmoid}, count, output, output);
        for (std::int64_t u = 0; u < units; ++u) {
          c[u] = forget[u] * c[u] + input[u] * cell[u];
          if (spec.float_clip > 0)
            c[u] = c[u] > spec.float_clip    ? spec.float_clip
                   : c[u] < -spec.float_clip ? -spec.float_clip
                                             : c[u];
        }
        apply({Function::tanh}, count, c, tanh_c);
        for (std::int64_t u = 0; u < units; ++u) h[u] = tanh_c[u] * output[u];
        std::memcpy(y + row(t) * units, h, count * sizeof(float));
      }
    }
  }
}

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

// [columns][4 * units] of four matrices [units][columns]; null: no memory.
const float* columns_of(const void* const* matrices, std::int32_t units, std::int32_t columns,
                        Memory& memory) noexcept {
  const std::size_t gates = 4 * static_cast<std::size_t>(units);
  auto* const to = memory.array<float>(gates * static_cast<std::size_t>(columns));
  if (to == nullptr) return nullptr;
  for (std::size_t g = 0; g < 4; ++g) {
    const auto* from = static_cast<const float*>(matrices[g]);
    for (std::size_t u = 0; u < static_cast<std::size_t>(units); ++u) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i)
        to[i * gates + g * static_cast<std::size_t>(units) + u] = *from++;
    }
  }
  return to;
}

// Scalings of the four gates as rows of `sums` entries; false: no memory.
bool fill_rows(const Scaling* gates, std::int32_t units, std::int32_t sums, Memory& memory,
               RowScales& scales) noexcept {
  const auto column = [&](auto of) -> const std::int32_t* {
    auto* const values = memory.array<std::int32_t>(static_cast<std::size_t>(sums));
    for (std::int32_t row = 0; values != nullptr && row < sums; ++row)
      values[row] = row < 4 * units ? of(gates[row / units]) : 0;
    return values;
  };
  const auto by = [](const Scaling& scaling) {
    return scaling.rounding == Rounding::tflite_double ? scaling.multiplier.shift : scaling.shift;
  };
  scales.right = column([&](const Scaling& scaling) { return by(scaling) > 0 ? by(scaling) : 0; });
  scales.multiplier = column([](const Scaling& scaling) { return scaling.multiplier.value; });
  bool complete = scales.right != nullptr && scales.multiplier != nullptr;
  if (by(gates[0]) < 0 || by(gates[1]) < 0 || by(gates[2]) < 0 || by(gates[3]) < 0) {
    scales.left = column([&](const Scaling& scaling) { return by(scaling) < 0 ? -by(scaling) : 0; });
    complete = complete && scales.left != nullptr;
  }
  return complete;
}
#endif

}  // namespace

std::size_t SequenceLstmSpec::scratch_bytes() const noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (vectors != nullptr) return vectors->scratch_bytes(inputs, units);
  if (kernels != nullptr)
    return static_cast<std::size_t>(4 * (kFloatSteps + 1) + 1) * static_cast<std::size_t>(units) *
           sizeof(float);
#endif
  return 4 * static_cast<std::size_t>(units) *
         (dtype == DType::float32 ? sizeof(float) : sizeof(std::int16_t));
}

Status use_vectors([[maybe_unused]] Isa isa, [[maybe_unused]] Memory& memory,
                   [[maybe_unused]] SequenceLstmSpec& spec) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2 && spec.dtype == DType::float32) {
    spec.x_columns = columns_of(spec.x_weights, spec.units, spec.inputs, memory);
    spec.h_columns = columns_of(spec.h_weights, spec.units, spec.units, memory);
    if (spec.x_columns == nullptr || spec.h_columns == nullptr)
      return Status(Code::out_of_memory, "no memory for a recurrent layer's weights");
    spec.kernels = &float_kernels(isa);
    return {};
  }
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
  if (!fill_rows(spec.x_scale, spec.units, vectors->sums, memory, vectors->x_scales) ||
      !fill_rows(spec.h_scale, spec.units, vectors->sums, memory, vectors->h_scales))
    return Status(Code::out_of_memory, "no memory for a recurrent layer's scales");
  vectors->steps = level.lstm_steps[rounding == Rounding::tflite_double ? 2
                                    : rounding == Rounding::half_even   ? 1
                                                                        : 0];
  spec.vectors = vectors;
#endif
  return {};
}

void sequence_lstm(const SequenceLstmSpec& spec, const void* x, void* h, void* c, void* y,
                   void* scratch) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (spec.vectors != nullptr)
    return run_vectors(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(h),
                       static_cast<std::int16_t*>(c), static_cast<std::int8_t*>(y), scratch);
  if (spec.kernels != nullptr)
    return run_float_kernels(spec, static_cast<const float*>(x), static_cast<float*>(h),
                             static_cast<float*>(c), static_cast<float*>(y), static_cast<float*>(scratch));
#endif
  if (spec.dtype == DType::float32) {
    run(spec, static_cast<const float*>(x), static_cast<float*>(h), static_cast<float*>(c),
        static_cast<float*>(y), static_cast<float*>(scratch));
  } else {
    run(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(h), static_cast<std::int16_t*>(c),
        static_cast<std::int8_t*>(y), static_cast<std::int16_t*>(scratch));
  }
}

}  // namespace runnel::kernels
