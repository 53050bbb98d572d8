// The base of stft and istft: the settings that both share.
#pragma once

#include <string_view>

#include "features/stft.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

// Settings with the names of torch.stft.
class StftNode : public Node {
 public:
  std::int32_t n_fft = 512, win_length = 0, hop_length = 0;
  std::string_view window_type = "hann";
  bool center = true;
  std::string_view pad_mode = "reflect";
  bool pairs = false;  // real and imaginary part of a bin side by side
  std::string_view non_finite = "zero";

  // Assumes that the texts are among the choices of their parameters.
  [[nodiscard]] features::StftOptions options() const noexcept;

 protected:
  // Room for one frame, when pairs are interleaved or separated.
  Status prepare_pairs(NodeContext& context, std::size_t values) noexcept;
  float* frame_ = nullptr;
};

inline constexpr std::string_view kStftWindows =
                                      "povey|hamming|hanning|hann|blackman|sine|rectangular|sqrt_hann",
                                  kStftPads = "mirror|reflect|zero";
inline constexpr Parameter kStftParameters[] = {
    parameter<&StftNode::n_fft>("n_fft", "samples", 2, 1048576, "size of the transform"),
    parameter<&StftNode::win_length>("win_length", "samples", 0, 1048576,
                                     "length of the window, centred in the transform; 0: n_fft"),
    parameter<&StftNode::hop_length>("hop_length", "samples", 0, 1048576,
                                     "from frame to frame; 0: n_fft / 4"),
    text_parameter<&StftNode::window_type>("window_type", kStftWindows,
                                           "hanning is symmetric, hann and sqrt_hann periodic"),
    switch_parameter<&StftNode::center>("center", "frames centred on multiples of the hop, as in torch.stft"),
    text_parameter<&StftNode::pad_mode>(
        "pad_mode", kStftPads,
        "with center, outside of the recording: edge samples repeated, not repeated, or zeros"),
    switch_parameter<&StftNode::pairs>("pairs",
                                       "real and imaginary part of each bin together, as many networks "
                                       "expect; false: all real parts, then all imaginary parts"),
    text_parameter<&StftNode::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace runnel::pipeline
