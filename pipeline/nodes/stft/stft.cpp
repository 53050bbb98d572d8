#include "pipeline/nodes/stft/stft.h"

#include <algorithm>

namespace runnel::pipeline {

const NodeType Stft::type = {
    .name = "stft",
    .help =
        "Complex spectra: of all n_fft/2 + 1 bins the real parts, then the imaginary parts, or pairs of "
        "both.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .output = {static_cast<Kinds>(Kind::frames), "float32"},
    .parameters = kStftParameters,
    .make = make_node<Stft>,
};

Status Stft::prepare(NodeContext& context) noexcept {
  RUNNEL_ASSIGN(features::FbankOptions frames,
                features::frame_options(options(), static_cast<float>(context.input.clock.rate())));
  frames.non_finite = non_finite == "error" ? features::NonFinite::error : features::NonFinite::zero;
  RUNNEL_TRY(blocks_.prepare(frames, context.label, context));
  bins_ = static_cast<std::size_t>(context.output.channels) / 2;
  return prepare_pairs(context, 2 * bins_);
}

Status Stft::process(const Block& in, Output& out) noexcept {
  RUNNEL_TRY(blocks_.process(in, out));
  pair(out);
  return {};
}

Status Stft::flush(Output& out) noexcept {
  RUNNEL_TRY(blocks_.flush(out));
  pair(out);
  return {};
}

void Stft::pair(Output& out) noexcept {
  for (std::int64_t i = 0; pairs && i < out.count; ++i) {
    float* const frame = out.as<float>() + static_cast<std::size_t>(i) * 2 * bins_;
    std::copy_n(frame, 2 * bins_, frame_);
    for (std::size_t k = 0; k < bins_; ++k) {
      frame[2 * k] = frame_[k];
      frame[2 * k + 1] = frame_[bins_ + k];
    }
  }
}

}  // namespace runnel::pipeline
