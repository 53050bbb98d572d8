// Deltas of frames over time: features::Deltas as a node.
#pragma once

#include "features/frames/deltas.h"
#include "pipeline/nodes/spectrum/stage_node.h"

namespace runnel::pipeline {

class Deltas final : public StageNode {
 public:
  static const NodeType type;

  std::int32_t window = 5, order = 2;
  bool with_static = true;

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    StageNode::state(archive);
    deltas_.state(archive);
  }

 private:
  features::Deltas deltas_;
};

}  // namespace runnel::pipeline
