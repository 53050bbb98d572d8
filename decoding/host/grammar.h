// A grammar of commands: which sequences of words may be said.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::decoding {

// A deterministic automaton over words.
struct Grammar {
  struct State {
    std::map<std::int32_t, std::int32_t> next;  // by word: the state after it
    bool accepts = false;                       // the utterance may end here
  };
  std::vector<std::string> words;
  std::vector<State> states;  // the first one is the start; no word leads back to it
};

// A text of lines; "#" begins a comment. A line `<name> = EXPRESSION` defines a rule, every other line is a
// command. Expressions have words, `a | b`,
// `( a )`, `[ a ]` (may be left out), `a*` (any number), `a+` (at least one) and `<name>`:
//
//     <number> = one | two | three
//     call <number>+
//     turn (on | off) [the] light
//
// A rule may not lead back to itself: what such a grammar accepts cannot be followed in bounded memory; loops
// are written with * and +. Errors: invalid_data that names the line.
Result<Grammar> parse_grammar(std::string_view text, std::string_view name);

// The grammar in which every one of the words may follow every other.
Grammar any_of(const std::vector<std::string>& words);

}  // namespace runnel::decoding
