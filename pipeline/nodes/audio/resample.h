// Sample rate conversion: features::Resampler as a node.
#pragma once

#include <optional>

#include "features/samples/resampler.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

// Output sample m lies at the input time m * in / out, m counting from the start of the recording. After a
// gap, samples up to the next point that both rates share are dropped.
class Resample final : public Node {
 public:
  static const NodeType type;

  std::int32_t rate = 16000;
  float pass_band = 0.9F;
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    for (std::size_t c = 0; c < channels_; ++c) {
      resamplers_[c]->state(archive);
      archive.expect(resamplers_[c]->next_output() == resamplers_[0]->next_output(),
                     "the position of a channel");
    }
    archive.index(skip_, down_ - 1);
    archive.index(grid_);
  }

 private:
  // Writes the output of one channel, interleaved, after out.count; returns the number of samples.
  template <class Give>
  std::int64_t give(Output& out, std::size_t channel, const Give& resampled) noexcept;

  FiniteInput input_;
  std::optional<features::Resampler>* resamplers_ = nullptr;  // one per channel
  std::size_t channels_ = 1, room_ = 0;
  float *in_ = nullptr, *out_ = nullptr;  // one channel; null for mono
  std::int64_t up_ = 1, down_ = 1;
  std::int64_t skip_ = 0;  // input samples left to drop
  std::int64_t grid_ = 0;  // index of the output sample that was number 0 of resampler_
};

}  // namespace runnel::pipeline
