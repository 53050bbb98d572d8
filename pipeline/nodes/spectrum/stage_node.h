// The base of nodes from frames to frames that use neighbouring frames.
#pragma once

#include "features/frames/frame_stage.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Runs a features::FrameStage, which the derived class makes and passes to start().
class StageNode : public Node {
 public:
  std::string_view non_finite = "zero";

  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    archive.index(next_);
    grid_.state(archive);
    archive.value(ended_);
  }

 protected:
  // `name`: of the node's type. `holds_all`: all output comes in flush(). Error: out_of_memory.
  Status start(std::string_view name, features::FrameStage& stage, bool holds_all,
               NodeContext& context) noexcept;

 private:
  void give(Output& out) noexcept;

  features::FrameStage* stage_ = nullptr;
  FiniteInput input_;
  std::size_t dims_ = 0;   // of the output
  std::int64_t next_ = 0;  // index of the next output frame
  WindowGrid grid_;
  bool ended_ = false;
};

}  // namespace runnel::pipeline
