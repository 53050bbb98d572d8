// The measured networks, from a fixed seed: as plain layers for every engine, and as a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::bench {

// int8 with power-of-two scales: y = relu(round_half_up((bias + sum(w * x)) * 2^-shift)), saturated to int8.
struct ConvLayer {
  int in = 64, out = 64, groups = 1;
  int kernel_height = 1, kernel_width = 1, stride = 1, dilation = 1;  // dilation: along the width
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool relu = true;
  int shift = 9;
  std::vector<std::int8_t> weights;  // [out][kernel height][kernel width][in / groups]
  std::vector<std::int32_t> bias;

  [[nodiscard]] bool depthwise() const { return groups > 1; }
  // Multiply-adds per output position.
  [[nodiscard]] std::int64_t macs() const {
    return std::int64_t{out} * kernel_height * kernel_width * in / groups;
  }
};

// All activations have this exponent.
inline constexpr int kExponent = -4;

// M1, a streaming keyword network. x [T, 40]; stem: 40 -> 64, kernel 5, causal, ReLU. Six residual blocks
// with dilations 1, 1, 2, 2, 4, 4: depthwise of 9 taps, causal, ReLU; pointwise 64 -> 64; sum with the
// block's input; ReLU. Head: pointwise 64 -> 64, ReLU, which is the output [T, 64]: pooling over time belongs
// to the decision.
struct M1 {
  static constexpr int kFeatures = 40, kChannels = 64;
  struct Block {
    ConvLayer depthwise, pointwise;
  };
  ConvLayer stem, head;
  std::vector<Block> blocks;

  M1();
  [[nodiscard]] std::int64_t macs_per_frame() const;
  // [1, frames, 40] -> [1, frames, 64].
  [[nodiscard]] compiler::Graph graph(int frames) const;
};

// M2, the depthwise-separable keyword network of MLPerf Tiny. x [49, 10, 1]; 1 -> 64, 10 x 4, stride 2, ReLU;
// four times depthwise 3 x 3 and pointwise 64 -> 64 with ReLU; mean over both axes; dense 64 -> 12.
struct M2 {
  static constexpr int kHeight = 49, kWidth = 10, kOutHeight = 25, kOutWidth = 5, kChannels = 64,
                       kClasses = 12;
  ConvLayer stem, dense;
  struct Block {
    ConvLayer depthwise, pointwise;
  };
  std::vector<Block> blocks;

  M2();
  [[nodiscard]] std::int64_t macs() const;
  // [1, 49, 10, 1] -> [1, 1, 1, 12].
  [[nodiscard]] compiler::Graph graph() const;
};

// One pointwise layer 64 -> 64, to measure the cost of a call. [1, frames, 64] -> the same.
compiler::Graph one_layer(const ConvLayer& layer, int frames);

// Deterministic features: integers in [-64, 63].
std::vector<std::int8_t> features(std::size_t count);

}  // namespace runnel::bench
