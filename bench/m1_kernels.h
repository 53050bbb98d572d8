// The kernels of one streamed step of M1, called back to back on buffers that stay: what a step cannot be faster than.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host/heap_memory.h"
#include "bench/networks.h"
#include "kernels/conv.h"
#include "kernels/elementwise.h"

namespace runnel::bench {

// One layer on its own data.
class OneKernel {
 public:
  // `x` and `y`: null: of its own.
  OneKernel(const ConvLayer& layer, Isa isa, const std::int8_t* x = nullptr, std::int8_t* y = nullptr);
  OneKernel(OneKernel&&) = default;

  [[nodiscard]] bool ok() const { return ok_; }
  void run() const { conv_.run(conv_, x_, y_, scratch_); }
  // Input and output; the input has the layer's whole window.
  [[nodiscard]] std::int8_t* y() const { return y_; }

 private:
  HeapMemory memory_;
  kernels::Conv conv_;
  std::vector<std::int32_t> shift_;
  const std::int8_t* x_ = nullptr;
  std::int8_t* y_ = nullptr;
  void* scratch_ = nullptr;
  bool ok_ = false;
};

class M1Kernels {
 public:
  M1Kernels(const M1& network, Isa isa);
  [[nodiscard]] bool ok() const;
  void run() const;

 private:
  struct Block {
    OneKernel depthwise, pointwise;
    std::vector<std::int8_t> sum;
  };
  OneKernel stem_;
  std::vector<Block> blocks_;
  std::vector<OneKernel> head_;
  const kernels::Elementwise& elementwise_;
  kernels::BinarySpec add_;
};

}  // namespace runnel::bench
