#include "pipeline/nodes/spectrum/spectral_flux.h"

#include <algorithm>
#include <cmath>

#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&SpectralFlux::norm>("norm", "", 1, 2,
                                   "1: sum of the increases; 2: root of the sum of their squares"),
    text_parameter<&SpectralFlux::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType SpectralFlux::type = {
    .name = "spectral_flux",
    .help = "The increase of a spectrum from frame to frame, for onset detection.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: magnitudes, powers or their logarithms"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, 1 value"},
    .parameters = kParameters,
    .make = make_node<SpectralFlux>,
};

Status SpectralFlux::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  const auto bins = static_cast<std::size_t>(context.input.channels);
  float* const before = context.memory.array<float>(bins);
  if (before == nullptr) return out_of_memory(type.name);
  before_ = {before, bins};
  context.output.channels = 1;
  context.max_output = context.max_input;
  return input_.prepare(type.name, non_finite, bins, context);
}

std::int64_t SpectralFlux::reset(std::int64_t first) noexcept {
  started_ = false;
  return first;
}

Status SpectralFlux::process(const Block& in, Output& out) noexcept {
  const std::size_t bins = before_.size();
  for (std::int64_t i = 0; i < in.count; ++i) {
    RUNNEL_ASSIGN(
        const std::span<const float> x,
        input_.copy({in.as<float>() + static_cast<std::size_t>(i) * bins, bins}, in.first + i, bins));
    float sum = 0;
    for (std::size_t k = 0; started_ && k < bins; ++k) {
      const float rise = std::max(0.0F, x[k] - before_[k]);
      sum += norm == 1 ? rise : rise * rise;
    }
    out.as<float>()[i] = norm == 1 ? sum : std::sqrt(sum);
    std::copy(x.begin(), x.end(), before_.begin());
    started_ = true;
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
