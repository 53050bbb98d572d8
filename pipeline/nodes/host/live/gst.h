// Sound of a GStreamer pipeline.
#pragma once

#include <memory>
#include <string_view>

#include "pipeline/host/live/sound_input.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Runs the pipeline in threads of GStreamer's own, and gives float32 as soon as samples arrive. Sound that is
// missing according to its time stamps becomes a gap. An error that the pipeline reports is one sentence.
class Gst final : public Node, public LiveSource {
 public:
  static const NodeType type;

  std::string_view pipeline;
  std::int32_t rate = 0;
  std::int32_t channels = 0;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  CaptureFacts capture_facts() const override { return {.device_lost = lost_}; }
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }

 private:
  Status fetch() noexcept;

  std::unique_ptr<SoundInput> input_;
  SoundInput::Shape shape_;
  SoundInput::Piece piece_;
  std::int64_t given_ = 0;  // frames of the piece
  std::int64_t lost_ = 0, waited_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace runnel::pipeline
