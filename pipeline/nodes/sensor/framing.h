// Windows of a stream as frames: all samples of all channels, unchanged.
#pragma once

#include "features/frames/framer.h"
#include "pipeline/nodes/window_node.h"

namespace runnel::pipeline {

// Frame j holds the input frames j * hop .. j * hop + window - 1, sample by sample. Only whole windows are
// given.
class Framing final : public WindowNode {
 public:
  static const NodeType type;

  std::string_view window = "128";
  std::string_view hop = "64";

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    WindowNode::state(archive);
    framer_.state(archive);
    archive.expect(!framer_.finished(), "the end");
  }

 private:
  void restart() noexcept override { framer_.reset(); }
  [[nodiscard]] std::int64_t next_window() const noexcept override { return framer_.next_frame(); }
  Result<std::size_t> push(std::span<const float> samples, std::span<float> out) noexcept override;

  features::Framer framer_;
};

}  // namespace runnel::pipeline
