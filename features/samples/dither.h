// Gaussian noise that depends on (seed, frame, position) only, so that any partition of a stream gets the
// same noise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace runnel::features {

// to[i] = from[i] + deviation * g(seed, frame, i), g standard normal by the Box-Muller transform of hashed
// counters.
void add_noise(const float* from, std::size_t count, float deviation, std::int32_t seed, std::int64_t frame,
               float* to) noexcept;

}  // namespace runnel::features
