// Joins several streams: every frame of the first input with the values of the others at its time.
//
// A graph with a join has several executors: one for each source and one for what follows the join. For the
// last one the join is the source; it steps the others as far as it needs them, always the one that lags. So
// no stream runs ahead of the others by more than `buffer`, and when one live source is slow, the samples of
// the others wait in their devices. Results depend on the contents of the streams and not on their timing.
#pragma once

#include "pipeline/executor.h"
#include "pipeline/node.h"
#include "pipeline/nodes/sensor/frame_position.h"

namespace runnel::pipeline {

// The last stage of an executor that feeds a join. Keeps the latest frames.
class JoinInput final : public Node {
 public:
  static const NodeType type;

  double buffer = 10;  // seconds of frames at least

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

  [[nodiscard]] const Format& format() const noexcept { return format_; }
  [[nodiscard]] std::string_view label() const noexcept { return label_; }
  // Every frame before this one has arrived or is lost.
  [[nodiscard]] std::int64_t known() const noexcept { return known_; }
  // nullptr for lost frames.
  [[nodiscard]] const float* frame(std::int64_t index) const noexcept;
  [[nodiscard]] const float* last() const noexcept { return frame(last_); }
  // Frames before this one are no longer needed.
  void release(std::int64_t index) noexcept { needed_ = index; }
  // Drops all further input.
  void close() noexcept { closed_ = true; }

 private:
  Format format_;
  std::string_view label_;
  std::int64_t capacity_ = 0;
  float* frames_ = nullptr;          // frame i at index i % capacity
  std::int64_t* indices_ = nullptr;  // index of the frame at each position; -1: none
  std::int64_t known_ = 0, last_ = -1, needed_ = 0;
  bool closed_ = false;
};

// Frame i of the output begins with frame i of the first input, whose clock and origin it has. Frames for
// which any input has no value (before its start, or lost) count as lost.
class Join final : public Node {
 public:
  static const NodeType type;
  static constexpr int kMaxInputs = 16;

  std::string_view method = "exact";
  std::string_view align = "start";
  std::string_view end = "shortest";
  double buffer = 10;

  // Adds the inputs in order, before prepare(). Both outlive the join; `from` may be the same for several
  // inputs.
  Status add_input(Executor& from, JoinInput& input) noexcept;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  // Finishes the joined streams: their sinks are completed, too.
  Status finish() noexcept override;

 private:
  enum class Found : std::uint8_t { values, missing, nothing_more, wait };
  struct Input {
    Executor* from = nullptr;
    JoinInput* stream = nullptr;
    FramePosition position;  // of the next output frame
    bool ended = false;
  };
  Status align_input(Input& input) const noexcept;
  Status pull(const Input& input) noexcept;
  Found read(const Input& input, float* to) const noexcept;
  Found read_all(float* to, const Input*& lagging) const noexcept;
  void advance() noexcept;

  Input inputs_[kMaxInputs];
  int count_ = 0;
  bool linear_ = false;
};

}  // namespace runnel::pipeline
