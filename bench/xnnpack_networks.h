// The networks as XNNPACK operators in sequence: created and set up once, then run repeatedly.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/networks.h"

namespace runnel::bench {

// f32: the real values of the integers. qs8: signed 8 bits; XNNPACK rounds ties to even.
enum class XnnpackType { qs8, f32 };

class XnnpackNetwork {
 public:
  virtual ~XnnpackNetwork() = default;
  // Takes a block of features and returns the output as integers (float: rounded only at the end).
  virtual void put(const std::int8_t* x) = 0;
  // False when an operator failed.
  virtual bool run() = 0;
  [[nodiscard]] virtual std::vector<std::int8_t> output() const = 0;
};

// M1 with `frames` per call. Streamed: every convolution over time reads [context + frames][channels], and
// the context moves up after each call. Whole: XNNPACK pads. Null when XNNPACK refuses an operator.
std::unique_ptr<XnnpackNetwork> xnnpack_m1(const M1& network, XnnpackType type, int frames, bool streamed);
std::unique_ptr<XnnpackNetwork> xnnpack_m2(const M2& network, XnnpackType type);

}  // namespace runnel::bench
