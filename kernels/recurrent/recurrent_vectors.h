// What the recurrent kernels in vectors prepare and share: data and declarations only, because files compiled
// for newer instructions include this header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/recurrent/packed_rows.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/sequence_lstm.h"

namespace runnel::kernels {

// Loops over units take whole vectors: they read sums and write results past the last unit.
inline constexpr std::int32_t kUnitsTogether = 16;
constexpr std::int32_t whole_vectors(std::int32_t units) noexcept {
  return (units + kUnitsTogether - 1) / kUnitsTogether * kUnitsTogether;
}
// Bytes of scratch memory for so many int32, and a vector of inputs or units as pairs of int16.
constexpr std::size_t scratch_for(std::int32_t numbers, std::int32_t inputs, std::int32_t units) noexcept {
  return static_cast<std::size_t>(numbers) * sizeof(std::int32_t) +
         (static_cast<std::size_t>(inputs > units ? inputs : units) + 2) * sizeof(std::int16_t);
}

struct RecurrentVectors {
  PackedRows input, hidden;
  const std::int32_t *input_bias = nullptr, *hidden_bias = nullptr;  // zeros up to whole vectors
  std::int32_t sums = 0;                                             // entries of a column of sums
  void (*step)(const RecurrentSpec& spec, const void* x, void* h, void* c, void* scratch) noexcept = nullptr;

  // Two columns of sums, one of their halves or floats, and the state.
  [[nodiscard]] std::size_t scratch_bytes(std::int32_t inputs, std::int32_t units) const noexcept {
    return scratch_for(3 * sums + whole_vectors(units), inputs, units);
  }
};

// Scaling by row, zeros up to whole vectors; `left`: shifts before the multiplication, null where there are
// none; `multiplier`: tflite_double only.
struct RowScales {
  const std::int32_t *multiplier = nullptr, *right = nullptr, *left = nullptr;
};
// What some steps of one batch entry read and write.
struct LstmSequence {
  std::int64_t steps = 0;
  const std::int8_t* x = nullptr;
  std::int64_t x_step = 0;
  std::int8_t* h = nullptr;
  std::int16_t* c = nullptr;
  std::int8_t* y = nullptr;
  std::int64_t y_step = 0;
};
inline constexpr std::int32_t kLstmSteps = 16;  // of which what comes from x is computed together

struct SequenceLstmVectors {
  PackedRows x, h;                     // rows of all gates
  const std::int32_t* bias = nullptr;  // [4 * units], then zeros up to whole vectors
  RowScales x_scales, h_scales;
  std::int32_t sums = 0;
  void (*steps)(const SequenceLstmSpec& spec, const LstmSequence& io, void* scratch) noexcept = nullptr;

  // Columns of sums from x, of sums from h and of gates, the cell, x and h as int16, and the output.
  [[nodiscard]] std::size_t scratch_bytes(std::int32_t inputs, std::int32_t units) const noexcept {
    const auto count = static_cast<std::size_t>(whole_vectors(units));
    return (static_cast<std::size_t>((kLstmSteps + 2) * sums) + count) * sizeof(std::int32_t) +
           (count + static_cast<std::size_t>(inputs) + 4) * sizeof(std::int16_t) + count;
  }
};

// One instruction level.
struct RecurrentLevel {
  std::int32_t lanes;                           // of PackedRows
  decltype(RecurrentVectors::step) step[2][2];  // int8 or int16; half_even or half_up
  decltype(SequenceLstmVectors::steps)
      lstm_steps[3];  // by the scalings' rounding: half_up, half_even, tflite_double
};
const RecurrentLevel& recurrent_avx2() noexcept;
const RecurrentLevel& recurrent_avx512() noexcept;

}  // namespace runnel::kernels
