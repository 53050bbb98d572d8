#include "kernels/recurrent/svdf.h"

#include <cstring>
#include <type_traits>

namespace runnel::kernels {
namespace {

template <class T, class State, class Bias>
void run(const SvdfSpec& spec, const T* x, State* state, T* y) noexcept {
  using Sum = std::conditional_t<std::is_same_v<T, float>, float, std::int64_t>;
  const auto* bias = static_cast<const Bias*>(spec.bias);
  const std::int32_t units = spec.filters / spec.rank;
  for (std::int32_t b = 0; b < spec.batches; ++b, x += spec.inputs, y += units) {
    const auto* feature = static_cast<const T*>(spec.feature_weights);
    const auto* time = static_cast<const State*>(spec.time_weights);
    for (std::int32_t unit = 0; unit < units; ++unit) {
      Sum sum = bias == nullptr ? 0 : bias[unit];
      for (std::int32_t r = 0; r < spec.rank; ++r, state += spec.memory) {
        std::memmove(state, state + 1, static_cast<std::size_t>(spec.memory - 1) * sizeof(State));
        Sum dot = 0, filtered = 0;
        if constexpr (std::is_same_v<T, float>) {
          for (std::int32_t i = 0; i < spec.inputs; ++i) dot += *feature++ * x[i];
          state[spec.memory - 1] = dot;
          for (std::int32_t j = 0; j < spec.memory; ++j) filtered += *time++ * state[j];
        } else {
          for (std::int32_t i = 0; i < spec.inputs; ++i)
            dot += std::int32_t{*feature++} * (x[i] - spec.x_zero);
          state[spec.memory - 1] = static_cast<State>(spec.state_zero + saturate<State>(spec.features(dot)));
          for (std::int32_t j = 0; j < spec.memory; ++j)
            filtered += Sum{*time++} * (state[j] - spec.state_zero);
        }
        sum += filtered;
      }
      if constexpr (std::is_same_v<T, float>) {
        y[unit] = sum < spec.low_value ? spec.low_value : sum > spec.high_value ? spec.high_value : sum;
      } else {
        const std::int64_t value = spec.time(sum) + spec.y_zero;
        y[unit] = static_cast<T>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
      }
    }
  }
}

}  // namespace

void svdf(const SvdfSpec& spec, const void* x, void* state, void* y) noexcept {
  if (spec.dtype == DType::float32) {
    run<float, float, float>(spec, static_cast<const float*>(x), static_cast<float*>(state),
                             static_cast<float*>(y));
  } else if (spec.state == DType::int16) {
    run<std::int8_t, std::int16_t, std::int32_t>(spec, static_cast<const std::int8_t*>(x),
                                                 static_cast<std::int16_t*>(state),
                                                 static_cast<std::int8_t*>(y));
  } else {
    run<std::int8_t, std::int8_t, std::int32_t>(spec, static_cast<const std::int8_t*>(x),
                                                static_cast<std::int8_t*>(state),
                                                static_cast<std::int8_t*>(y));
  }
}

}  // namespace runnel::kernels
