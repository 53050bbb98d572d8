// SVDF: rank-decomposed filters over features and time, in TensorFlow Lite Micro's arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/arithmetic/scaling.h"

namespace runnel::kernels {

struct SvdfSpec {
  DType dtype = DType::int8;   // of x and y: int8 or float32
  DType state = DType::int16;  // of the state and the weights over time: int8, int16 or float32
  std::int32_t batches = 1, inputs = 1, filters = 1, rank = 1, memory = 1;
  const void* feature_weights = nullptr;  // [filters][inputs]
  const void* time_weights = nullptr;     // [filters][memory]
  const void* bias = nullptr;             // int32 or float32 [filters / rank]; or null
  // Integers only.
  std::int32_t x_zero = 0, state_zero = 0, y_zero = 0;
  Scaling features, time;
  std::int32_t low = -128, high = 127;
  float low_value = 0, high_value = 0;  // float32: of y
};

// `state`: [batches][filters][memory], oldest first; a call drops the oldest and appends the newest.
void svdf(const SvdfSpec& spec, const void* x, void* state, void* y) noexcept;

}  // namespace runnel::kernels
