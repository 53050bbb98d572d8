// LSTM over a sequence in TensorFlow Lite Micro's arithmetic; h and c remain for the next call. Gates: input,
// forget, cell, output.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "kernels/arithmetic/scaling.h"

namespace runnel::kernels {

struct SequenceLstmVectors;
struct FloatKernels;

struct SequenceLstmSpec {
  DType dtype = DType::int8;  // of x, h and y: int8 (c is int16) or float32
  std::int32_t batches = 1, steps = 1, inputs = 1, units = 1;
  bool time_major = false;        // [step][batch] instead of [batch][step]
  const void* x_weights[4] = {};  // [units][inputs]
  const void* h_weights[4] = {};  // [units][units]
  const void* bias[4] = {};       // int32 or float32 [units]
  // int8 only.
  std::int32_t x_zero = 0, h_zero = 0;
  Scaling x_scale[4], h_scale[4];  // sums to Q3.12
  Scaling forget_cell, input_cell, hidden;
  int cell_exponent = -12;                       // c's scale is 2^cell_exponent
  std::int16_t clip = 0;                         // of c; 0: none
  float float_clip = 0;                          // of c; 0: none
  const SequenceLstmVectors* vectors = nullptr;  // int8; null: plain loops
  // float32; null: plain loops. Weights as [inputs][4 * units] and [units][4 * units].
  const FloatKernels* kernels = nullptr;
  const float *x_columns = nullptr, *h_columns = nullptr;

  // Bytes of scratch memory, 4-byte aligned.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
};

// Sets `vectors` or `kernels` of a spec that is complete otherwise, or leaves them null where `isa` has none,
// and for scalings or biases out of the ordinary. Results are the same.
Status use_vectors(Isa isa, Memory& memory, SequenceLstmSpec& spec) noexcept;

// `h` and `c`: [batches][units], read and written.
void sequence_lstm(const SequenceLstmSpec& spec, const void* x, void* h, void* c, void* y,
                   void* scratch) noexcept;

}  // namespace runnel::kernels
