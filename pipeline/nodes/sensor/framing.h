// Windows of a stream as frames: all samples of all channels, unchanged.
#pragma once

#include "features/frames/framer.h"
#include "pipeline/node.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Frame j holds the input frames j * hop .. j * hop + window - 1, sample by sample. Only whole windows are
// given.
class Framing final : public Node {
 public:
  static const NodeType type;

  std::string_view window = "128";
  std::string_view hop = "64";

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  features::Framer framer_;
  WindowGrid grid_;
  std::int64_t channels_ = 1;
};

}  // namespace runnel::pipeline
