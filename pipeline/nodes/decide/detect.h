// Makes events out of the outputs of a classifier, frame by frame.
//
// mode=stream. Per frame t: posteriors (softmax of the logits); for every label their mean over the last
// `smoothing_frames` frames, where frames before the start count as 0; the best label c that is not
// ignored, with the mean p.
//   * The detector is re-armed when p < release.
//   * It makes an event and is disarmed when p >= threshold, and it is armed or c is not the label of
//     the last event, and at least `refractory_frames` frames have passed since the last event.
// The event's score is p; its frame is t. It ends with the last sample of frame t, when the decision could be
// made. It begins with the first sample of the earliest frame among the last `smoothing_frames` ones in
// which c itself had a posterior of 1/2 or more (if there is none: of the frame in which it was highest).
// So the span lies within the word, or touches its end.
//
// mode=wake-word. The rule of microWakeWord. Per frame the same means; the best label's mean p. A frame is
// quiet when every label that is not ignored has a posterior below `release`. An event is made when
// p >= threshold and at least `refractory_frames` quiet frames have passed since the last event
// (`warm_up_frames` before the first one). Then the means restart from 0. Score and span as above.
//
// Both streaming modes have these options, all off by default.
//   * smoothing=exponential: p(t) = p(t-1) + (posterior - p(t-1)) / smoothing_frames instead of the mean,
//     rounded to integers.
//   * thresholds: thresholds of single labels. The best label is then the one with the highest mean among
//     those that reach their threshold, if there is one. The release of such a label is the same fraction of
//     its threshold as `release` is of `threshold`.
//   * gate: a label of voice activity. A frame makes no event when the label's own posterior is below
//     `gate_threshold` in it and in the `gate_hold_frames` frames before it.
//   * veto: a label that speaks against an event, such as `unknown`. A frame makes no event when the mean
//     posterior of this label over the `veto_frames` frames before the last `smoothing_frames` ones is
//     `veto_threshold` or more; frames before the start (in mode=wake-word: before the means restarted) count
//     as 0. What a word begins with tells it from one that only ends like it.
//   * endpoint_frames: an event waits until its label has been below its release for this many frames, or
//     another event comes, or the stream ends. It then ends with the last frame that was not below. Its
//     frame and score stay those of the decision.
//   * sequence: labels that must follow each other, each within `sequence_frames` frames of the one before.
//     One event, named by the sequence as it was written, spans them all; its score is the lowest one. Single
//     events are not given.
//
// mode=clip. One event per recording (or part between gaps): the label whose mean logit over all frames is
// highest, ignored labels included. It spans all frames; its score is the softmax of the mean logits. No
// frames, no event.
//
// Posteriors and thresholds (rounded up) are integers of 30 fractional bits, so that running sums are exact
// and the result does not depend on how the stream was cut. No double precision is used per frame, as small
// devices emulate it in software; the exponential has the same bits on every machine.
#pragma once

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

#ifdef __linux__
using DetectDeferral = Deferral;
#else
using DetectDeferral = NoDeferral;
#endif

class Detect final : public Detector<Detect, DetectDeferral> {
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
  std::string_view veto;
  double veto_threshold = 0.5;
  std::int64_t veto_frames = 35;
  std::int64_t endpoint_frames = 0;
  std::string_view sequence;
  std::int64_t sequence_frames = 200;

  Status prepare(NodeContext& context) noexcept override;
  // Valid once prepared; the pointers refer to the node's memory.
  [[nodiscard]] const DetectorFacts& facts() const noexcept { return facts_; }

 private:
  Status name_labels(NodeContext& context) noexcept;
  Status ignore_labels(NodeContext& context) noexcept;
  Status set_thresholds(NodeContext& context) noexcept;
  Status set_gate() noexcept;
  Status set_veto() noexcept;
  Status set_sequence(NodeContext& context) noexcept;
  // The class of a name; -1: unknown.
  [[nodiscard]] std::int32_t class_of(std::string_view name) const noexcept;
  Status no_such_label(std::string_view parameter, std::string_view name) const noexcept;

  DetectorFacts facts_;
};

}  // namespace runnel::pipeline
