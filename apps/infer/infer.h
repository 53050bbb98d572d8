// Runs a model on tensors in files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/support.h"
#include "inference/operator.h"
#include "npu/host/simulator/simulated_npu.h"

namespace runnel::apps {

struct InferCall {
  std::string model, output;
  ModelFlags flags;
  std::vector<std::string> inputs, states, dump;
  std::int64_t chunk = 0;
  bool sequence = false, dequantize = false;
  int threads = 1;
  OperatorTable operators = npu::simulating_operators();
};

// Loads, runs, writes. `loaded`, if set, is called before the model is prepared and may change the call, for
// example its operators.
Status run_infer(const InferCall& call, const std::function<Status(InferCall&, const Model&)>& loaded = {});

}  // namespace runnel::apps
