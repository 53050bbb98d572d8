// Prefix beam search of connectionist temporal classification: the most likely sequences of tokens, each with
// the sum over all of its alignments (Graves and Jaitly, 2014; Hannun and others, 2014), among all sequences
// or those of a word graph, with the scores of hotwords.
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
#include "decoding/word_graph.h"

namespace runnel::decoding {

struct BeamSettings {
  std::int32_t classes = 0, blank = 0;
  std::int32_t beam = 8;          // hypotheses, 1 .. kMostBeam
  std::int32_t max_tokens = 512;  // of a hypothesis
  // Without a graph: the most likely tokens of a frame that are tried; 0: all.
  std::int32_t candidates = 0;
  const WordGraph* graph = nullptr;    // null: any sequence
  const Hotwords* hotwords = nullptr;  // null: none
  const bool* begins_word = nullptr;   // [classes], for hotwords that are whole words
};

inline constexpr std::int32_t kMostBeam = 1024;

// Scores are integers (log_add.h), so that results are the same everywhere. The confidence of a token is its
// highest posterior in its frames. The memory is that of `beam` hypotheses with max_tokens each. No heap; one
// thread.
class PrefixBeam {
 public:
  // Settings refer to memory that outlives this. Error: out_of_memory.
  Status prepare(Memory& memory, const BeamSettings& settings) noexcept;

  // A new stream.
  void restart() noexcept;
  // A new utterance of the same stream: what is left of the last token is not heard again. `keep`: the place
  // in the word graph and in hotwords stays; otherwise both begin anew.
  void next_utterance(bool keep) noexcept;
  void step(const FrameScores& scores, std::int32_t frame) noexcept;

  // The best hypothesis so far, in `to`, which has room for max_tokens. `final`: only what the graph accepts
  // as complete; nothing where no hypothesis is. Returns the number of tokens.
  std::size_t best(bool final, std::span<HeardToken> to) const noexcept;
  // The first tokens of best(false) that every hypothesis has, so that no later frame changes them. `best` is
  // its result.
  [[nodiscard]] std::size_t settled(std::span<const HeardToken> best) const noexcept;
  // Its score: the logarithm of the sum over alignments, plus what hotwords add.
  [[nodiscard]] std::int64_t score(bool final) const noexcept;
  // Whether something was heard, by the best hypothesis.
  [[nodiscard]] bool heard() const noexcept { return now_[0].length > 0; }
  [[nodiscard]] bool full() const noexcept { return now_[0].length >= settings_.max_tokens; }

  // As those of GreedyCtc.
  template <class Archive>
  void state(Archive& archive) noexcept;
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  void save(std::span<std::byte> to) const noexcept;
  Status restore(std::span<const std::byte> from) noexcept;

 private:
  struct Hypothesis {
    LogProbability blank = kNever, label = kNever;  // alignments that end in a blank, or in the last token
    HeardToken last;           // length 0: token -1, or the one whose end belongs to the previous utterance
    std::int32_t before = -1;  // what precedes `last`: an entry of the history; -1: nothing
    std::int32_t length = 0;   // tokens
    std::uint32_t hash = 0;    // of the tokens
    std::int32_t node = 0;     // of the graph
    HotwordScore hot;
  };
  struct Extension {
    LogProbability label = 0, rank = 0;
    std::int32_t source = 0, token = 0, node = 0, word = -1;
    HotwordScore hot;
  };
  struct Stay {
    LogProbability blank = 0, label = 0, incoming = 0, rank = 0;
  };
  struct State {
    std::int64_t base = 0;  // what was subtracted from all scores
    std::int32_t count = 0, reserved = 0;
  };

  void choose_tokens(const FrameScores& scores) noexcept;
  void extend(const FrameScores& scores, std::int32_t source) noexcept;
  void extend_by(std::int32_t source, LogProbability total, std::int32_t token, LogProbability log,
                 std::int32_t node, std::int32_t word) noexcept;
  void offer(const Extension& extension) noexcept;
  void keep_best(const FrameScores& scores, std::int32_t frame) noexcept;
  Hypothesis stayed(std::int32_t index, const FrameScores& scores, std::int32_t frame) const noexcept;
  Hypothesis extended(const Extension& extension, const FrameScores& scores, std::int32_t frame) noexcept;
  [[nodiscard]] bool same_prefix(std::int32_t entry, const Hypothesis& of) const noexcept;
  [[nodiscard]] bool same(const Hypothesis& a, const Hypothesis& b) const noexcept;
  std::int32_t remember(const Hypothesis& of, std::int32_t word) noexcept;
  void collect_garbage() noexcept;
  [[nodiscard]] const Hypothesis* best_of(bool final) const noexcept;

  BeamSettings settings_;
  Hypothesis *now_ = nullptr, *next_ = nullptr;  // [beam]; `now_` the best first
  TokenHistory history_;
  Extension* extensions_ = nullptr;  // [beam]: the best first
  std::int32_t extension_count_ = 0;
  Stay* stays_ = nullptr;                 // [beam]
  std::int32_t* order_ = nullptr;         // [beam]: of stays, the best first
  std::int32_t* tokens_ = nullptr;        // [candidates]: to try without a graph, the most likely first
  LogProbability* token_logs_ = nullptr;  // [candidates]
  std::int32_t token_count_ = 0;
  State state_;
};

template <class Archive>
void PrefixBeam::state(Archive& archive) noexcept {
  const WordGraph* const graph = settings_.graph;
  const auto words = graph == nullptr ? 0 : static_cast<std::int32_t>(graph->words.size());
  constexpr std::int64_t kMostBase = std::int64_t{1} << 60;
  archive.bounded(state_.base, -kMostBase, kMostBase);
  archive.bounded(state_.count, 1, settings_.beam);
  if (archive.restores()) history_.clear();
  for (std::int32_t i = 0; i < state_.count && archive.ok(); ++i) {
    Hypothesis& one = now_[i];
    archive.bounded(one.blank, kNever, kLogOne);
    archive.bounded(one.label, kNever, kLogOne);
    archive.bounded(one.length, 0, settings_.max_tokens);
    archive.value(one.hash);
    if (graph != nullptr) archive.bounded(one.node, 0, static_cast<std::int32_t>(graph->nodes.size()) - 1);
    archive_score(archive, one.hot, settings_.hotwords);
    if (one.length > 0)
      one.last.state(archive, settings_.classes, words);
    else
      archive.bounded(one.last.token, -1, settings_.classes - 1);
    history_.chain(archive, one.before, one.length - 1, settings_.classes, words);
  }
}

}  // namespace runnel::decoding
