// The microphone of a browser that has the live page open.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "pipeline/node.h"
#include "pipeline/nodes/host/live/browser/remote_sound.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Gives float32 as soon as samples arrive; who shows the graph brings them (services/page/live_page.h). The
// clock begins with the first sample; while no page speaks it waits, and the pause becomes a gap.
class Browser final : public Node, public LiveSource {
 public:
  static const NodeType type;

  std::int32_t rate = 16000;
  double duration = 0;  // s; 0: until stopped

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Text note() const noexcept override;
  CaptureFacts capture_facts() const override;
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }

  // After prepare(); what brings the sound shares it, and may outlive the node.
  [[nodiscard]] const std::shared_ptr<RemoteSound>& sound() const noexcept { return sound_; }

 private:
  std::shared_ptr<RemoteSound> sound_;
  std::int64_t position_ = 0;
  std::int64_t waited_ = 0;  // ns
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace runnel::pipeline
