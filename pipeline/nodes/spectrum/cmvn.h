// Mean and variance normalisation as a node: with fixed statistics (features::Cmvn), or with those of the
// recording itself (features/frames/running_cmvn.h).
#pragma once

#include "features/frames/cmvn.h"
#include "features/frames/running_cmvn.h"
#include "pipeline/nodes/spectrum/stage_node.h"

namespace runnel::pipeline {

// Frames, or samples of several channels (mode=fixed).
class Cmvn : public StageNode {
 public:
  static const NodeType type;

  std::string_view mode = "fixed";
  // mode=fixed: one number for all dimensions, or one for each, separated by commas.
  std::string_view mean = "0";
  std::string_view deviation = "1";
  // Hosts replace both by numbers when they read the text of a graph
  // (pipeline/host/statistics/statistics_file.h).
  std::string_view file, section;
  // All other modes.
  bool variance = true;
  std::int32_t window = 600, min_window = 100;
  bool center = false;
  float frames = 300;
  std::int32_t max_frames = 3000;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    if (fixed_) return;                    // nothing is remembered
    StageNode::state(archive);
    if (mode == "sliding")
      sliding_.state(archive);
    else if (mode == "mirror")
      mirror_.state(archive);
    else if (mode == "exponential")
      exponential_.state(archive);
    else
      utterance_.state(archive);
  }

 private:
  Status prepare_fixed(NodeContext& context) noexcept;

  bool fixed_ = true;
  features::Cmvn cmvn_;
  features::SlidingCmvn sliding_;
  features::MirrorCmvn mirror_;
  features::ExponentialCmvn exponential_;
  features::UtteranceCmvn utterance_;
};

}  // namespace runnel::pipeline
