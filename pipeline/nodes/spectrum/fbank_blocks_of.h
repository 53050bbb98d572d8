// Shared by the nodes fbank and stft: a front end from blocks of samples to blocks of frames.
#pragma once

#include <algorithm>
#include <optional>

#include "features/fbank/fbank_steps.h"
#include "pipeline/node.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Checks that a front end can take these samples; `who`: name of the node in messages.
Status check_fbank_input(const features::FbankOptions& options, std::string_view who,
                         NodeContext& context) noexcept;

// F: features::Fbank or its constant form. Frames lie on one grid of the shift for the whole recording: after
// a gap, samples up to the next point of it are dropped.
template <class F>
class FbankBlocksOf {
 public:
  std::int64_t reset(std::int64_t first) noexcept;
  Status process(const Block& in, Output& out) noexcept;
  Status flush(Output& out) noexcept;
  // Number of samples since prepare() that were not finite and were read as 0.
  [[nodiscard]] std::int64_t replaced() const noexcept {
    return replaced_ + (fbank_ ? fbank_->non_finite_samples() : 0);
  }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    fbank_->state(archive);
    archive.index(replaced_);
    grid_.state(archive);
  }
  // For derived classes, which construct the front end and then set the output format.
  [[nodiscard]] std::optional<F>& front_end() noexcept { return fbank_; }
  void describe_output(NodeContext& context) noexcept;

 private:
  [[nodiscard]] std::int64_t shift() const noexcept { return fbank_->shape().grid.shift; }
  [[nodiscard]] std::span<float> room(const Output& out) const noexcept;

  std::optional<F> fbank_;
  std::int64_t replaced_ = 0;  // before the last reset
  WindowGrid grid_;
};

template <class F>
void FbankBlocksOf<F>::describe_output(NodeContext& context) noexcept {
  const features::FrameGrid& grid = fbank_->shape().grid;
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(fbank_->dims());
  context.output.clock = context.input.clock.windows(grid.shift, grid.start_of(0), grid.length);
  context.max_output = static_cast<std::int64_t>(
      std::max(fbank_->max_frames(static_cast<std::size_t>(context.max_input)), std::size_t{1}));
}

template <class F>
std::int64_t FbankBlocksOf<F>::reset(std::int64_t first) noexcept {
  replaced_ = replaced();
  fbank_->reset();
  grid_.set_hop(shift());
  return grid_.reset(first);
}

template <class F>
std::span<float> FbankBlocksOf<F>::room(const Output& out) const noexcept {
  return {out.as<float>(), static_cast<std::size_t>(out.capacity) * fbank_->dims()};
}

template <class F>
Status FbankBlocksOf<F>::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = grid_.drop(in.count);
  out.first = grid_.index(fbank_->next_frame());
  const auto count = static_cast<std::size_t>(in.count - dropped);
  const auto step = fbank_->push(std::span<const float>(in.as<float>() + dropped, count), room(out));
  out.count = static_cast<std::int64_t>(step.frames);
  return step.samples == count ? Status() : fbank_->status();
}

template <class F>
Status FbankBlocksOf<F>::flush(Output& out) noexcept {
  out.first = grid_.index(fbank_->next_frame());
  out.count = static_cast<std::int64_t>(fbank_->flush(room(out)));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
