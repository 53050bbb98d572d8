// The lockstep plan (docs/streaming.md): rates, delays and contexts, independent of the block size.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "streaming/rule.h"

namespace runnel::streaming {

// A tensor as a stream: `up/down` frames per source frame, in lowest terms, and the delay D: the frame at
// position i of the stream has logical index i - D. up = 0: the tensor is constant.
struct Stream {
  std::int64_t up = 1, down = 1;
  std::int64_t delay = 0;

  [[nodiscard]] constexpr bool constant() const noexcept { return up == 0; }
  friend constexpr bool operator==(const Stream&, const Stream&) = default;
};

// The contribution of one node: its output's stream, and how far before the block it starts to
// read its input.
struct NodePlan {
  Stream output;
  // C: output f of a block starts reading at input frame f*stride - C of the block (upsample: see
  // context_of_upsample in plan.cpp). Negative: |C| frames at the head of each block are skipped (phase
  // selection, no memory).
  std::int64_t context = 0;
};

// A node with one streamed input. Fails with `unsupported` when a quantity is out of range (2^31 frames).
Result<NodePlan> plan_node(const NodeRule& rule, const Stream& input) noexcept;

// A join of two streams: the longer delay decides. Fails with `mismatch` when the rates differ.
Result<Stream> plan_join(const Stream& a, const Stream& b) noexcept;

// Frames per block of N source frames; N must be a multiple of `down`.
constexpr std::int64_t frames_per_block(const Stream& stream, std::int64_t n) noexcept {
  return n / stream.down * stream.up;
}

// Calls needed to emit `length` frames of an output after its delay, not counting the calls for
// the input itself.
std::int64_t calls_for_output(const Stream& output, std::int64_t length, std::int64_t n) noexcept;

}  // namespace runnel::streaming
