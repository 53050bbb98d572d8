// Input for measurements: data of both signs, so that no kernel meets only its easy half.
#pragma once

#include <cstddef>
#include <random>
#include <span>

#include "base/dtype.h"

namespace runnel {

// Fills a tensor's bytes: float32 evenly from -1 to 1 (numbers next to zero are slow), int8 and int16 with
// any bits, every other type with zeros, which are valid indices and truths.
void fill_noise(std::span<std::byte> bytes, DType type, std::mt19937& random);

}  // namespace runnel
