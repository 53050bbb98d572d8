// The second program of a segment, which steps a stream (docs/delegates.md), read without a heap. For the
// device and for the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "inference/delegate.h"
#include "inference/operator.h"
#include "npu/port.h"
#include "streaming/rule.h"

namespace runnel::npu {

// A view into the model. Its scratch memory holds histories from call to call.
struct BlockProgram {
  std::span<const std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;              // bytes
  PortPlace input, output;                                // of one call
  std::int64_t in_frames = 1, out_frames = 1, delay = 0;  // of each call; the delay is the input's
  std::span<const std::int64_t> states, masks;            // block_states and block_masks

  // Scratch memory as it is before a stream.
  void first_state(std::byte* memory) const noexcept;
  // Says for each frame inside whether it is data, where that counts; `first`: logical index of the call's
  // first frame, `length`: frames of the whole input, kEndless while that is not known.
  void set_masks(std::byte* memory, std::int64_t first, std::int64_t length) const noexcept;
};

// Whether the operator's segment has that program, and reading it, streams excepted (payload.h, bounds.h).
// Errors: invalid_data.
bool is_stepped(const Model& model, const fb::Operator& op) noexcept;
// Error: unsupported where a stream is being prepared and the segment, which reads it, has no such program.
Status check_stepped(const PrepareContext& context) noexcept;
Result<BlockProgram> read_block_program(const Model& model, const fb::Operator& op,
                                        std::size_t most_scratch) noexcept;
// From input to output frames, as the segment's attributes say. Only of segments that stream_delegate has
// taken.
streaming::NodeRule window_of(const DelegateSegment& delegate) noexcept;

}  // namespace runnel::npu
