// A sound for tests of embedded decoders.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace runnel::test {

// Tones of changing pitch with pauses, of which the digits model makes something.
inline std::vector<std::int16_t> tones_with_pauses() {
  std::vector<std::int16_t> samples;
  std::mt19937 random(1);
  for (int burst = 0; burst < 24; ++burst) {
    const int step = 200 + static_cast<int>(random() % 3000);
    std::uint32_t phase = 0;
    for (int i = 0; i < 4800; ++i, phase += static_cast<std::uint32_t>(step + i / 4))
      samples.push_back(i < 4000 ? static_cast<std::int16_t>(((phase >> 3) & 0x1FFF) - 0x1000)
                                 : std::int16_t{0});
    if (burst % 4 == 3) samples.insert(samples.end(), 9600, std::int16_t{0});
  }
  return samples;
}

}  // namespace runnel::test
