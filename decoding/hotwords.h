// Phrases that are likely: each occurrence adds to the score of what was heard.
#pragma once

#include <cstdint>
#include <span>

#include "decoding/log_add.h"

namespace runnel::decoding {

// A state of the automaton of Aho and Corasick (1975): the longest end of what was heard that begins a
// phrase.
struct HotwordState {
  std::int32_t first_arc = 0, arcs = 0;
  std::int32_t fail = 0;         // the longest shorter one
  LogProbability credit = 0;     // for the begun phrase: lent while it may still be completed
  LogProbability completed = 0;  // the sum of the phrases that are complete here
};

struct HotwordArc {
  std::int32_t token = 0, state = 0;
};

// Constant; state 0 is the root, where nothing has begun.
struct Hotwords {
  std::span<const HotwordState> states;
  std::span<const HotwordArc> arcs;  // those of a state ordered by token
  std::int32_t start = 0;            // at the start of an utterance
  bool whole_words = false;  // a phrase counts only if the next token begins a word, or nothing follows

  [[nodiscard]] bool empty() const noexcept { return states.empty(); }
  // The state after one more token.
  [[nodiscard]] std::int32_t next(std::int32_t state, std::int32_t token) const noexcept;
};

// What the phrases of a hypothesis add: exactly the sum of the scores of its complete phrases, plus what is
// lent.
struct HotwordScore {
  std::int32_t state = 0;
  LogProbability earned = 0;   // by phrases that are complete, whatever follows
  LogProbability pending = 0;  // by phrases that are complete if a new word begins, or nothing follows
  LogProbability lent = 0;

  [[nodiscard]] LogProbability total() const noexcept { return earned + pending + lent; }
  // At the end of an utterance.
  [[nodiscard]] LogProbability settled() const noexcept { return earned + pending; }
};

// Bounds of sums of scores: of the phrases that end at one token, and of all in a hypothesis.
inline constexpr LogProbability kMostCompleted = 1 << 26, kMostEarned = 1 << 28;

// The score of a hypothesis with these hotwords, null for none (base/state_archive.h).
template <class Archive>
void archive_score(Archive& archive, HotwordScore& score, const Hotwords* hotwords) noexcept {
  if (hotwords == nullptr) return;
  archive.bounded(score.state, 0, static_cast<std::int32_t>(hotwords->states.size()) - 1);
  archive.bounded(score.earned, -kMostEarned, kMostEarned);
  archive.bounded(score.pending, -kMostCompleted, kMostCompleted);
  archive.bounded(score.lent, -kMostCompleted, kMostCompleted);
}

// `begins_word`: whether the token begins a word or separates two.
HotwordScore advance(const Hotwords& hotwords, const HotwordScore& score, std::int32_t token,
                     bool begins_word) noexcept;

}  // namespace runnel::decoding
