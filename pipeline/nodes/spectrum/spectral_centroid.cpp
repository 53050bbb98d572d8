#include "pipeline/nodes/spectrum/spectral_centroid.h"

#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&SpectralCentroid::low_freq>("low_freq", "Hz", 0, 384000,
                                           "frequency of the first value of a frame"),
    parameter<&SpectralCentroid::high_freq>("high_freq", "Hz", 0, 384000, "frequency of the last value"),
};

}  // namespace

const NodeType SpectralCentroid::type = {
    .name = "spectral_centroid",
    .help = "The mean frequency of a spectrum, weighted by its values: the brightness of a sound.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: magnitudes or powers"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, 1 value in Hz"},
    .parameters = kParameters,
    .make = make_node<SpectralCentroid>,
};

Status SpectralCentroid::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  bins_ = static_cast<std::size_t>(context.input.channels);
  context.output.channels = 1;
  context.max_output = context.max_input;
  return {};
}

Status SpectralCentroid::process(const Block& in, Output& out) noexcept {
  const float step = bins_ > 1 ? (high_freq - low_freq) / static_cast<float>(bins_ - 1) : 0.0F;
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float* const x = in.as<float>() + static_cast<std::size_t>(i) * bins_;
    float weighted = 0, sum = 0;
    for (std::size_t k = 0; k < bins_; ++k) {
      weighted += (low_freq + step * static_cast<float>(k)) * x[k];
      sum += x[k];
    }
    out.as<float>()[i] = sum > 0 ? weighted / sum : 0.0F;
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
