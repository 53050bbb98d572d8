// Greedy decoding of connectionist temporal classification (Graves and others, 2006): the best token of every
// frame, repetitions joined, blanks dropped.
#pragma once

#include <cstddef>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "decoding/frame_scores.h"
#include "decoding/heard.h"

namespace runnel::decoding {

// The confidence of a token is the mean of its posteriors over its frames. State is bounded: at most
// max_tokens of an utterance. No heap; one thread.
class GreedyCtc {
 public:
  // Error: out_of_memory.
  Status prepare(Memory& memory, std::int32_t blank, std::int32_t max_tokens) noexcept;

  // A new stream.
  void restart() noexcept;
  // A new utterance of the same stream: what is left of the last token is not heard again.
  void next_utterance() noexcept;
  // Takes frame `frame` of the utterance. Not allowed when full().
  void step(const FrameScores& scores, std::int32_t frame) noexcept;

  // Valid until the next step(). The last one may still get longer.
  [[nodiscard]] std::span<const HeardToken> tokens() const noexcept {
    return {tokens_, static_cast<std::size_t>(state_.count)};
  }
  // Tokens that no later frame removes or replaces: all.
  [[nodiscard]] std::size_t settled() const noexcept { return static_cast<std::size_t>(state_.count); }
  [[nodiscard]] bool full() const noexcept { return state_.count >= max_tokens_; }

  // Everything that later results depend on (base/state_archive.h). `classes`: of the scores.
  template <class Archive>
  void state(Archive& archive, std::int32_t classes = std::int32_t{1} << 30) noexcept {
    archive.bounded(state_.count, 0, max_tokens_);
    archive.bounded(state_.run, -1, classes - 1);
    archive.value(state_.sum);
    archive.bounded(state_.frames, 0, static_cast<std::int32_t>(kMostFrames));
    for (std::int32_t i = 0; i < state_.count && archive.ok(); ++i) tokens_[i].state(archive, classes, 0);
  }
  // The same as bytes of its own, which depend on what was heard.
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  void save(std::span<std::byte> to) const noexcept;
  // Error: mismatch for bytes that save() of an object with the same settings did not write; then a new
  // stream begins.
  Status restore(std::span<const std::byte> from) noexcept;

 private:
  struct State {
    std::int32_t count = 0;
    std::int32_t run = -1;  // the token of the previous frame; -1: none
    float sum = 0;          // of the posteriors of the run
    std::int32_t frames = 0;
  };

  std::int32_t blank_ = 0, max_tokens_ = 0;
  HeardToken* tokens_ = nullptr;  // [max_tokens]
  State state_;
};

}  // namespace runnel::decoding
