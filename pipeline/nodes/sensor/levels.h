// Loudness of frames: features::Levels as a node.
#pragma once

#include "features/frames/levels.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

class Levels final : public Node {
 public:
  static const NodeType type;

  float frame_length = 25, frame_shift = 10;  // ms
  std::string_view non_finite = "zero";

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 private:
  FiniteInput input_;
  features::Levels levels_;
  WindowGrid grid_;
};

}  // namespace runnel::pipeline
