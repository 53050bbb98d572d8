// How a stream of frames becomes runs of a model: what its file says (fb::Pipeline), checked against the
// model.
//
//   stream  the model runs over the stream itself, and gives what it gives for the whole recording at once
//   step    a run takes `step` frames, before them the last `context` ones, and after them the next
//           `look_ahead` ones, for which it waits; state goes from run to run, inside the model or from
//           its outputs to its inputs
//   window  a run takes the last `window` frames, every `hop` frames; runs know nothing of each other
//   whole   one run takes the recording, which is one clip of `window` frames
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "inference/frames.h"
#include "inference/model/model.h"

namespace runnel {

struct ModelUsage {
  UsageKind kind = UsageKind::stream;
  // Position among the inputs of the one that takes the stream; all others are state.
  int input = 0;
  // Of that input, when it is no stream. -1: its last dimension holds the values of all frames, one frame
  // after the other.
  int time_axis = -1;
  // Frames that a run takes, frames from one run to the next, how many of those before the first run are
  // zeros, and how many at the end of a run the next step takes as its own.
  std::int64_t frames = 0, advance = 0, context = 0, look_ahead = 0;
  // Frames that a step gives; 0: as many as it takes, where an output has them.
  std::int64_t output_frames = 0;
  std::int64_t frame_values = 0;
  FrameLayout layout;
  // Outputs that are inputs of the next run; null: none.
  const flatbuffers::Vector<const fb::StatePair*>* pairs = nullptr;

  [[nodiscard]] bool stepped() const noexcept { return kind != UsageKind::stream; }
};

// `values`: per frame of the stream; 0: not known. It settles what a file leaves open: how many frames
// an input of a given size takes. A file without a pipeline section is a stream when it has a plan,
// and a clip otherwise.
// Errors: invalid_data or mismatch when what the file says contradicts itself, the model or `values`; names
// both sides.
Result<ModelUsage> usage_of(const Model& model, std::int64_t values = 0) noexcept;

// The axis of output `tensor` that has as many frames as a step gives; -1: all its values are one frame.
int output_time_axis(const Model& model, const ModelUsage& usage, int tensor) noexcept;

std::string_view name_of(UsageKind usage) noexcept;

}  // namespace runnel
