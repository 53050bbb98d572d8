// What may be said: words as sequences of tokens, and which word may follow which. A lexicon trie is the
// graph in which every word may follow every word.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace runnel::decoding {

// A place within a word, or between two.
struct WordNode {
  std::int32_t first_arc = 0, arcs = 0;
  std::int32_t word = -1;   // that ends here; -1: none
  std::int32_t after = -1;  // the node from which the next word begins; -1: no word may follow
  bool accepts = false;     // the utterance may end here
};

struct WordArc {
  std::int32_t token = 0, node = 0;
};

// Constant, for example in flash; refers to memory of others.
struct WordGraph {
  std::span<const WordNode> nodes;
  std::span<const WordArc> arcs;  // those of a node are ordered by token; a token may come more than once
  std::span<const std::string_view> words;
  std::int32_t start = 0;

  [[nodiscard]] std::span<const WordArc> arcs_of(std::int32_t node) const noexcept {
    const WordNode& at = nodes[static_cast<std::size_t>(node)];
    return arcs.subspan(static_cast<std::size_t>(at.first_arc), static_cast<std::size_t>(at.arcs));
  }
};

}  // namespace runnel::decoding
