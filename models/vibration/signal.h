// Vibration of a small motor in five states: the signals of training/vibration/generator.py, from
// the same seeds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace runnel::vibration {

inline constexpr int kRate = 4000;
inline constexpr std::array<std::string_view, 5> kStates = {"stopped", "balanced", "imbalance",
                                                            "misalignment", "bearing"};

std::vector<std::int16_t> signal(std::size_t state, std::uint64_t seed, double seconds = 2.0);

}  // namespace runnel::vibration
