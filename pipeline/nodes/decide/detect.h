// From the outputs of a classifier, frame by frame, to events.
//
// mode=stream. Per frame t: posteriors (softmax of the logits); for every label their mean over the last
// `smoothing_frames` frames, where frames before the start count as 0; the best label c that is not
// ignored, with the mean p. Then
//     p < release                                                              re-arms the detector;
//     p >= threshold, and (armed, or c is not the last event's label), and
//     at least `refractory_frames` frames since the last event                        makes an event and
//     disarms it.
// The event's score is p; its frame is t; it ends with the last sample of frame t, when the decision could be
// made, and begins with the first sample of the earliest frame among the last `smoothing_frames` ones in
// which c itself had a posterior of 1/2 or more (when there is none: of the frame in which it was highest).
// So the span lies within the word, or touches its end.
//
// mode=wake-word. As microWakeWord decides. Per frame the same means; the best label's mean p. A frame is
// quiet when every label that is not ignored has a posterior below `release`.
//     p >= threshold, and at least `refractory_frames` quiet frames since the last event (`warm_up_frames` in
//     front of the first one)
// makes an event, and the means start anew from 0. Score and span as above.
//
// Both streaming modes can be told more; each of these is off until then.
//   smoothing=exponential   p(t) = p(t-1) + (posterior - p(t-1)) / smoothing_frames instead of the mean,
//   rounded to integers; thresholds              thresholds of labels of their own. The best label is then
//   the one with the highest mean among those that reach theirs,
//                           if there is one. Their releases keep the share of the threshold that `release` is
//                           of `threshold`;
//   gate                    a label of voice activity: a frame in which its own posterior is below
//   `gate_threshold`, and none of the
//                           `gate_hold_frames` frames before it reached that, makes no event;
//   endpoint_frames         an event waits until its label has been below its release for so many frames, or
//   another event comes, or the
//                           stream ends: then it ends with the last frame that was not below. Its frame and
//                           score stay those of the decision;
//   sequence                labels that must come one after the other, each within `sequence_frames` frames
//   of the one before: then one event, named
//                           by the sequence as it was written, spans them all; its score is the lowest one.
//                           Single events are not given.
//
// mode=clip. One event per recording (or piece between gaps): the label whose mean logit over all frames is
// highest, ignored labels included. It spans all frames; its score is the softmax of the mean logits. No
// frames, no event.
//
// Posteriors and thresholds (rounded up) are integers of 30 fractional bits, so that running sums are exact
// and the result does not depend on how the stream was cut. A frame needs no double precision, which small
// machines do in software; the exponential has the same bits on every machine.
#pragma once

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

class Detect final : public Detector<Detect> {
 public:
  static const NodeType type;
  static constexpr std::string_view kUsuallyIgnored = "silence,unknown,_silence_,_unknown_";

  std::string_view mode = "stream";
  double threshold = 0.85;
  double release = -1;
  std::int64_t smoothing_frames = 25;
  std::int64_t refractory_frames = 25;
  std::int64_t warm_up_frames = 0;
  std::string_view ignore = kUsuallyIgnored;
  std::string_view labels;
  std::string_view activation = "softmax";
  std::string_view smoothing = "mean";
  std::string_view thresholds;
  std::string_view gate;
  double gate_threshold = 0.5;
  std::int64_t gate_hold_frames = 25;
  std::int64_t endpoint_frames = 0;
  std::string_view sequence;
  std::int64_t sequence_frames = 200;

  Status prepare(PrepareContext& context) noexcept override;
  // Of a prepared node; what they point to lives in its memory.
  [[nodiscard]] const DetectorFacts& facts() const noexcept { return facts_; }

 private:
  Status name_labels(PrepareContext& context) noexcept;
  Status ignore_labels(PrepareContext& context) noexcept;
  Status set_thresholds(PrepareContext& context) noexcept;
  Status set_gate() noexcept;
  Status set_sequence(PrepareContext& context) noexcept;
  // The class of a name; -1: there is none.
  [[nodiscard]] std::int32_t class_of(std::string_view name) const noexcept;
  Status no_such_label(std::string_view parameter, std::string_view name) const noexcept;

  DetectorFacts facts_;
};

}  // namespace runnel::pipeline
