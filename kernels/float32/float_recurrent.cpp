#include "kernels/float32/float_recurrent.h"

#include <algorithm>

namespace runnel::kernels {

void FloatRecurrent::run(std::int64_t frames, const float* x, std::ptrdiff_t x_step, float* h, float* c,
                         float* y, std::ptrdiff_t y_step, void* scratch) const noexcept {
  const std::int64_t gates = from_input.columns;
  auto* const state_gates = static_cast<float*>(scratch);
  float* const input_gates = state_gates + gates;
  while (frames > 0) {
    const std::int64_t count = std::min(frames, kTogether);
    kernels->product(from_input, count, x, x_step, input_gates, gates, {});
    for (std::int64_t frame = 0; frame < count; ++frame) {
      kernels->product(from_state, 1, h, 0, state_gates, 0, {});
      if (lstm)
        kernels->lstm_gates(static_cast<std::size_t>(hidden), input_gates + frame * gates, state_gates, h, c);
      else
        kernels->gru_gates(static_cast<std::size_t>(hidden), input_gates + frame * gates, state_gates, h);
      if (y == nullptr) continue;
      std::copy_n(h, hidden, y);
      y += y_step;
    }
    x += count * x_step;
    frames -= count;
  }
}

Status prepare_float_recurrent(const FloatRecurrentSpec& spec, Isa isa, Memory& memory,
                               FloatRecurrent& recurrent) noexcept {
  const std::int32_t gates = (spec.lstm ? 4 : 3) * spec.hidden;
  recurrent.lstm = spec.lstm;
  recurrent.hidden = spec.hidden;
  recurrent.kernels = &float_kernels(isa);
  RUNNEL_TRY(pack_float_matrix({spec.input_weights, spec.inputs, 1, spec.input_bias}, spec.inputs, gates, isa,
                               memory, recurrent.from_input));
  return pack_float_matrix({spec.hidden_weights, spec.hidden, 1, spec.hidden_bias}, spec.hidden, gates, isa,
                           memory, recurrent.from_state);
}

}  // namespace runnel::kernels
