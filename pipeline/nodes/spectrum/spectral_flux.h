// How much a spectrum grows from frame to frame.
#pragma once

#include <span>

#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

// Half-wave rectified flux of frames x of magnitudes, powers or their logarithms (J. P. Bello et al., A
// Tutorial on Onset Detection in Music Signals, 2005, section III-A): with r[k] = max(0, x_t[k] - x_{t-1}[k])
//   norm 1   sum of r[k]
//   norm 2   square root of the sum of r[k]^2
// 0 for the first frame, and for the first one after a gap.
class SpectralFlux final : public Node {
 public:
  static const NodeType type;

  std::int32_t norm = 1;
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    archive.value(started_);
    if (started_) archive.values(before_);
  }

 private:
  FiniteInput input_;
  std::span<float> before_;  // the last frame
  bool started_ = false;     // whether before_ is valid
};

}  // namespace runnel::pipeline
