// Log-mel filter banks or cepstral coefficients: features::Fbank as a node.
#pragma once

#include "features/fbank.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Frames lie on one grid of frame_shift for the whole recording: behind a gap, samples up to the next point of it are dropped.
class Fbank final : public Node {
 public:
  static const NodeType type;

  std::string_view preset = "kaldi";
  features::FbankOptions options;    // starts as the preset; every option of features/fbank_parameters.h is a parameter

  Fbank() noexcept;
  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

 private:
  [[nodiscard]] std::span<float> room(const Output& out) const noexcept;

  std::optional<features::Fbank> fbank_;
  std::int64_t shift_ = 1;
  std::size_t dims_ = 0;
  std::int64_t skip_ = 0;            // input still to be dropped
  std::int64_t grid_ = 0;            // index of the next frame that was number 0 of fbank_
};

}  // namespace runnel::pipeline
