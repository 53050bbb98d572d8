// What decoders of speech share: utterances, their ends, partial and final results.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "decoding/endpoint.h"
#include "decoding/heard.h"
#include "decoding/search_tables.h"
#include "pipeline/node.h"
#include "pipeline/nodes/decode/transcript_writer.h"

namespace runnel::pipeline {

// An utterance ends by its silences, its length, or a voice detector (`endpoint`), when it has `max_tokens`
// tokens, at a gap and at the end of the stream. Then its final result comes, if it has words; partial
// results come before, on a grid of frames counted from the start of the utterance, when the tokens have
// changed. So results do not depend on the partition into blocks.
class Decoder : public Node {
 public:
  // The tokens: of this file; else `tables`, where a program has them as constants; else the labels of the
  // model.
  std::string_view tokens;
  std::string_view units = "auto";
  std::string_view blank;
  std::string_view endpoint = "silence";
  double silence_before = 2.4, silence_after = 1.2, longest = 20;  // s
  double voice_threshold = 0.5;
  bool reset_decoder = true;
  double partials = 0.2;  // s
  std::int64_t max_tokens = 256;
  std::string_view non_finite = "blank";
  const decoding::SearchTables* tables = nullptr;

  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h; without the search
    archive.index(segment_);
    archive.index(next_);
    archive.index(first_, next_);
    archive.expect(next_ - first_ < decoding::kMostFrames, "the length of an utterance");
    archive.value(started_);
    archive.value(shown_any_);
    archive.bounded(shown_count_, 0, static_cast<std::int32_t>(max_tokens));
    if (archive.ok()) archive.values(std::span(shown_, static_cast<std::size_t>(shown_count_)));
    archive.index(replaced_);
    endpoint_.state(archive);
  }

 protected:
  // Reads the files that parameters name; programs without files refuse them. Sets `tables`, with as many
  // tokens as `classes`. Null after it: the labels become the tokens.
  virtual Status read_tables(NodeContext& context, std::int32_t classes) noexcept;

  // A new stream; a new utterance, after `reset_decoder` or going on.
  virtual void restart_search() noexcept = 0;
  virtual void next_utterance(bool keep) noexcept = 0;
  // Takes a frame of float32; `frame` counts from the start of the utterance. False when it has a value that
  // no search can use: then it counts as a blank if the node says so. Sets `silent`.
  virtual bool step(std::span<const float> values, std::int32_t frame, bool& silent) noexcept = 0;
  virtual void step_blank(std::int32_t frame) noexcept = 0;
  // What was heard, in memory that is valid until the next step.
  struct Found {
    std::span<const decoding::HeardToken> tokens;
    std::size_t settled = 0;
  };
  virtual Found found(bool final) noexcept = 0;
  [[nodiscard]] virtual bool heard_any() const noexcept = 0;
  [[nodiscard]] virtual bool full() const noexcept = 0;

  // The first part of prepare(): frames and tokens, of which there are `classes`.
  Status prepare_tables(NodeContext& context, std::int32_t classes) noexcept;
  // The last part: memory and the output.
  Status make_ready(NodeContext& context) noexcept;

 private:
  Status own_tables(NodeContext& context, std::int32_t classes) noexcept;
  Status set_times(NodeContext& context) noexcept;
  std::span<const float> read(const std::byte* frame) noexcept;
  void end_utterance(std::int64_t frame, Output& out) noexcept;
  void show(std::int64_t frame, Output& out) noexcept;
  void give(const Found& found, bool final, std::int64_t frame, Output& out) noexcept;

  DType dtype_ = DType::float32;
  float scale_ = 1;
  std::size_t frame_bytes_ = 0;
  std::string_view label_;
  float* values_ = nullptr;  // [channels]: of one frame
  std::int32_t channels_ = 0;
  bool voice_ = false, refuse_ = false;
  float voice_level_ = 0.5f;
  decoding::SearchTables own_;
  TranscriptWriter writer_;
  decoding::Endpoint endpoint_;
  std::int32_t partial_frames_ = 0;
  std::int32_t* shown_ = nullptr;  // [max_tokens]: of the last partial result
  std::int32_t shown_count_ = 0;
  bool shown_any_ = false;                           // a partial result of this utterance
  std::int64_t segment_ = 0, first_ = 0, next_ = 0;  // first frame of the utterance; the one after the last
  bool started_ = false;
  std::int64_t replaced_ = 0;
};

}  // namespace runnel::pipeline
