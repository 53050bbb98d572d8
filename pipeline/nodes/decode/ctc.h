// Decodes the outputs of a recogniser that was trained with connectionist temporal classification, frame by
// frame, into words.
//
// mode=greedy (decoding/greedy_ctc.h): the best token of every frame, repetitions joined, blanks dropped.
// mode=beam (decoding/prefix_beam.h): the most likely text as the sum over its alignments, within a lexicon
// or a grammar if there is one, and with the scores of hotwords. A lexicon or a grammar makes words of any
// sound: where the best hypothesis is that nothing was said there is no result, and min_confidence leaves out
// the unlikely ones.
//
// Input: logits or log-probabilities, which give the same, or posteriors. Times are those of logical frames:
// they do not depend on the delay of the model.
#pragma once

#include "decoding/frame_scores.h"
#include "decoding/greedy_ctc.h"
#include "decoding/prefix_beam.h"
#include "pipeline/nodes/decode/decoder.h"

namespace runnel::pipeline {

class Ctc : public Decoder {
 public:
  static const NodeType type;

  std::string_view mode = "greedy";
  std::string_view activation = "softmax";
  std::int64_t beam = 8;
  std::int64_t candidates = 16;
  std::string_view lexicon, grammar, hotwords;
  double hotword_score = 2;
  double min_confidence = 0;

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    Decoder::state(archive);
    if (beam_mode_)
      beam_.state(archive);
    else
      greedy_.state(archive, tables->vocabulary.size());
    // A full search ends its utterance at once.
    archive.expect(!full(), "a full utterance");
  }

 protected:
  Status read_tables(NodeContext& context, std::int32_t classes) noexcept override;
  void restart_search() noexcept override;
  void next_utterance(bool keep) noexcept override;
  bool step(std::span<const float> values, std::int32_t frame, bool& silent) noexcept override;
  void step_blank(std::int32_t frame) noexcept override;
  Found found(bool final) noexcept override;
  [[nodiscard]] bool heard_any() const noexcept override;
  [[nodiscard]] bool full() const noexcept override;

 private:
  Status prepare_beam(NodeContext& context, std::int32_t classes) noexcept;
  void step_with(std::int32_t frame) noexcept;
  [[nodiscard]] bool is_sure(std::span<const decoding::HeardToken> heard) const noexcept;

  bool beam_mode_ = false;
  float least_confidence_ = 0;
  decoding::FrameScores scores_;
  decoding::FrameScores::Kind kind_ = decoding::FrameScores::Kind::logits;
  decoding::GreedyCtc greedy_;
  decoding::PrefixBeam beam_;
  decoding::HeardToken* found_ = nullptr;  // [max_tokens], of the beam
  bool* silent_ = nullptr;                 // [classes]: tokens without sound
  bool* begins_word_ = nullptr;            // [classes]
  float* blank_frame_ = nullptr;           // [classes]: logits of a frame that is surely blank
};

}  // namespace runnel::pipeline
