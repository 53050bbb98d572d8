#include "streaming/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace runnel::streaming {
namespace {

// Writes the numbers 0, 1, 2, ... block by block; each block must be preceded by the numbers before it.
TEST(Ring, KeepsExactlyTheHistory) {
  for (std::int64_t history = 0; history <= 12; ++history) {
    for (std::int64_t frames = 1; frames <= 9; ++frames) {
      for (const bool slack : {false, true}) {
        const Ring ring = Ring::of(history, frames, slack);
        std::vector<std::int64_t> memory(static_cast<std::size_t>(ring.capacity), -1);
        std::int64_t cursor = ring.start(), copied = 0, written = 0;
        for (int block = 0; block < 60; ++block) {
          if (block > 0) {
            const Ring::Step step = ring.next(cursor);
            if (step.move_from >= 0) {
              std::copy_n(memory.begin() + step.move_from, history, memory.begin());
              copied += history;
            }
            cursor = step.cursor;
          }
          ASSERT_TRUE(ring.valid(cursor));
          for (std::int64_t f = 0; f < frames; ++f) memory[static_cast<std::size_t>(cursor + f)] = written++;
          for (std::int64_t back = 1; back <= history; ++back) {
            const std::int64_t expected = std::max<std::int64_t>(-1, written - frames - back);
            ASSERT_EQ(memory[static_cast<std::size_t>(cursor - back)], expected)
                << history << ' ' << frames << ' ' << slack;
          }
        }
        if (slack) {
          EXPECT_LE(ring.capacity, 2 * history + frames);
          EXPECT_LE(copied, written);
        } else {
          EXPECT_EQ(ring.capacity, history + frames);
        }
      }
    }
  }
}

// Blocks of several sizes in the memory of the largest.
TEST(Ring, TakesBlocksOfSeveralSizes) {
  std::mt19937 random(3);
  for (std::int64_t history = 0; history <= 12; ++history) {
    for (const bool slack : {false, true}) {
      const std::int64_t capacity = Ring::of(history, 8, slack).capacity;
      std::vector<std::int64_t> memory(static_cast<std::size_t>(capacity), -1);
      std::int64_t cursor = history, written = 0, before = 0;
      for (int block = 0; block < 300; ++block) {
        const std::int64_t frames = std::int64_t{1} << random() % 4;
        const Ring ring{history, frames, capacity};
        if (block > 0) {
          const Ring::Step step = ring.next(cursor, before);
          if (step.move_from >= 0) {
            std::vector<std::int64_t> kept(memory.begin() + step.move_from,
                                           memory.begin() + step.move_from + history);
            std::copy(kept.begin(), kept.end(), memory.begin());
          }
          cursor = step.cursor;
        }
        before = frames;
        ASSERT_TRUE(ring.valid(cursor));
        for (std::int64_t f = 0; f < frames; ++f) memory[static_cast<std::size_t>(cursor + f)] = written++;
        for (std::int64_t back = 1; back <= history; ++back) {
          ASSERT_EQ(memory[static_cast<std::size_t>(cursor - back)],
                    std::max<std::int64_t>(-1, written - frames - back))
              << history << ' ' << frames << ' ' << slack;
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::streaming
