// Runs frames through a session in blocks, for rom_infer and for infer with a streaming model.
//
// Output frame j has the logical index j of the offline run for any delay of the model. After a gap the
// session is reset on the same grid.
#pragma once

#include "inference/frames.h"
#include "inference/session.h"
#include "pipeline/block.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/bypass.h"

namespace runnel::pipeline {

// Converts `values` values from one type to another.
struct ValueConverter {
  void (*run)(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept = nullptr;
  const void* self = nullptr;
};

// How frames of the pipeline map to tensors of the model.
struct ModelStreamShape {
  FrameLayout in, out;                         // of the tensors
  std::int64_t in_values = 0, out_values = 0;  // per frame
  std::size_t in_bytes = 0, out_bytes = 0;     // per frame, in the pipeline, without what passes by the model
  std::int64_t out_frames = 0;                 // of the output's block
  std::int64_t up = 1, down = 1;               // output frames per input frames
  int position = 0;                            // of the output
};

class ModelStream {
 public:
  // Makes its own session, with workspace and state in the memories that `prepared` specifies. Error:
  // out_of_memory.
  static Result<Session> make_session(NodeContext& context, const Prepared& prepared) noexcept;
  // Sets clock and max_output of `context`. `bypass`: prepared, outlives this, takes what passes by the
  // model, whose output then has as many frames as its input; null: nothing does.
  void start(NodeContext& context, const Session& session, const ModelStreamShape& shape, ValueConverter in,
             ValueConverter out, Bypass* bypass = nullptr) noexcept;
  // As in Node.
  std::int64_t reset(std::int64_t first) noexcept;
  void process(const Block& in, Output& out) noexcept;
  void flush(Output& out) noexcept;

  // The stream between two calls as bytes: its counters, the frames that wait for a full block, and the
  // session's own state. `restore` refuses bytes of another model or block size, and leaves the stream as it
  // was then.
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  Status save(std::span<std::byte> to) noexcept;
  Status restore(std::span<const std::byte> from) noexcept;

  // The parts of process(), for programs that run sessions together.

  // Drops input frames after a reset: at most `count`; returns how many.
  std::int64_t skip(std::int64_t count) noexcept;
  // Appends frames of frame_bytes() to the block that the session will run next; they fit.
  void store(const std::byte* frames, std::int64_t count) noexcept;
  // Fetches the results of a block that has run.
  void collect(Output& out) noexcept;
  // Runs a copy of this session, which has another workspace, from now on.
  void use(const Session& session) noexcept { session_ = session; }
  [[nodiscard]] const Session& session() const noexcept { return session_; }
  // Of an input frame in the pipeline.
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return shape_.in_bytes + (bypass_ == nullptr ? 0 : bypass_->bytes());
  }
  [[nodiscard]] Bypass* bypass() const noexcept { return bypass_; }
  // Frames that wait for a full block.
  [[nodiscard]] std::int64_t pending() const noexcept { return pending_; }
  // Frames of this stream have been run by another one, over the same state in blocks of another size.
  void heard() noexcept { heard_ = true; }
  // The state that this stream shares with `other` was restored: the positions are those of `other`.
  void follow(const ModelStream& other) noexcept {
    grid_ = other.grid_;
    skip_ = pending_ = 0;
    heard_ = ended_ = false;
    session_.moved();
  }

  // For Bypass.

  // The part of frames that the model takes: dense ones, to a place in the block.
  void convert(const std::byte* frames, std::int64_t count, std::int64_t place) noexcept;
  [[nodiscard]] const ModelStreamShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const ValueConverter& output_converter() const noexcept { return out_; }
  // Index of the output frame that the session numbers 0.
  [[nodiscard]] std::int64_t grid() const noexcept { return grid_; }

 private:
  void run(Output& out) noexcept;
  // From one block of the input to another: the frames that wait.
  void copy_waiting(const std::byte* from, std::byte* to) const noexcept;
  [[nodiscard]] std::size_t waiting_bytes() const noexcept;

  Session session_;
  ModelStreamShape shape_;
  ValueConverter in_, out_;
  Bypass* bypass_ = nullptr;  // null: nothing passes by the model
  std::int64_t skip_ = 0;     // input frames left to drop
  std::int64_t grid_ = 0;
  std::int64_t pending_ = 0;  // frames in the session's input, waiting for a full block
  bool heard_ = false, ended_ = false;
};

// Appends the frames of a run, whose block is `frames.block`, to `out`.
void copy_out(const ModelStreamShape& shape, const ValueConverter& convert, const OutputFrames& frames,
              Output& out) noexcept;
// The first output frame at or after input frame `first`; `skip`: input frames before it.
std::int64_t first_on_grid(const ModelStreamShape& shape, std::int64_t first, std::int64_t& skip) noexcept;

}  // namespace runnel::pipeline
