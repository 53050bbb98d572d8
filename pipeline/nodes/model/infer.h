// Runs a model over a stream and gives the frames of one of its outputs, according to the model's usage
// (inference/model/usage.h).
#pragma once

#include <optional>
#include <span>

#include "inference/stepped_session.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/infer_values.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

// stream: output frame j has the logical index j of the offline run for any delay of the model: look-ahead
// costs time, not alignment. step: a run gives as many frames as it takes new ones, or one frame that covers
// them. window, whole: a run gives one frame that covers its whole input; for a clip, it has the index of the
// clip's first frame. After a gap the model is reset on the same grid: steps and windows begin at multiples
// of their hop.
class Infer : public Node {
 public:
  static const NodeType type;

  std::string_view model;
  std::int64_t chunk = 0;   // stream: frames per run of the model; 0: its smallest
  std::string_view output;  // name of the tensor; empty: the only one that is not state
  bool dequantize = false;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

  // The node between two calls as bytes, for programs that run it alone: what reset() clears. `restore`
  // refuses bytes of another model or chunk, and leaves the node as it was then. Not of a node that shares
  // its session with others. Errors: out_of_memory for too little room; invalid_data, mismatch.
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  Status save(std::span<std::byte> to) noexcept;
  Status restore(std::span<const std::byte> from) noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.opaque(*this);
  }

  // Valid once prepared, for models that run as a stream: the plan, and the output tensor. Null for other
  // usages.
  [[nodiscard]] const Prepared* streamed() const noexcept { return stepped_ ? nullptr : prepared_; }
  [[nodiscard]] int output_tensor() const noexcept {
    return prepared_->model().outputs()[static_cast<std::size_t>(position_)];
  }

 protected:
  // Provides the prepared model and the session of a stream; programs with many graphs may share them
  // (nodes/host/model/shared_infer.h).
  virtual Result<const Prepared*> make_prepared(NodeContext& context, const Model& loaded,
                                                const PrepareOptions& options) noexcept;
  virtual Result<Session> make_session(NodeContext& context) noexcept;
  // The same for a model that runs in steps, windows or clips.
  virtual Result<SteppedSession> make_stepped(NodeContext& context, const ModelUsage& usage) noexcept;
  // Sets `made`, which is null, to what takes the part of frames that passes by the model: PassingBy
  // (passed_frames.h) has one. No Result, which would take stack while the session is made.
  virtual Status make_bypass(const NodeContext& context, const Prepared& prepared,
                             const ModelStreamShape& shape, std::int64_t largest_block,
                             Bypass*& made) noexcept;
  // Frames of a larger block that the program also runs, whenever as many frames have arrived at once
  // (nodes/host/model/larger_block.h); 0: none. `block`: frames of the block that always runs.
  [[nodiscard]] virtual std::int64_t larger_block(const NodeContext&, std::int64_t block) const noexcept {
    static_cast<void>(block);
    return 0;
  }

  // How a streaming model is prepared for blocks of `frames`, of which the program runs `least` to `most`.
  [[nodiscard]] static PrepareOptions stream_options(const NodeContext& context, std::int64_t frames,
                                                     std::int64_t least, std::int64_t most) noexcept;
  // Makes `to` a stream as stream(), over `session`, whose blocks have another size.
  void start_like(NodeContext& context, const Session& session, ModelStream& to) noexcept;

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }
  // Bytes of an input frame.
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return stepped_ ? shape_.in_bytes : stream_.frame_bytes();
  }
  // The layout of frames of a model that runs as a stream.
  [[nodiscard]] ModelStream& stream() noexcept { return stream_; }

  // The parts of process() with a model that runs in steps, windows or clips, for programs that run them
  // together. The session; only with such a model.
  [[nodiscard]] SteppedSession& stepped() noexcept { return *stepped_; }
  [[nodiscard]] const SteppedSession& stepped() const noexcept { return *stepped_; }
  // Takes frames, all of them or those up to the next run, which is due() then; returns how many.
  std::int64_t take(const std::byte* frames, std::int64_t count) noexcept;
  // Appends the output of a run that has ended.
  void give(Output& out) noexcept;

 private:
  Status choose_output(const Model& loaded, const ModelUsage& usage) noexcept;
  Status prepare_stream(NodeContext& context, const Model& loaded) noexcept;
  Status prepare_stepped(NodeContext& context, const Model& loaded, const ModelUsage& usage) noexcept;
  Status give_labels(NodeContext& context, const Model& loaded) noexcept;
  void step(Output& out) noexcept;
  ModelStreamShape shape_of(const Model& loaded, const NodeContext& context, int to) const noexcept;

  const Prepared* prepared_ = nullptr;
  ModelStream stream_;  // stream
  std::optional<SteppedSession> stepped_;
  InputValues input_;
  OutputValues output_values_;
  int position_ = 0;  // of the output
  ModelStreamShape shape_;
  std::int64_t grid_ = 0;     // stepped: index of the next run's first output frame
  std::int64_t skip_ = 0;     // stepped: input frames left to drop
  std::int64_t ignored_ = 0;  // input frames after a clip
};

}  // namespace runnel::pipeline
