// Loudness of frames: features::Levels as a node.
#pragma once

#include "features/frames/levels.h"
#include "pipeline/nodes/window_node.h"

namespace runnel::pipeline {

class Levels final : public WindowNode {
 public:
  static const NodeType type;

  float frame_length = 25, frame_shift = 10;  // ms
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    WindowNode::state(archive);
    levels_.state(archive);
  }

 private:
  void restart() noexcept override { levels_.reset(); }
  [[nodiscard]] std::int64_t next_window() const noexcept override { return levels_.next_frame(); }
  Result<std::size_t> push(std::span<const float> samples, std::span<float> out) noexcept override {
    return levels_.push(samples, out).frames;
  }
  std::size_t flush_windows(std::span<float> out) noexcept override { return levels_.flush(out); }

  features::Levels levels_;
};

}  // namespace runnel::pipeline
