#include "apps/npu/npu_cycles.h"

#include <fmt/format.h>

namespace runnel::apps {

nlohmann::ordered_json cycles_json(const std::vector<npu::SegmentEstimate>& estimates) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const npu::SegmentEstimate& one : estimates) {
    out.push_back({{"operator", one.model_operator},
                   {"block", one.block},
                   {"accelerator", one.accelerator->name},
                   {"system", one.system->name},
                   {"memory_mode", one.mode->name},
                   {"npu_cycles", one.estimate.npu},
                   {"cycles", one.estimate.total},
                   {"seconds", one.estimate.seconds}});
  }
  return out;
}

void print_cycles(const std::vector<npu::SegmentEstimate>& estimates) {
  for (const npu::SegmentEstimate& one : estimates) {
    fmt::print("operator {}{} on {}: {:.0f} cycles, {:.1f} us at {:.0f} MHz, estimated ({}, {})\n",
               one.model_operator, one.block ? ", block" : "", one.accelerator->name, one.estimate.total,
               one.estimate.seconds * 1e6, one.system->clock / 1e6, one.system->name, one.mode->name);
  }
}

}  // namespace runnel::apps
