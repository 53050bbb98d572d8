// What a decoder of speech has heard: an event with words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pipeline/block.h"

namespace runnel::pipeline {

// A piece of text and where it was heard, in source samples: [begin, end).
struct HeardText {
  std::string_view text;
  std::int64_t begin = 0, end = 0;
  float confidence = 0;  // 0 .. 1
};

// Belongs to an Event (block.h), valid as long as its block; owned by the node that made it.
struct Transcript {
  bool final = false;        // false: a partial result, which the next one of the same segment replaces
  std::int64_t segment = 0;  // number of the utterance in the stream, from 0 on
  std::string_view text;     // the words with single spaces; may be empty
  std::span<const HeardText> words;
  std::span<const HeardText> tokens;  // as the model's vocabulary writes them
  std::int32_t stable = 0;            // the first words that no later result of this segment changes
};

// Whether an event is a partial result, which is no decision yet.
inline bool is_partial(const Event& event) noexcept {
  return event.transcript != nullptr && !event.transcript->final;
}

}  // namespace runnel::pipeline
