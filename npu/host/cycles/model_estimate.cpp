#include "npu/host/cycles/model_estimate.h"

#include <string>

#include "inference/delegate.h"
#include "npu/host/segment.h"

namespace runnel::npu {

Result<std::vector<SegmentEstimate>> estimate_segments(const Model& model, bool stepped) {
  std::vector<SegmentEstimate> out;
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (code_of(op) != runnel::OpCode::delegate || DelegateSegment(model, op).kind() != "ethos-u") continue;
    const auto place = [&] { return "operator " + std::to_string(i); };
    SegmentEstimate one;
    one.model_operator = i;
    one.block = stepped && is_stepped(model, op);
    Segment segment;
    if (one.block) {
      auto read = read_stepped_segment(model, op);
      if (!read.ok()) return read.status().at(place());
      segment = std::move(read->segment);
    } else {
      auto read = read_segment(model, op);
      if (!read.ok()) return read.status().at(place());
      segment = *std::move(read);
    }
    one.accelerator = segment.accelerator;
    const CustomAttributes attributes = DelegateSegment(model, op).attributes();
    const auto system = find_system(attributes.text("system_config"));
    const auto mode = find_memory_mode(attributes.text("memory_mode"));
    one.system = system.ok() ? *system : &default_system(segment.accelerator->product);
    one.mode = mode.ok() ? *mode : &default_memory_mode(segment.accelerator->product);
    const auto operations = operations_of(segment);
    if (!operations.ok()) return operations.status().at(place());
    auto estimate = estimate_stream(*operations, *one.accelerator, *one.system, *one.mode, segment.constants);
    if (!estimate.ok()) return estimate.status().at(place());
    one.estimate = *std::move(estimate);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace runnel::npu
