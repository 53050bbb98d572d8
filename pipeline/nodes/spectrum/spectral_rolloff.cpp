#include "pipeline/nodes/spectrum/spectral_rolloff.h"

#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&SpectralRolloff::part>("part", "", 0, 1, "share of the sum that lies at or below the result"),
    parameter<&SpectralRolloff::low_freq>("low_freq", "Hz", 0, 384000,
                                          "frequency of the first value of a frame"),
    parameter<&SpectralRolloff::high_freq>("high_freq", "Hz", 0, 384000, "frequency of the last value"),
};

}  // namespace

const NodeType SpectralRolloff::type = {
    .name = "spectral_rolloff",
    .help =
        "The frequency below which a given part of a spectrum lies: high for noise and hiss, low for hum.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: magnitudes or powers"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, 1 value in Hz"},
    .parameters = kParameters,
    .make = make_node<SpectralRolloff>,
};

Status SpectralRolloff::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  bins_ = static_cast<std::size_t>(context.input.channels);
  context.output.channels = 1;
  context.max_output = context.max_input;
  return {};
}

Status SpectralRolloff::process(const Block& in, Output& out) noexcept {
  const float step = bins_ > 1 ? (high_freq - low_freq) / static_cast<float>(bins_ - 1) : 0.0F;
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float* const x = in.as<float>() + static_cast<std::size_t>(i) * bins_;
    float sum = 0;
    for (std::size_t k = 0; k < bins_; ++k) sum += x[k];
    // The same additions in the same order: the last sum is `sum`, so the search ends.
    const float wanted = part * sum;
    std::size_t k = 0;
    for (float below = x[0]; below < wanted && k + 1 < bins_; below += x[k]) ++k;
    out.as<float>()[i] = sum > 0 ? low_freq + step * static_cast<float>(k) : 0.0F;
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
