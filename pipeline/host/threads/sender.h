// Nodes in the places of stages that run in another thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/host/threads/block_queue.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Does nothing.
class Vacant : public Node {
 public:
  Status prepare(NodeContext&) noexcept override { return {}; }
  Status process(const Block&, Output&) noexcept override { return {}; }
};

// Sends what the stage in whose place it is would get. Waits while the queue is full.
class Sender final : public Vacant {
 public:
  // `frame_bytes`: of the input. `queue` outlives the sender.
  Sender(BlockQueue& queue, std::size_t frame_bytes) : queue_(queue), frame_bytes_(frame_bytes) {}
  // `moment`: of the step at work in the sending thread. `live`: null, or its source; then the moment has
  // been moved back by what the source had waited before the step.
  void send_at(const Moment& moment, const LiveSource* live) noexcept;

  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  Status gap(const Gap& gap) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;

 private:
  Message& begin(Message::Kind kind) noexcept;

  BlockQueue& queue_;
  std::size_t frame_bytes_;
  const Moment* moment_ = nullptr;
  const LiveSource* live_ = nullptr;
};

}  // namespace runnel::pipeline
