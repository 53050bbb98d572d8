// Search in a transducer with a stateless decoder (Graves, 2012; Ghodsi and others, 2020): at most one token
// per frame
// ("modified beam search"), which with one hypothesis is greedy search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "decoding/frame_scores.h"
#include "decoding/heard.h"
#include "decoding/hotwords.h"
#include "decoding/token_history.h"

namespace runnel::decoding {

// Decoder and joiner of a transducer.
class TransducerModel {
 public:
  // What the decoder says after the last tokens, the latest one last; `to` has `predicted` values.
  virtual void predict(std::span<const std::int32_t> context, std::span<float> to) noexcept = 0;
  // The logits of all tokens, from a frame of the encoder and what predict() gave; valid until the next call.
  virtual std::span<const float> join(std::span<const float> frame,
                                      std::span<const float> predicted) noexcept = 0;

 protected:
  ~TransducerModel() = default;
};

struct TransducerSettings {
  std::int32_t classes = 0, blank = 0;
  std::int32_t beam = 1;  // hypotheses
  std::int32_t max_tokens = 512;
  std::int32_t context =
      2;  // tokens that the decoder looks at, 1 .. kMostContext; blanks before the first one
  std::int32_t predicted = 0;  // values of predict()
  const Hotwords* hotwords = nullptr;
  const bool* begins_word = nullptr;  // as in BeamSettings
};

inline constexpr std::int32_t kMostContext = 16;

// Hypotheses with the same tokens are one, with the sum of their probabilities. The confidence of a token is
// its posterior in its frame. What the decoder says is kept for each hypothesis, so that a frame without a
// new token does not run it. No heap; one thread.
class TransducerBeam {
 public:
  // `model` outlives this. Error: out_of_memory.
  Status prepare(Memory& memory, const TransducerSettings& settings, TransducerModel& model) noexcept;

  void restart() noexcept;
  // `keep`: the last tokens stay the context of the next utterance.
  void next_utterance(bool keep) noexcept;
  // False, with the state unchanged, when the logits of a hypothesis have a value that no search can use.
  bool step(std::span<const float> frame, std::int32_t index) noexcept;
  // The frame was surely blank for the best hypothesis.
  [[nodiscard]] bool silent() const noexcept { return silent_; }

  // As those of PrefixBeam.
  std::size_t best(bool final, std::span<HeardToken> to) const noexcept;
  [[nodiscard]] std::size_t settled(std::span<const HeardToken> best) const noexcept;
  [[nodiscard]] std::int64_t score(bool final) const noexcept;
  [[nodiscard]] bool heard() const noexcept { return now_[0].length > 0; }
  [[nodiscard]] bool full() const noexcept { return now_[0].length >= settings_.max_tokens; }

  template <class Archive>
  void state(Archive& archive) noexcept;
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  void save(std::span<std::byte> to) const noexcept;
  Status restore(std::span<const std::byte> from) noexcept;

 private:
  struct Hypothesis {
    LogProbability log = 0;
    HeardToken last;  // length > 0
    std::int32_t before = -1, length = 0;
    std::uint32_t hash = 0;
    std::int32_t slot = 0;  // of what the decoder says
    HotwordScore hot;
  };
  struct Extension {
    LogProbability log = 0, rank = 0;
    std::int32_t source = 0, token = 0;
    float posterior = 0;
    HotwordScore hot;
  };
  struct State {
    std::int64_t base = 0;
    std::int32_t count = 0;
    std::int32_t seed[kMostContext] = {};  // the context before the first token
  };

  bool join_all(std::span<const float> frame) noexcept;
  void extend(std::int32_t source) noexcept;
  void offer(const Extension& extension) noexcept;
  void keep_best(std::int32_t index) noexcept;
  void predict(Hypothesis& hypothesis) noexcept;
  void predict_all() noexcept;
  void last_tokens(const Hypothesis& of, std::span<std::int32_t> to) const noexcept;
  [[nodiscard]] std::span<float> said(std::int32_t slot) const noexcept;
  [[nodiscard]] const Hypothesis* best_of(bool final) const noexcept;
  void collect_garbage() noexcept;

  TransducerSettings settings_;
  TransducerModel* model_ = nullptr;
  Hypothesis *now_ = nullptr, *next_ = nullptr;  // [beam], the best first
  TokenHistory history_;
  float* said_ = nullptr;            // [2 * beam][predicted]
  bool* taken_ = nullptr;            // [2 * beam]: slots
  float* logits_ = nullptr;          // [beam][classes]
  Extension* extensions_ = nullptr;  // [beam], the best first
  std::int32_t extension_count_ = 0;
  LogProbability *stays_ = nullptr, *ranks_ = nullptr;  // [beam]
  std::int32_t* order_ = nullptr;                       // [beam]: of stays, the best first
  bool silent_ = false;
  State state_;
};

template <class Archive>
void TransducerBeam::state(Archive& archive) noexcept {
  constexpr std::int64_t kMostBase = std::int64_t{1} << 60;
  archive.bounded(state_.base, -kMostBase, kMostBase);
  archive.bounded(state_.count, 1, settings_.beam);
  archive.all_bounded(std::span(state_.seed, static_cast<std::size_t>(settings_.context)), 0,
                      settings_.classes - 1);
  if (archive.restores()) history_.clear();
  for (std::int32_t i = 0; i < state_.count && archive.ok(); ++i) {
    Hypothesis& one = now_[i];
    archive.bounded(one.log, kNever, 0);
    archive.bounded(one.length, 0, settings_.max_tokens);
    archive.value(one.hash);
    archive_score(archive, one.hot, settings_.hotwords);
    if (one.length > 0) one.last.state(archive, settings_.classes, 0);
    history_.chain(archive, one.before, one.length - 1, settings_.classes, 0);
  }
  if (archive.restores() && archive.ok()) predict_all();
}

}  // namespace runnel::decoding
