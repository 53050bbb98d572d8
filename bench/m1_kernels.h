// The kernels of one streamed step of M1, called back to back on buffers that stay: what a step cannot be faster than.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host/heap_memory.h"
#include "bench/networks.h"
#include "kernels/conv.h"

namespace runnel::bench {

// One layer on its own data.
class OneKernel {
 public:
  // `x`: null: of its own. `addend`: a sum with ReLU behind the layer; null: none.
  OneKernel(const ConvLayer& layer, Isa isa, const std::int8_t* x = nullptr, const std::int8_t* addend = nullptr);
  OneKernel(OneKernel&&) = default;

  [[nodiscard]] bool ok() const { return ok_; }
  void run() const {
    if (addend_ == nullptr) conv_.run(conv_, x_, y_, scratch_);
    else conv_.run_add(conv_, x_, addend_, y_, scratch_);
  }
  [[nodiscard]] std::int8_t* y() const { return y_; }

 private:
  HeapMemory memory_;
  kernels::Conv conv_;
  std::vector<std::int32_t> shift_;
  const std::int8_t *x_ = nullptr, *addend_ = nullptr;
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
    OneKernel depthwise, pointwise;   // the second with the sum
  };
  OneKernel stem_;
  std::vector<Block> blocks_;
  std::vector<OneKernel> head_;
};

}  // namespace runnel::bench
