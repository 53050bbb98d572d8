// Estimates of the parts of a model that an Ethos-U computes.
#pragma once

#include <vector>

#include "inference/model/model.h"
#include "npu/host/cycles/estimate.h"

namespace runnel::npu {

struct SegmentEstimate {
  int model_operator = 0;
  bool block = false;  // of the program that steps a stream
  const Accelerator* accelerator = nullptr;
  // The memories that the model was compiled for, as far as it names known ones; else what compilers assume.
  const SystemConfiguration* system = nullptr;
  const MemoryMode* mode = nullptr;
  Estimate estimate;
};

// One for each segment; `stepped`: of the program for blocks where there is one. Errors: as read_segment and
// estimate_stream.
Result<std::vector<SegmentEstimate>> estimate_segments(const Model& model, bool stepped);

}  // namespace runnel::npu
