// Sinks of a graph on a device: a queue of decisions, and observed frames.
#pragma once

#include "embed/runnel.h"
#include "pipeline/node.h"

namespace runnel::embed {

// Ring of the last decisions, until they are fetched.
class EventQueue final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::span<const char* const> labels;
  int room = 4;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

  // False when the queue is empty.
  bool fetch(runnel_event& event) noexcept;
  void forget() noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  [[nodiscard]] int index_of(std::string_view label) const noexcept;

  [[nodiscard]] const char* keep(std::string_view text, int place) noexcept;

  runnel_event* ring_ = nullptr;
  char* texts_ = nullptr;  // [room][RUNNEL_TEXT_BYTES]: of decoders of speech; null: all labels are in ROM
  int first_ = 0, count_ = 0;
  std::uint64_t dropped_ = 0;
};

// Passes frames to a function.
class FrameTap final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  runnel_frames_function function = nullptr;
  void* user = nullptr;
  runnel_stage stage = RUNNEL_FEATURES;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  std::size_t frame_bytes_ = 0;
};

}  // namespace runnel::embed
