// The networks as XNNPACK's operators, called in sequence: created and set up once, then run as often as
// asked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/networks.h"

namespace runnel::bench {

// float32: the same values as the integers stand for. qs8: signed 8 bits; XNNPACK rounds ties to even.
enum class XnnpackType { qs8, f32 };

class XnnpackNetwork {
 public:
  virtual ~XnnpackNetwork() = default;
  // Takes one block of features as integers and brings the output as integers (float: not rounded to integers
  // inside, but here).
  virtual void put(const std::int8_t* x) = 0;
  // False when an operator failed.
  virtual bool run() = 0;
  [[nodiscard]] virtual std::vector<std::int8_t> output() const = 0;
};

// M1 with `frames` per call. Streamed: every convolution over time reads [context + frames][channels], whose
// context moves up after each call. Whole: padding is left to XNNPACK. Null when XNNPACK refuses an operator.
std::unique_ptr<XnnpackNetwork> xnnpack_m1(const M1& network, XnnpackType type, int frames, bool streamed);
std::unique_ptr<XnnpackNetwork> xnnpack_m2(const M2& network, XnnpackType type);

}  // namespace runnel::bench
