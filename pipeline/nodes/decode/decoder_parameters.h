// The parameters that all decoders of speech have, for the tables of their nodes.
#pragma once

#include <array>

#include "pipeline/nodes/decode/decoder.h"

namespace runnel::pipeline {

constexpr std::array<Parameter, 12> decoder_parameters() noexcept {
  return {
      text_parameter<&Decoder::tokens>(
          "tokens", "",
          "file with the tokens, one a line: tokens.txt or a sentencepiece .vocab; empty: the labels "
          "of the model"),
      text_parameter<&Decoder::units>(
          "units", "auto|pieces|characters|words|joined",
          "what tells where words begin: sentencepiece's mark, a token between words, "
          "every token, nothing; auto: what the tokens show"),
      text_parameter<&Decoder::blank>(
          "blank", "",
          "the blank, a token or its number; empty: <blk>, <blank>, <pad> or <eps>, or else the first"),
      text_parameter<&Decoder::endpoint>(
          "endpoint", "silence|voice|none",
          "what ends an utterance: silence (blanks), a voice detector whose posterior is the "
          "last value of each frame, or nothing but its length"),
      parameter<&Decoder::silence_before>("silence_before", "s", 0, 1000000,
                                          "silence before any word that ends an utterance; 0: never"),
      parameter<&Decoder::silence_after>("silence_after", "s", 0, 1000000,
                                         "silence after a word that ends an utterance; 0: never"),
      parameter<&Decoder::longest>("longest", "s", 0, 1000000, "longest utterance; 0: no limit"),
      parameter<&Decoder::voice_threshold>("voice_threshold", "", 0, 1,
                                           "posterior of the voice detector below which a frame is silence"),
      switch_parameter<&Decoder::reset_decoder>(
          "reset_decoder",
          "an utterance begins anew in grammar, hotwords and context of the decoder; otherwise it continues "
          "those of the one before"),
      parameter<&Decoder::partials>("partials", "s", 0, 1000000,
                                    "least time from one partial result to the next; 0: final results only"),
      parameter<&Decoder::max_tokens>("max_tokens", "", 1, 65536,
                                      "most tokens of an utterance, which ends there"),
      text_parameter<&Decoder::non_finite>("non_finite", "blank|error",
                                           "frames with values that are not a number or plus infinity: taken "
                                           "as blank and counted, or refused"),
  };
}

// `first`, then those, then `last`.
template <std::size_t kFirst, std::size_t kLast>
constexpr auto with_decoder_parameters(const Parameter (&first)[kFirst],
                                       const Parameter (&last)[kLast]) noexcept {
  constexpr auto kShared = decoder_parameters();
  std::array<Parameter, kFirst + kShared.size() + kLast> all{};
  std::size_t count = 0;
  for (const Parameter& one : first) all[count++] = one;
  for (const Parameter& one : kShared) all[count++] = one;
  for (const Parameter& one : last) all[count++] = one;
  return all;
}

}  // namespace runnel::pipeline
