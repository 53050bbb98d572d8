// How far a frame is from what was expected: the score of a detector of anomalies.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// Mean square d of each frame of N values, or of the difference of its halves; with half > 0 the score
// d / (d + half), which is 0 where nothing differs, one half at d = half, and below 1. What remains of a
// frame after an autoencoder took off its reconstruction has of=frame; where a join gives the frame and its
// reconstruction, of=halves does the subtraction. Sums of integers are exact, those of floats in the order of
// the values. Frames with NaN give NaN.
class Distance final : public Node {
 public:
  static const NodeType type;

  std::string_view of = "frame";
  float half = 0;  // mean square with the score one half; 0: the mean square itself

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  [[nodiscard]] float mean_square(const std::byte* frame) const noexcept;

  bool halves_ = false;
  DType dtype_ = DType::float32;
  std::size_t values_ = 0, frame_bytes_ = 0;
  float scale_ = 1;  // of the square of an integer
};

}  // namespace runnel::pipeline
