// The streaming plan of a whole graph: walks the operators' rules with the arithmetic of streaming/plan.h.
#pragma once

#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "inference/operator.h"
#include "streaming/plan.h"

namespace runnel {

// A tensor as the executor needs it. With a stream but no time axis it is one value that follows the stream,
// as the last state of a recurrence: after every block what it would be for the recording so far, in the end
// what it is for the whole.
struct StreamTensor {
  streaming::Stream stream{0, 1, 0};  // up = 0: no stream
  std::int64_t history = 0;           // frames before the block that some reader still needs
  std::int8_t time_axis = -1;
  bool fill = false;  // some reader sees frames that are not data as the zero point
};

// What one operator's reading looks like; filled along with the plan, for preparation and inspection.
struct StreamStep {
  streaming::NodeRule rule;
  std::int64_t context = 0;  // C of the first streamed input

  // How many frames before its block input `position` is read, given its delay and that of the output.
  [[nodiscard]] std::int64_t back_frames(int position, std::int64_t from, std::int64_t to) const noexcept {
    switch (rule.kind) {
      case streaming::Kind::pointwise:
        return to - from;
      case streaming::Kind::attention:
        return to - from + (position == 0 ? 0 : rule.left);
      case streaming::Kind::recurrent:
        return 0;
      default:
        return context;
    }
  }
};

// Receives every operator that prevents streaming.
class RefusalSink {
 public:
  virtual void refuse(int op, const Status& why) noexcept = 0;

 protected:
  ~RefusalSink() = default;
};

// Plans all tensors. `input_axes`: time axis of each graph input, -1: not a stream; `tensors`, `steps`,
// `lengths`: one entry per tensor, operator and tensor, overwritten (`lengths` is working memory). On success
// `block_multiple` is what block sizes must be multiples of. Fails with the first refusal (`unsupported`,
// naming the operator); a sink hears all of them. The operators' check() must have passed.
Status plan_streams(const Model& model, OperatorTable table, std::span<const std::int8_t> input_axes,
                    std::span<StreamTensor> tensors, std::span<StreamStep> steps,
                    std::span<std::int64_t> lengths, std::int64_t& block_multiple,
                    RefusalSink* sink = nullptr) noexcept;

// Frames of every tensor (along its time axis; 0 for tensors without time) for a recording of `source_length`
// frames.
void plan_lengths(const Model& model, std::span<const StreamTensor> tensors,
                  std::span<const StreamStep> steps, std::int64_t source_length,
                  std::span<std::int64_t> lengths) noexcept;

// Names an operator in messages: its name, or its type and index.
Status operator_status(const Model& model, OperatorTable table, int op, const Status& why) noexcept;

}  // namespace runnel
