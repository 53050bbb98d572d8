#include "decoding/hotwords.h"

#include <algorithm>

namespace runnel::decoding {

std::int32_t Hotwords::next(std::int32_t state, std::int32_t token) const noexcept {
  for (;;) {
    const HotwordState& at = states[static_cast<std::size_t>(state)];
    std::int32_t low = at.first_arc, high = at.first_arc + at.arcs;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      const HotwordArc& arc = arcs[static_cast<std::size_t>(middle)];
      if (arc.token == token) return arc.state;
      if (arc.token < token)
        low = middle + 1;
      else
        high = middle;
    }
    if (state == 0) return 0;
    state = at.fail;
  }
}

HotwordScore advance(const Hotwords& hotwords, const HotwordScore& score, std::int32_t token,
                     bool begins_word) noexcept {
  HotwordScore next = score;
  if (!hotwords.whole_words || begins_word)
    next.earned = std::clamp(score.earned + score.pending, -kMostEarned, kMostEarned);
  next.state = hotwords.next(score.state, token);
  const HotwordState& at = hotwords.states[static_cast<std::size_t>(next.state)];
  next.pending = at.completed;
  next.lent = at.credit;
  return next;
}

}  // namespace runnel::decoding
