// Any number of frames at a time into a session that takes blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "inference/frames.h"
#include "inference/session.h"

namespace runnel {

// Collects source frames into the session's input blocks and runs it whenever one is full. No memory of its
// own: the frames wait where the session reads them. One thread.
class Reblocker {
 public:
  // `session` must stay; it is taken as it is (normally freshly reset).
  explicit Reblocker(Session& session) noexcept : session_(&session) {}

  // Takes `count` source frames; `inputs` has one pointer per graph input, to frames in the input's own
  // layout. `sink(run)` is called after every run; it reads session.output(i).
  // Inputs without time axis are taken as they are.
  template <class Sink>
  void push(std::span<const std::byte* const> inputs, std::int64_t count,
            Sink&& sink) noexcept(noexcept(sink())) {
    const Prepared& prepared = session_->prepared();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t take = std::min(count - done, prepared.block() - waiting_);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::int32_t tensor = prepared.model().inputs()[i];
        const Placement& at = prepared.placement(tensor);
        const TensorView view = prepared.model().tensor(tensor);
        if (at.time_axis < 0) {  // no stream: the same for every block
          std::memcpy(session_->input(static_cast<int>(i)).data(), inputs[i], at.bytes);
          continue;
        }
        copy_frames(FrameLayout::of(view.shape, at.time_axis, view.dtype), inputs[i], count, done,
                    session_->input(static_cast<int>(i)).data(), at.frames, waiting_, take);
      }
      waiting_ += take;
      done += take;
      if (waiting_ == prepared.block()) {
        session_->run(waiting_);
        waiting_ = 0;
        sink();
      }
    }
  }

  // The end of the recording: runs what waits and flushes until the last frame has come out.
  template <class Sink>
  void finish(Sink&& sink) noexcept(noexcept(sink())) {
    session_->run(waiting_);
    waiting_ = 0;
    sink();
    while (session_->flush_calls_left() > 0) {
      session_->run(0);
      sink();
    }
  }

  void reset() noexcept {
    session_->reset();
    waiting_ = 0;
  }
  // Frames that wait for the block to fill.
  [[nodiscard]] std::int64_t waiting() const noexcept { return waiting_; }

 private:
  Session* session_;
  std::int64_t waiting_ = 0;
};

}  // namespace runnel
