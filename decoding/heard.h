// What a search has found so far in an utterance.
#pragma once

#include <cstdint>
#include <span>

namespace runnel::decoding {

// Most frames of an utterance, so that they can be counted in 32 bits. Decoders end an utterance long before.
inline constexpr std::int64_t kMostFrames = std::int64_t{1} << 30;

// A token and where it was heard; frames count from the start of the utterance.
struct HeardToken {
  std::int32_t token = 0;
  std::int32_t word = -1;  // searches with a word graph: the word that ends with this token; -1: none does
  std::int32_t first = 0, last = 0;  // frames, both included
  float confidence = 0;              // 0 .. 1

  // As one of `classes` tokens and of `words` words (base/state_archive.h).
  template <class Archive>
  void state(Archive& archive, std::int32_t classes, std::int32_t words) noexcept {
    archive.bounded(token, 0, classes - 1);
    archive.bounded(word, -1, words - 1);
    archive.bounded(first, 0, static_cast<std::int32_t>(kMostFrames));
    archive.bounded(last, 0, static_cast<std::int32_t>(kMostFrames));
    archive.value(confidence);
  }
};

}  // namespace runnel::decoding
