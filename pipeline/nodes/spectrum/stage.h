// Nodes around a features::FrameStage: frames in, frames out.
#pragma once

#include "features/frames/deltas.h"
#include "features/frames/frame_stack.h"
#include "features/frames/frame_stage.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

// Derived classes make the stage and hand it to start().
class StageNode : public Node {
 public:
  std::string_view non_finite = "zero";

  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 protected:
  // `name`: of the node's type. `holds_all`: frames come out in flush() only. Error: out_of_memory.
  Status start(std::string_view name, features::FrameStage& stage, bool holds_all,
               PrepareContext& context) noexcept;

 private:
  void give(Output& out) noexcept;

  features::FrameStage* stage_ = nullptr;
  FiniteInput input_;
  std::size_t dims_ = 0;  // of the output
  std::int64_t skip_ = 0, next_ = 0;
  bool ended_ = false;
};

class Deltas final : public StageNode {
 public:
  static const NodeType type;

  std::int32_t window = 5, order = 2;
  bool with_static = true;

  Status prepare(PrepareContext& context) noexcept override;

 private:
  features::Deltas deltas_;
};

class Stack final : public StageNode {
 public:
  static const NodeType type;

  std::int32_t frames = 7, step = 6;
  bool pad = true;

  Status prepare(PrepareContext& context) noexcept override;

 private:
  features::FrameStack stack_;
};

}  // namespace runnel::pipeline
