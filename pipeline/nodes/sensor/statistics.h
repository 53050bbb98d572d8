// Statistics of windows over sensor streams: features::WindowStatistics as a node.
#pragma once

#include <optional>

#include "features/frames/window_statistics.h"
#include "pipeline/node.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

class Statistics final : public Node {
 public:
  static const NodeType type;

  std::string_view window = "128";
  std::string_view hop = "64";
  std::string_view statistics = "mean,std,rms,peak,peak_to_peak,zero_crossings";
  std::string_view bands;
  std::string_view spectral_window = "hann";
  bool remove_dc_offset = true;
  std::string_view non_finite = "zero";

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 private:
  std::optional<features::WindowStatistics> statistics_;
  WindowGrid grid_;
  std::size_t channels_ = 1;
};

}  // namespace runnel::pipeline
