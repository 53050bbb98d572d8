// Statistics of windows over sensor streams: features::WindowStatistics as a node.
#pragma once

#include <optional>

#include "features/frames/window_statistics.h"
#include "pipeline/nodes/window_node.h"

namespace runnel::pipeline {

class Statistics final : public WindowNode {
 public:
  static const NodeType type;

  std::string_view window = "128";
  std::string_view hop = "64";
  std::string_view statistics = "mean,std,rms,peak,peak_to_peak,zero_crossings";
  std::string_view bands;
  std::string_view spectral_window = "hann";
  bool remove_dc_offset = true;
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override;
  [[nodiscard]] Text note() const noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    WindowNode::state(archive);
    statistics_->state(archive);
  }

 private:
  void restart() noexcept override { statistics_->reset(); }
  [[nodiscard]] std::int64_t next_window() const noexcept override { return statistics_->next_window(); }
  Result<std::size_t> push(std::span<const float> samples, std::span<float> out) noexcept override;

  std::optional<features::WindowStatistics> statistics_;
};

}  // namespace runnel::pipeline
