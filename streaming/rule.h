// Streaming rule of an operator: what it does to time, as the planner needs it.
//
// Terms (docs/streaming.md): a frame is one step of a tensor along time. Offline, a tensor has frames 0 ..
// L-1; the logical index of a frame is its index there. A window node computes y[j] from x[j*s - P], x[j*s -
// P + d], ..., x[j*s - P + K - 1].
#pragma once

#include <cstdint>

namespace runnel::streaming {

enum class Kind : std::uint8_t {
  constant,   // no input is a stream
  window,     // convolution, pooling, slice in time, padding in time, framing
  pointwise,  // frame by frame; with several inputs a join
  upsample,   // transposed convolution (P and Q are crops) and nearest upsampling
  recurrent,  // frame by frame with state that only data frames update
  attention,  // the first input frame by frame; of the others, the frames around its chunk
};

// How a window node reads frames that are not data (before the start, after the end, or not yet valid).
enum class Padding : std::uint8_t {
  zero_point,  // as the tensor's zero point: convolution
  skipped,     // the node checks indices itself: pooling
  unused,      // never read for an output that is data
};

struct NodeRule {
  Kind kind = Kind::pointwise;
  std::int64_t kernel = 1, stride = 1, dilation = 1;  // stride of `upsample` is the factor
  std::int64_t left = 0, right = 0;                   // P and Q; negative: crop
  Padding padding = Padding::unused;
  std::int64_t chunk = 1;    // outputs that blocks never split; attention sees `left` before, `right` after
  bool own_history = false;  // a window whose operator keeps earlier frames itself and needs only the block

  // Effective kernel (k-1)*d + 1.
  [[nodiscard]] constexpr std::int64_t extent() const noexcept { return (kernel - 1) * dilation + 1; }
};

// Frames of the output for an input of `length` frames; an empty input gives an empty output.
std::int64_t output_length(const NodeRule& rule, std::int64_t length) noexcept;
// Index of the input frame whose arrival makes output j final.
std::int64_t due(const NodeRule& rule, std::int64_t j) noexcept;
// Oldest input frame that any output >= j still reads.
std::int64_t oldest(const NodeRule& rule, std::int64_t j) noexcept;

}  // namespace runnel::streaming
