// Vibration of a small motor in five states: the same signals as training/vibration/generator.py makes, from the same seeds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace runnel::test {

inline constexpr int kVibrationRate = 4000;
inline constexpr std::array<std::string_view, 5> kVibrationStates = {"stopped", "balanced", "imbalance", "misalignment", "bearing"};

std::vector<std::int16_t> vibration_signal(std::size_t state, std::uint64_t seed, double seconds = 2.0);

}  // namespace runnel::test
