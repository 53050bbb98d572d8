// Block program: the second program of a segment, which steps a stream (docs/delegates.md). Read without a
// heap, for the device and the simulator.
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
  std::int64_t in_frames = 1, out_frames = 1, delay = 0;  // per call; the delay is in input frames
  std::span<const std::int64_t> states, masks;            // block_states and block_masks

  // Initializes scratch memory for a new stream.
  void first_state(std::byte* memory) const noexcept;
  // Marks which frames are data, where that matters; `first`: logical index of the call's first frame,
  // `length`: frames of the whole input, kEndless while unknown.
  void set_masks(std::byte* memory, std::int64_t first, std::int64_t length) const noexcept;
};

// Whether the operator's segment has a block program.
bool is_stepped(const Model& model, const fb::Operator& op) noexcept;
// Error: unsupported when preparing a stream that the segment reads without having a block program.
Status check_stepped(const PrepareContext& context) noexcept;
// Reads it, without its command stream (payload.h, bounds.h). Errors: invalid_data.
Result<BlockProgram> read_block_program(const Model& model, const fb::Operator& op,
                                        std::size_t most_scratch) noexcept;
// Streaming rule from the segment's attributes. Only for segments that stream_delegate accepted.
streaming::NodeRule window_of(const DelegateSegment& delegate) noexcept;

}  // namespace runnel::npu
