// The reference executor: every operator has a queue and emits a frame as soon as it is determined
// (docs/streaming.md).
//
// Slow and simple; it shares kernels with the lockstep executor, but neither its planner, nor its buffers,
// nor its idea of blocks. Tests and `runnel check` compare the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "inference/host/engine.h"

namespace runnel {

class EventDriven {
 public:
  // A frame of output `position`: bytes of one frame, logical index counting from 0. A value without time
  // (the last state of a recurrence) comes after every frame; the last one counts.
  using Sink = std::function<void(int position, std::span<const std::byte> frame)>;

  // Streams along the axes of the model's plan.
  static Result<std::unique_ptr<EventDriven>> make(std::shared_ptr<const OwnedModel> model, Isa isa,
                                                   Sink sink, OperatorTable table = all_operators());
  ~EventDriven();

  // `count` frames of each input, in the input's layout (frames contiguous). Any count, also 0.
  void push(std::span<const std::byte* const> inputs, std::int64_t count);
  // The recording ended: all remaining output comes out.
  void finish();

 private:
  struct Node;
  EventDriven() = default;
  void advance();
  void gather(Node& node, std::int64_t first);
  void emit(Node& node, std::int64_t output_frame);
  void finish_finals();

  std::shared_ptr<const OwnedModel> model_;
  Sink sink_;
  HeapMemory memory_;
  std::vector<std::unique_ptr<Node>> nodes_;
  struct Queue;
  std::vector<std::unique_ptr<Queue>> queues_;  // per tensor
  bool ended_ = false;
};

}  // namespace runnel
