// Damage to bytes, reproducible from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/robustness/structure/random.h"

namespace runnel::test {

// A number inside a file: where it starts and how many bytes it has.
struct Spot {
  std::size_t offset = 0;
  std::size_t bytes = 4;
};

// Turns a valid file into damaged ones. Numbers that look like structure (small 32-bit words: sizes, offsets,
// indices) are hit more often than the rest, which for a model is mostly weights.
class Mutator {
 public:
  Mutator(std::span<const std::byte> original, std::uint64_t seed);

  // 1 to 4 changes, each of 1 to 4 bytes, a word, a copied piece, a run of zeros, or (rarely) a cut.
  std::vector<std::byte> next();
  // Sets 1 to 3 of the given spots to values likely to do harm.
  std::vector<std::byte> next(std::span<const Spot> spots);

 private:
  std::size_t below(std::size_t count) { return random_.below(count); }
  std::size_t position(std::size_t room);
  void change(std::vector<std::byte>& bytes);

  std::vector<std::byte> original_;
  std::vector<std::size_t> structure_;  // offsets of words that look like structure
  Random random_;
};

}  // namespace runnel::test
