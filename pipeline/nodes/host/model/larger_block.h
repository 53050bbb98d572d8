// Larger blocks of a streamed model, for frames that arrive many at a time: from a file, a pipe, in packets.
//
// A run of a larger block loads the weights once for all of its frames. Single frames never wait for more: a
// larger block runs only when all of its frames are there, and the smallest one runs the others. Both work on
// one state (Session::make), with the bits of either alone.
#pragma once

#include <cstdint>
#include <limits>

#include "inference/session.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

class LargerBlock {
 public:
  // The size to prepare, a multiple of `block`, the smallest one, when at most `frames` arrive at once; 0:
  // not worth it. Twice as many frames per run take 0.6 to 0.8 of the time, up to about eight; then the gain
  // is small and histories need more memory.
  static constexpr std::int64_t of(std::int64_t block, std::int64_t frames) noexcept {
    std::int64_t times = 8;
    while (times > 1 && times > frames / block) times /= 2;
    return times > 1 ? times * block : 0;
  }

  // Frames per block; 0: there is none.
  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  // The stream over the larger blocks, to be started (Infer::start_like) before ready().
  [[nodiscard]] ModelStream& stream() noexcept { return stream_; }
  void ready() noexcept { frames_ = stream_.session().prepared().block(); }

  // After the reset of the stream over the smallest blocks, which drops the frames before its grid.
  void reset(std::int64_t first) noexcept {
    if (frames_ == 0) return;
    stream_.reset(first);
    stream_.skip(std::numeric_limits<std::int64_t>::max());
  }
  // After `smallest` was restored, whose state both share.
  void follow(const ModelStream& smallest) noexcept { stream_.follow(smallest); }
  // As `smallest`.process(in, out), in frames of `frame_bytes`, with larger blocks where they fit.
  void process(ModelStream& smallest, std::size_t frame_bytes, const Block& in, Output& out) noexcept;

 private:
  ModelStream stream_;
  std::int64_t frames_ = 0;
};

}  // namespace runnel::pipeline
