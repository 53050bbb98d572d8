#include "pipeline/nodes/stft/stft_node.h"

#include "features/parameters.h"

namespace runnel::pipeline {
namespace {

std::uint8_t index_of(std::string_view choices, std::string_view name) noexcept {
  for (std::size_t i = 0;; ++i) {
    const std::string_view one = features::choice_at(choices, i);
    if (one.empty() || one == name) return static_cast<std::uint8_t>(one.empty() ? 0 : i);
  }
}

}  // namespace

features::StftOptions StftNode::options() const noexcept {
  return {.n_fft = n_fft,
          .win_length = win_length,
          .hop_length = hop_length,
          .window_type = static_cast<features::WindowType>(index_of(kStftWindows, window_type)),
          .center = center,
          .pad_mode = static_cast<features::Padding>(index_of(kStftPads, pad_mode))};
}

Status StftNode::prepare_pairs(PrepareContext& context, std::size_t values) noexcept {
  if (!pairs) return {};
  frame_ = context.memory.array<float>(values);
  return frame_ == nullptr ? out_of_memory("a spectrum") : Status();
}

}  // namespace runnel::pipeline
