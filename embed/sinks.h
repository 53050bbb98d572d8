// Where a graph ends on a device: decisions that wait to be fetched, and frames that somebody looks at.
#pragma once

#include "embed/runnel.h"
#include "pipeline/node.h"

namespace runnel::embed {

// Keeps the last decisions until they are fetched, in a ring.
class EventQueue final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::span<const char* const> labels;
  int room = 4;

  Status prepare(pipeline::PrepareContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

  // False when none waits.
  bool fetch(runnel_event& event) noexcept;
  void forget() noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  [[nodiscard]] int index_of(std::string_view label) const noexcept;

  runnel_event* ring_ = nullptr;
  int first_ = 0, count_ = 0;
  std::uint64_t dropped_ = 0;
};

// Shows frames to a function.
class FrameTap final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  runnel_frames_function function = nullptr;
  void* user = nullptr;
  runnel_stage stage = RUNNEL_FEATURES;

  Status prepare(pipeline::PrepareContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  std::size_t frame_bytes_ = 0;
};

}  // namespace runnel::embed
