// Layers: which tensor of a model an operation of its compiled form computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npu/operation.h"

namespace runnel::npu {

// A tensor that the CPU computed, with channels innermost.
struct LayerTensor {
  std::string name;
  std::vector<std::int32_t> values;
  std::size_t channels = 1;
};

// The tensor, or the part of its channels, whose values are nearest to those of an operation.
struct Layer {
  int tensor = -1;  // of the list; -1: none has as many positions and enough channels
  std::size_t first_channel = 0, differing = 0;
  std::int64_t largest = 0;  // difference
};

// `output`: as an observer gets it (simulator.h). Of equally near tensors the first one.
Layer nearest_layer(const Operation& op, std::span<const std::int32_t> output,
                    std::span<const LayerTensor> tensors);

}  // namespace runnel::npu
