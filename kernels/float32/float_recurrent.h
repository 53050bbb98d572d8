// GRU and LSTM in float32 over consecutive frames.
//
// One matrix product covers all frames (float_matrix.h: a frame's result does not depend on how many there
// are); the product with the state and the gates follow frame by frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/float32/float_kernels.h"

namespace runnel::kernels {

struct FloatRecurrentSpec {
  bool lstm = false;
  std::int32_t inputs = 0, hidden = 0;
  // Gates in order (GRU z r n, LSTM i o f c), [hidden] rows each. GRU resets after
  // the product (linear_before_reset).
  const float* input_weights = nullptr;                       // [gates][hidden][inputs]
  const float* hidden_weights = nullptr;                      // [gates][hidden][hidden]
  const float *input_bias = nullptr, *hidden_bias = nullptr;  // [gates][hidden] or null
};

struct FloatRecurrent {
  bool lstm = false;
  std::int32_t hidden = 0;
  FloatMatrix from_input, from_state;
  const FloatKernels* kernels = nullptr;

  static constexpr std::int64_t kTogether = 16;  // frames per matrix product
  // Bytes of scratch memory for up to `frames` frames, 4-byte aligned.
  [[nodiscard]] std::size_t scratch_bytes(std::int64_t frames) const noexcept {
    return static_cast<std::size_t>((frames < kTogether ? frames : kTogether) + 1) *
           static_cast<std::size_t>(from_input.columns) * sizeof(float);
  }
  // Frames at x, x + x_step, ..; h and c (LSTM): [hidden], updated; every frame's h goes to y, y + y_step, ..
  // unless y is null. Steps are elements and may be negative.
  void run(std::int64_t frames, const float* x, std::ptrdiff_t x_step, float* h, float* c, float* y,
           std::ptrdiff_t y_step, void* scratch) const noexcept;
};

// Errors: as pack_float_matrix().
Status prepare_float_recurrent(const FloatRecurrentSpec& spec, Isa isa, Memory& memory,
                               FloatRecurrent& recurrent) noexcept;

}  // namespace runnel::kernels
