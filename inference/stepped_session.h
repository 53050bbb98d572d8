// A model that is no stream itself, run over a stream of frames: in steps, in windows, or once over a clip
// (usage.h).
//
//     reset();
//     while frames come: { skip(..); write at most wanted() of them to room(); written(n); if (due()) {
//     run(); look at session() } } finish(); while (due()) { run(); ... }
//
// At the end of a stream: a step that has begun is filled up with zeros, and so are the frames that steps
// look ahead to, until each frame was one of a step's own; a window is not, unless it is the first one; nor
// is a clip that is complete. Runs depend on the frames alone, not on the pieces in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/model/usage.h"
#include "inference/prepared.h"
#include "inference/session.h"

namespace runnel {

// How a model of this usage is prepared: for one run.
PrepareOptions prepare_options(const Model& model, const ModelUsage& usage,
                               PrepareOptions options = {}) noexcept;

// One stream. Not thread-safe; no allocation after make().
class SteppedSession {
 public:
  // `prepared` with prepare_options(); `usage` and `prepared` belong to the same model. Errors: those of
  // Session and its memory.
  static Result<SteppedSession> make(const Prepared& prepared, const ModelUsage& usage,
                                     Memory& memory) noexcept;
  // With a session that exists, one of a group for example, which outlives this object.
  static Result<SteppedSession> make(const Session& session, const ModelUsage& usage,
                                     Memory& memory) noexcept;

  // As new: zeros for context and state.
  void reset() noexcept;

  // Drops frames that no run looks at: at most `count`, returns how many.
  std::int64_t skip(std::int64_t count) noexcept;
  // Frames that may be written before the next run; 0 when one is due, or when no more will be.
  [[nodiscard]] std::int64_t wanted() const noexcept { return over_ ? 0 : usage_.frames - filled_; }
  // Where they go: dense, in the type of the model's input, `frame_values` values each.
  [[nodiscard]] std::byte* room() noexcept {
    return kept_ + static_cast<std::size_t>(filled_) * frame_bytes_;
  }
  void written(std::int64_t count) noexcept;
  [[nodiscard]] bool due() const noexcept { return !over_ && filled_ == usage_.frames; }
  // Runs the model on what is there. Outputs are those of session() until the next run.
  void run() noexcept;
  // The same around a block that session() runs in between, together with others (stepped_group.h).
  void begin_run() noexcept;
  void end_run() noexcept;
  // The stream has ended: a run may be due, and after it more of them. Again: nothing.
  void finish() noexcept;

  // Runs a copy of this session, which has another workspace, from now on: not between begin_run() and
  // end_run().
  void use(const Session& session) noexcept { session_ = session; }
  // The stream between two runs as bytes: its counters, the frames kept, the states of the pairs, and the
  // session's own. `restore` refuses bytes of another model, and leaves the stream as it was then.
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  Status save(std::span<std::byte> to) const noexcept;
  Status restore(std::span<const std::byte> from) noexcept;

  [[nodiscard]] Session& session() noexcept { return session_; }
  [[nodiscard]] const ModelUsage& usage() const noexcept { return usage_; }
  // A clip has been run; what comes after it is not looked at.
  [[nodiscard]] bool over() const noexcept { return over_; }

 private:
  void zero(const TensorView& tensor, std::byte* to, std::int64_t values) const noexcept;
  void place_input() noexcept;
  void fill_up() noexcept;

  ModelUsage usage_;
  Session session_;
  TensorView input_;
  std::byte* kept_ = nullptr;    // [frames][frame_values]
  std::byte* states_ = nullptr;  // of all pairs, each from a multiple of 16
  std::size_t frame_bytes_ = 0, states_bytes_ = 0;
  std::int64_t filled_ = 0, fresh_ = 0;  // frames in kept_; new since the last run
  std::int64_t skip_ = 0;                // frames to be dropped (advance > frames)
  std::int64_t left_ = 0;                // look-ahead, after the end: frames that no step took as its own yet
  bool ran_ = false, over_ = false, finished_ = false;
};

}  // namespace runnel
