// One frame of a GRU or an LSTM on integers in ESP-DL's arithmetic (float32: float_recurrent.h).
//
// The products of a matrix with the frame and with the state become int16 at the gate exponent; gates and
// later values are float32; the state is rounded. Sigmoid and tanh use tables over |value| that end at 6.3
// and 3.5, mirrored for negative values. Sums of gates and the cell saturate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

// Entries 0 .. last for |value| at the gate exponent.
struct GateTable {
  const float* entries = nullptr;
  std::int32_t last = 0;
};
enum class GateFunction : std::uint8_t { sigmoid, tanh };

// The last entry's index of a table for gates at 2^exponent, -13 <= exponent <= -1.
std::int32_t gate_table_last(GateFunction function, int exponent) noexcept;
// Writes gate_table_last() + 1 entries.
void fill_gate_table(GateFunction function, int exponent, float* entries) noexcept;

struct RecurrentVectors;

// Weights in ONNX's order: gates GRU z r n, LSTM i o f c, [hidden] rows each. GRU resets after the product
// (linear_before_reset). Pointers must stay valid.
struct RecurrentSpec {
  bool lstm = false;
  DType dtype = DType::int8;  // of x, weights and h: int8 or int16
  std::int32_t inputs = 0, hidden = 0;
  const void* input_weights = nullptr;   // [gates][hidden][inputs]
  const void* hidden_weights = nullptr;  // [gates][hidden][hidden]
  const void* input_bias = nullptr;      // [gates][hidden], int16 at the gate exponent; or null
  const void* hidden_bias = nullptr;
  // Exponents of input times input weights, state times hidden weights, gates (and the cell), state.
  int input_exponent = 0, hidden_exponent = 0, gate_exponent = 0, state_exponent = 0;
  Rounding rounding = Rounding::half_up;
  GateTable sigmoid, tanh;
  const RecurrentVectors* vectors = nullptr;  // null: plain loops

  [[nodiscard]] std::int32_t rows() const noexcept { return (lstm ? 4 : 3) * hidden; }
  // Bytes of scratch memory for a step, 4-byte aligned.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
};

// Sets `vectors` of a spec that is complete otherwise, or leaves it null where `isa` has none or the
// exponents are out of the ordinary. Results are the same.
Status use_vectors(Isa isa, Memory& memory, RecurrentSpec& spec) noexcept;

// x: [inputs]; h: [hidden] of `dtype`, updated; c: [hidden] int16, updated, LSTM only.
void recurrent_step(const RecurrentSpec& spec, const void* x, void* h, void* c, void* scratch) noexcept;

}  // namespace runnel::kernels
