// Small lattices for tests of searches, and what brute force says of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "decoding/frame_scores.h"

namespace runnel::decoding::test {

using Tokens = std::vector<std::int32_t>;

// Logits of `frames` frames with `classes` values.
struct Lattice {
  std::int32_t frames = 0, classes = 0;
  std::vector<float> logits;

  [[nodiscard]] std::span<const float> frame(std::int32_t t) const {
    return std::span(logits).subspan(static_cast<std::size_t>(t * classes),
                                     static_cast<std::size_t>(classes));
  }
  // Of log-probabilities in units of the searches, as real numbers, so that only the search is compared.
  [[nodiscard]] double log(std::int32_t t, std::int32_t c) const {
    FrameScores scores;
    if (!scores.read(frame(t), FrameScores::Kind::logits)) return -INFINITY;
    return static_cast<double>(scores.log(c)) / kLogOne;
  }
};

inline Lattice random_lattice(std::mt19937& random, std::int32_t frames, std::int32_t classes,
                              float spread = 3) {
  Lattice lattice{frames, classes, {}};
  std::normal_distribution<float> normal(0, spread);
  for (std::int32_t i = 0; i < frames * classes; ++i) lattice.logits.push_back(normal(random));
  return lattice;
}

inline double add_logs(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -INFINITY ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// The tokens of an alignment: repetitions joined, blanks dropped.
inline Tokens collapsed(std::span<const std::int32_t> alignment, std::int32_t blank) {
  Tokens tokens;
  std::int32_t before = blank;
  for (const std::int32_t token : alignment) {
    if (token != blank && token != before) tokens.push_back(token);
    before = token;
  }
  return tokens;
}

// Every sequence of tokens with the logarithm of the sum over all of its alignments, by going through all
// classes^frames of them.
inline std::map<Tokens, double> all_sequences(const Lattice& lattice, std::int32_t blank) {
  std::map<Tokens, double> found;
  std::vector<std::int32_t> alignment(static_cast<std::size_t>(lattice.frames));
  std::vector<std::vector<double>> logs;
  for (std::int32_t t = 0; t < lattice.frames; ++t) {
    logs.emplace_back();
    for (std::int32_t c = 0; c < lattice.classes; ++c) logs.back().push_back(lattice.log(t, c));
  }
  for (;;) {
    double log = 0;
    for (std::size_t t = 0; t < alignment.size(); ++t) log += logs[t][static_cast<std::size_t>(alignment[t])];
    const auto [place, is_new] = found.emplace(collapsed(alignment, blank), log);
    if (!is_new) place->second = add_logs(place->second, log);
    std::size_t digit = 0;
    while (digit < alignment.size() && ++alignment[digit] == lattice.classes) alignment[digit++] = 0;
    if (digit == alignment.size()) return found;
  }
}

}  // namespace runnel::decoding::test
