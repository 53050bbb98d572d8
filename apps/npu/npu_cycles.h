// Estimated cycles of the parts of a model that an Ethos-U computes, as profile and bench print them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "npu/host/cycles/model_estimate.h"

namespace runnel::apps {

nlohmann::ordered_json cycles_json(const std::vector<npu::SegmentEstimate>& estimates);
// One line each.
void print_cycles(const std::vector<npu::SegmentEstimate>& estimates);

}  // namespace runnel::apps
