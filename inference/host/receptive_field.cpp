#include "inference/host/receptive_field.h"

#include <algorithm>

namespace runnel {

std::vector<ReceptiveField> receptive_fields(const Prepared& prepared) {
  const Model& model = prepared.model();
  std::vector<ReceptiveField> fields(static_cast<std::size_t>(model.tensor_count()));
  for (int op = 0; op < model.operator_count(); ++op) {
    const fb::Operator& node = model.op(op);
    const streaming::NodeRule& rule = prepared.stream_step(op).rule;
    if (rule.kind == streaming::Kind::constant) continue;
    ReceptiveField in;
    bool any = false;
    for (const std::int32_t tensor : *node.inputs()) {
      if (tensor < 0 || prepared.placement(tensor).time_axis < 0) continue;
      const ReceptiveField& x = fields[static_cast<std::size_t>(tensor)];
      if (!any) in = x;
      in.first = std::min(in.first, x.first);
      in.last = std::max(in.last, x.last);
      in.unbounded = in.unbounded || x.unbounded;
      any = true;
    }
    ReceptiveField out = in;
    if (rule.kind == streaming::Kind::window) {
      out.first = in.first - in.stride * static_cast<double>(rule.left);
      out.last = in.last + in.stride * static_cast<double>(rule.extent() - 1 - rule.left);
      out.stride = in.stride * static_cast<double>(rule.stride);
    } else if (rule.kind == streaming::Kind::upsample) {
      // Over all phases: the oldest and the newest input that any of them reads.
      out.stride = in.stride / static_cast<double>(rule.stride);
      out.first = in.first - out.stride * static_cast<double>(rule.extent() - 1 - rule.left);
      out.last = in.last + out.stride * static_cast<double>(rule.left);
    } else if (rule.kind == streaming::Kind::attention) {
      // Over all places in a chunk: the first query of one waits for its end, the last reaches back from its
      // start.
      out.first = in.first - in.stride * static_cast<double>(rule.left + rule.chunk - 1);
      out.last = in.last + in.stride * static_cast<double>(rule.right + rule.chunk - 1);
    } else if (rule.kind == streaming::Kind::recurrent) {
      out.unbounded = true;
    }
    for (const std::int32_t tensor : *node.outputs()) fields[static_cast<std::size_t>(tensor)] = out;
  }
  return fields;
}

}  // namespace runnel
