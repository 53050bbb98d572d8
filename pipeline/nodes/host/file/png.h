// Frames as a picture.
#pragma once

#include <optional>
#include <vector>

#include "base/host/output_file.h"
#include "pipeline/host/picture/heat_map.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Keeps at most `width` columns for recordings of any length; the file is written at the end. Lost frames
// stay grey.
class Png final : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  std::int64_t width = 1200;
  std::string_view axis = "channel";
  std::string_view mel_scale = "htk";
  double low_freq = 0, high_freq = 0;
  std::string_view scale = "value";
  double min = 0, max = 0;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 private:
  OutputFile file_;
  Format format_;
  std::optional<HeatMap> map_;
  HeatMap::Labels labels_;
  std::vector<float> values_;  // of one frame
};

}  // namespace runnel::pipeline
