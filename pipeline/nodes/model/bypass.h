// The part of frames that passes by a model (Format::beside), as ModelStream sees it: kept from the arrival
// of a frame until the model gives its output for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/session.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

class ModelStream;

// An interface, so that a program in which nothing passes by its model does not have the code: the only
// implementation (passed_frames.h) is linked where a node is PassingBy. Used by one thread; streams over one
// state in blocks of several sizes share one.
class Bypass {
 public:
  // Of a frame's part; more than 0.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  virtual void reset() noexcept = 0;
  // Takes `count` frames of the pipeline: keeps their parts, and gives the rest to the block of `stream`.
  virtual void store(ModelStream& stream, const std::byte* frames, std::int64_t count) noexcept = 0;
  // Appends the frames of a run of `stream`, each behind the part of the same frame, to `out`.
  virtual void collect(const ModelStream& stream, const OutputFrames& frames, Output& out) const noexcept = 0;

  // For ModelStream::save(): what is kept as bytes, and the number of frames that were stored since the
  // reset, which save() returns.
  [[nodiscard]] virtual std::size_t saved_bytes() const noexcept = 0;
  virtual std::int64_t save(std::byte* to) const noexcept = 0;
  virtual void restore(std::int64_t stored, const std::byte* from) noexcept = 0;

 protected:
  ~Bypass() = default;
  std::size_t bytes_ = 0;
};

}  // namespace runnel::pipeline
