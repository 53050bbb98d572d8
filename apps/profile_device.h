// runnel profile --from-device: the figures of a board beside those of this machine.
#pragma once

#include <string>
#include <vector>

#include "inference/host/profile.h"
#include "npu/host/cycles/model_estimate.h"
#include "services/device/read_report.h"

namespace runnel::apps {

// On stdout, as a table or one JSON object. `npu`: estimates for the parts of the model that an NPU computes.
// `sort`: what takes the device longest first.
void print_beside(const device::Received& received, const Profile& profile, const std::string& name,
                  const std::vector<npu::SegmentEstimate>& npu, bool sort, bool json);

}  // namespace runnel::apps
