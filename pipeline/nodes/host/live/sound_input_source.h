// The base of sources whose sound comes from a module.
#pragma once

#include <memory>
#include <string_view>

#include "pipeline/host/live/sound_input.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Gives float32 as soon as samples arrive; what the module says is missing becomes gaps.
class SoundInputSource : public Node, public LiveSource {
 public:
  std::int32_t rate = 0;
  std::int32_t channels = 0;

  Status process(const Block& in, Output& out) noexcept override;
  CaptureFacts capture_facts() const override;
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }

 protected:
  // Opens the module and the sound, and sets the output format. `source`: the name of the sound, which lives
  // as long as the node.
  Status open(NodeContext& context, std::string_view module, SoundInput::Settings settings,
              std::string_view source) noexcept;

 private:
  Status fetch() noexcept;

  std::unique_ptr<SoundInput> input_;
  SoundInput::Shape shape_;
  SoundInput::Piece piece_;
  std::int64_t given_ = 0;  // frames of the piece
  std::int64_t lost_ = 0, gaps_ = 0, waited_ = 0;
  bool closed_ = false;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace runnel::pipeline
