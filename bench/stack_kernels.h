// The kernels of one streamed step of a network, called back to back on fixed buffers: a lower bound of
// the step's time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::bench {

class StackKernels {
 public:
  // The one-dimensional int8 convolutions of `model`, one frame each, and its changes of scale; a sum right
  // after a convolution is fused with it, as in the executor. Other operators are left out, so the time is
  // never above that of all kernels. `model` must outlive this.
  static Result<std::unique_ptr<StackKernels>> make(const Model& model, Isa isa);
  void run() const;

 private:
  struct Layer {
    kernels::Conv conv;
    std::vector<std::int32_t> shift;
    const std::int8_t *x = nullptr, *addend = nullptr;
    std::int8_t* y = nullptr;
    void* scratch = nullptr;
    // A change of scale instead of a convolution.
    const kernels::Elementwise* elementwise = nullptr;
    std::size_t count = 0;
    kernels::Rounding rounding = kernels::Rounding::half_up;
  };
  Status add_requantization(const Model& model, int op, Isa isa);
  Status add(const Model& model, int op, Isa isa);
  // The frame of a tensor computed by a layer, else `bytes` of synthetic values.
  std::int8_t* values(int tensor, std::size_t bytes);

  HeapMemory memory_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<std::int8_t*> made_;  // by tensor
};

}  // namespace runnel::bench
