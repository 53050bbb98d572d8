// What is made of the weights and scales of a convolution, for as long as these stay the same in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "npu/host/simulator/kernel_convolution.h"

namespace runnel::npu {

inline constexpr std::size_t kStreams = 4;  // of weights, at most

// The weights of an operation, [out][ky][kx][in], and the bytes of their streams.
struct DecodedWeights {
  using Streams = std::array<std::span<const std::byte>, kStreams>;
  std::array<std::vector<std::byte>, kStreams> encoded;
  std::vector<std::int16_t> values;

  [[nodiscard]] bool made_of(const Streams& streams) const {
    return !values.empty() &&
           std::equal(streams.begin(), streams.end(), encoded.begin(),
                      [](const auto& a, const auto& b) { return std::ranges::equal(a, b); });
  }
  // decode() returns the weights, or why there are none.
  template <class Decode>
  Result<const std::vector<std::int16_t>*> decode(const Streams& streams, const Decode& decode) {
    values.clear();
    RUNNEL_ASSIGN(values, decode());
    for (std::size_t i = 0; i < kStreams; ++i) encoded[i].assign(streams[i].begin(), streams[i].end());
    return &values;
  }
};

// A convolution on kernels, or null for plain loops, made of decoded weights and these scales.
struct OnKernel {
  bool made = false;
  std::vector<ScaleRecord> of;
  std::unique_ptr<KernelConvolution> convolution;
};

}  // namespace runnel::npu
