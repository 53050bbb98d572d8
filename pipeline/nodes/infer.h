// A model over a stream: frames in, frames of one of its outputs out, as the model is to be used (inference/usage.h).
#pragma once

#include <optional>

#include "inference/frames.h"
#include "inference/session.h"
#include "inference/stepped_session.h"
#include "pipeline/node.h"
#include "pipeline/nodes/infer_values.h"

namespace runnel::pipeline {

// stream: output frame j has the logical index j of the offline run, whatever the model's delay: look-ahead costs time, not alignment.
// step: a run gives as many frames as it takes new ones, or one frame, which covers them. window, whole: a run gives one frame,
// which covers all of its own; that of a clip has the index of the clip's first frame.
// Behind a gap everything starts afresh on the same grid: steps and windows begin at multiples of their distance.
class Infer : public Node {
 public:
  static const NodeType type;

  std::string_view model;
  std::int64_t chunk = 0;            // stream: frames per run of the model; 0: its smallest
  std::string_view output;           // name of the tensor; empty: the only one that is no state
  bool dequantize = false;

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

  // Once prepared, of a model that runs as a stream: how, and which tensor is given. Null for other usages.
  [[nodiscard]] const Prepared* streamed() const noexcept { return stepped_ ? nullptr : prepared_; }
  [[nodiscard]] int output_tensor() const noexcept { return prepared_->model().outputs()[static_cast<std::size_t>(position_)]; }

 protected:
  // Where the prepared model and the session of a stream come from; a program that has many graphs may share them (nodes/host/shared_infer.h).
  virtual Result<const Prepared*> make_prepared(PrepareContext& context, const Model& loaded, const PrepareOptions& options) noexcept;
  virtual Result<Session> make_session(PrepareContext& context) noexcept;

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }
  // Bytes of a frame as it comes in.
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return in_bytes_; }
  // Input frames that still have to be dropped: takes as many of them as there are, at most `count`.
  std::int64_t skip(std::int64_t count) noexcept;
  // Appends frames to the block that the session will run next; they fit.
  void store(const std::byte* frames, std::int64_t count) noexcept;
  // The block has been run, by whomever: its results.
  void collect(Output& out) noexcept;

 private:
  Status choose_output(const Model& loaded, const ModelUsage& usage) noexcept;
  Status prepare_stream(PrepareContext& context, const Model& loaded) noexcept;
  Status prepare_stepped(PrepareContext& context, const Model& loaded, const ModelUsage& usage) noexcept;
  Status give_labels(PrepareContext& context, const Model& loaded) noexcept;
  void run(Output& out) noexcept;
  void step(Output& out) noexcept;
  void copy_out(const OutputFrames& frames, Output& out) noexcept;

  const Prepared* prepared_ = nullptr;
  Session session_;                  // stream
  std::optional<SteppedSession> stepped_;
  InputValues input_;
  OutputValues output_values_;
  int position_ = 0;                 // of the output
  FrameLayout in_layout_, out_layout_;
  std::size_t in_bytes_ = 0, out_bytes_ = 0;        // per frame, in the pipeline
  std::int64_t in_values_ = 0, out_values_ = 0;     // per frame
  std::int64_t out_frames_ = 0;      // of the output's block
  std::int64_t up_ = 1, down_ = 1;

  std::int64_t skip_ = 0;            // input still to be dropped
  std::int64_t grid_ = 0;            // index of the output frame that the session numbers 0; of the next run's first
  std::int64_t pending_ = 0;         // frames in the session's input that wait for the block to be full
  std::int64_t ignored_ = 0;         // frames behind a clip
  bool heard_ = false, ended_ = false;
};

}  // namespace runnel::pipeline
