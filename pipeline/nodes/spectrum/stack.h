// Stacks several frames into one: features::FrameStack as a node.
#pragma once

#include "features/frames/frame_stack.h"
#include "pipeline/nodes/spectrum/stage_node.h"

namespace runnel::pipeline {

class Stack final : public StageNode {
 public:
  static const NodeType type;

  std::int32_t frames = 7, step = 6;
  bool pad = true;

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    StageNode::state(archive);
    stack_.state(archive);
  }

 private:
  features::FrameStack stack_;
};

}  // namespace runnel::pipeline
