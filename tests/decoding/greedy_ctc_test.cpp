#include "decoding/greedy_ctc.h"

#include <gtest/gtest.h>

#include "base/host/heap_memory.h"
#include "tests/decoding/lattice.h"

namespace runnel::decoding::test {
namespace {

Tokens tokens_of(std::span<const HeardToken> heard) {
  Tokens tokens;
  for (const HeardToken& one : heard) tokens.push_back(one.token);
  return tokens;
}

void step(GreedyCtc& greedy, const std::vector<float>& posteriors, std::int32_t frame) {
  FrameScores scores;
  ASSERT_TRUE(scores.read(posteriors, FrameScores::Kind::posteriors));
  greedy.step(scores, frame);
}

TEST(GreedyCtc, EqualsTheBestAlignmentOfRandomLattices) {
  std::mt19937 random(1);
  HeapMemory memory;
  GreedyCtc greedy;
  ASSERT_TRUE(greedy.prepare(memory, 0, 64).ok());
  for (int i = 0; i < 10000; ++i) {
    const Lattice lattice = random_lattice(random, 1 + static_cast<std::int32_t>(random() % 8),
                                           2 + static_cast<std::int32_t>(random() % 5));
    // The best alignment of all: frames are independent, so it has the best token of each.
    std::vector<std::int32_t> alignment;
    for (std::int32_t t = 0; t < lattice.frames; ++t) {
      const std::span<const float> frame = lattice.frame(t);
      alignment.push_back(
          static_cast<std::int32_t>(std::max_element(frame.begin(), frame.end()) - frame.begin()));
    }
    greedy.restart();
    for (std::int32_t t = 0; t < lattice.frames; ++t) {
      FrameScores scores;
      ASSERT_TRUE(scores.read(lattice.frame(t), FrameScores::Kind::logits));
      greedy.step(scores, t);
    }
    ASSERT_EQ(tokens_of(greedy.tokens()), collapsed(alignment, 0)) << "lattice " << i;
  }
}

TEST(GreedyCtc, HasFramesAndTheMeanPosteriorOfATokenInThem) {
  HeapMemory memory;
  GreedyCtc greedy;
  ASSERT_TRUE(greedy.prepare(memory, 0, 8).ok());
  int frame = 0;
  for (const float p : {0.0F, 0.6F, 0.8F, 0.1F}) step(greedy, {1 - p, p, 0}, frame++);
  step(greedy, {0.25F, 0, 0.75F}, frame++);
  ASSERT_EQ(greedy.tokens().size(), 2U);
  EXPECT_EQ(greedy.tokens()[0].first, 1);
  EXPECT_EQ(greedy.tokens()[0].last, 2);
  EXPECT_FLOAT_EQ(greedy.tokens()[0].confidence, 0.7F);
  EXPECT_EQ(greedy.tokens()[1].first, 4);
  EXPECT_FLOAT_EQ(greedy.tokens()[1].confidence, 0.75F);
}

TEST(GreedyCtc, ATokenThatGoesOnIntoTheNextUtteranceIsHeardOnce) {
  HeapMemory memory;
  GreedyCtc greedy;
  ASSERT_TRUE(greedy.prepare(memory, 0, 1).ok());
  step(greedy, {0, 1}, 0);
  ASSERT_TRUE(greedy.full());
  greedy.next_utterance();
  step(greedy, {0, 1}, 0);
  EXPECT_TRUE(greedy.tokens().empty());
  step(greedy, {1, 0}, 1);
  step(greedy, {0, 1}, 2);
  EXPECT_EQ(greedy.tokens().size(), 1U);
}

TEST(GreedyCtc, IsSavedAndRestoredInTheMiddleOfAToken) {
  std::mt19937 random(3);
  const Lattice lattice = random_lattice(random, 60, 4);
  const auto run = [&](GreedyCtc& greedy, std::int32_t from, std::int32_t to) {
    for (std::int32_t t = from; t < to; ++t) {
      FrameScores scores;
      ASSERT_TRUE(scores.read(lattice.frame(t), FrameScores::Kind::logits));
      greedy.step(scores, t);
    }
  };
  HeapMemory memory;
  GreedyCtc whole;
  ASSERT_TRUE(whole.prepare(memory, 0, 64).ok());
  run(whole, 0, 60);
  for (std::int32_t at = 0; at < 60; ++at) {
    GreedyCtc before, after;
    ASSERT_TRUE(before.prepare(memory, 0, 64).ok());
    ASSERT_TRUE(after.prepare(memory, 0, 64).ok());
    run(before, 0, at);
    std::vector<std::byte> bytes(before.saved_bytes());
    before.save(bytes);
    ASSERT_TRUE(after.restore(bytes).ok());
    run(after, at, 60);
    ASSERT_EQ(after.tokens().size(), whole.tokens().size());
    for (std::size_t i = 0; i < whole.tokens().size(); ++i) {
      EXPECT_EQ(after.tokens()[i].token, whole.tokens()[i].token);
      EXPECT_EQ(after.tokens()[i].last, whole.tokens()[i].last);
      EXPECT_EQ(after.tokens()[i].confidence, whole.tokens()[i].confidence);
    }
    bytes.pop_back();
    EXPECT_EQ(after.restore(bytes).code(), Code::mismatch);
  }
}

}  // namespace
}  // namespace runnel::decoding::test
